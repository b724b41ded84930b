package epic

import (
	"slices"
	"time"

	"github.com/beadsorch/orch/orchestrator/iteration"
	"github.com/beadsorch/orch/orchestrator/reason"
)

// Turn is one run of an agent's client, as it is asked for.
type Turn struct {
	Iteration int    `json:"iteration,omitempty"`            // from 1
	Base      Commit `json:"base,omitempty"`                 // what its attempt began from
	Session   string `json:"session,omitempty" text:"plain"` // the client's id of the conversation; "" a new one
	Resume    bool   `json:"resume,omitempty"`               // goes on with Session
}

// Turn is the turn that a decision to start an agent asks for; the zero Turn for others.
func (e Event) Turn() Turn {
	switch f := e.Fact.(type) {
	case AttemptStarted:
		return f.Turn
	case IterationStarted:
		return f.Turn
	}
	return Turn{}
}

// IterationStarted is the intent to start the agent of an open attempt once more.
type IterationStarted struct {
	Turn
}

func (IterationStarted) check(s State, e Event) error {
	if err := (ofAttempt{}).check(s, e); err != nil {
		return err
	}
	switch t := s.Task(e.Task); {
	case t.Last().HasAgent():
		return forbid(e, "an agent of %s runs", t.ID)
	case t.State != Running:
		return forbid(e, "%s is %s", t.ID, t.State)
	}
	return nil
}

func (f IterationStarted) apply(s State, e Event) State {
	s.Run.Iterations++
	return s.edit(e.Task, func(t *Task) {
		a := t.last()
		a.Iteration, a.Phase = f.Iteration, Starting
		t.move(Running, e.At)
	})
}

// AgentStarted says that the agent's process runs.
type AgentStarted struct{ ofTask }

func (AgentStarted) apply(s State, e Event) State {
	if s.Task(e.Task).Last().Phase != Starting { // it is being stopped already
		return s
	}
	return s.phase(e, Working)
}

// AgentExited says that an agent's process has ended; what it left is being looked at.
type AgentExited struct{ ofTask }

func (AgentExited) apply(s State, e Event) State {
	return s.phase(e, Inspecting)
}

// Round is what the rules of an agent said of its work when it ended a turn, before
// anything is landed.
type Round struct {
	iteration.Entry
	Feedback string `json:"feedback,omitempty" text:"long"` // for the next turn, where there is no Outcome
}

// AgentEnded says how an agent's process ended, and what git shows of its work.
type AgentEnded struct {
	Iteration int      `json:"iteration,omitempty"` // from 1
	Base      Commit   `json:"base,omitempty"`      // what its attempt began from
	Head      Commit   `json:"head,omitempty"`      // the newest commit of its work
	Changed   bool     `json:"changed,omitempty"`   // its work differs from its base
	Files     []string `json:"files,omitempty"`     // that differ, the first few
	Added     int      `json:"added,omitempty"`     // lines
	Deleted   int      `json:"deleted,omitempty"`   // lines
	Salvaged  bool     `json:"salvaged,omitempty"`  // orch committed what was not
	Unmerged  []string `json:"unmerged,omitempty"`  // files that it left in conflict
	Beside    Commit   `json:"beside,omitempty"`    // another line of its commits, which is kept and not in its work
	Apart     []string `json:"apart,omitempty"`     // repositories of their own in its worktree that its work goes without, the first few
	Session   string   `json:"session,omitempty"`   // the client's id of the conversation
	End       End      `json:"end,omitempty"`       // how its process ended
	Signal    string   `json:"signal,omitempty"`    // from its promise
	Fast      bool     `json:"fast,omitempty"`      // ended within seconds, and badly
	Sandbox   string   `json:"sandbox,omitempty"`   // what bounded it; [NoSandbox] nothing, "" in older journals

	Usage
	Took       time.Duration `json:"took,omitempty"`        // from start to end
	RetryAfter time.Duration `json:"retry_after,omitempty"` // a rate limit's own words; 0 unknown

	Said    string   `json:"said,omitempty" text:"long"` // with its promise; or the text for its next turn
	Round   *Round   `json:"round,omitempty"`            // where its agent's rules were asked
	Outcome *Outcome `json:"outcome,omitempty"`          // where its agent ended it by itself; nil for a session's, and in older journals

	asked *judging // what Current has iteration.Judge say the Outcome of; nil where there is nothing to judge
}

func (AgentEnded) check(s State, e Event) error {
	if err := (ofAttempt{}).check(s, e); err != nil {
		return err
	}
	if !s.Task(e.Task).Last().HasAgent() {
		return forbid(e, "no agent of %s runs", e.Task)
	}
	return nil
}

// apply moves the task on into the queue, or the attempt has failed, or it was not the
// attempt's fault.
func (f AgentEnded) apply(s State, e Event) State {
	s.Run.add(f.Usage)
	s.tip.fresh = false
	if f.End == EndedMachine {
		s = s.machineFails(e)
	}
	if f.End == EndedItself {
		s = s.machineWorks()
		s.Run.GoodEnds++
		s.Run.FastExits, s.Run.Probing, s.Cooled = nil, false, 0
	}
	s = f.applyCooldown(s, e)
	if f.Fast && (s.Run.GoodEnds == 0 || f.End == EndedNoStart) {
		s = s.fastExit(e)
	}
	s.tracker.stale = true
	s = s.edit(e.Task, func(t *Task) {
		f.note(t, e)
		f.settle(t, e, s.Run.Limits)
	})
	if s.Task(e.Task).State == Queued {
		s.Queue = append(slices.Clone(s.Queue), e.Task)
	}
	return s
}

// applyCooldown lets the whole pool wait when the client's service asks for it. Agents
// that hit the limit at the same time make one cool-down, not several.
func (f AgentEnded) applyCooldown(s State, e Event) State {
	if f.End != EndedLimit && f.End != EndedUsage {
		return s
	}
	wait := f.RetryAfter
	if wait <= 0 {
		wait = s.Run.Limits.PoolBackOff << min(s.Cooled, 5)
	}
	if !e.At.Before(s.Cooldown) {
		s.Cooled++
	}
	if until := e.At.Add(wait); until.After(s.Cooldown) {
		s.Cooldown, s.Cooling = until, e.Reason
	}
	return s
}

// note adds what the agent used and left to its attempt.
func (f AgentEnded) note(t *Task, e Event) {
	a := t.last()
	a.Phase, a.Worked = BetweenTurns, a.Worked+f.Took
	if f.Head != "" {
		a.Head = f.Head
	}
	a.Why, a.Apart = e.Reason, f.Apart
	if f.Sandbox != "" && a.Sandbox != NoSandbox {
		a.Sandbox = f.Sandbox
	}
	if f.Session != "" && f.Session != a.Session {
		a.Session, a.SessionTokens = f.Session, 0
	}
	a.SessionTokens += f.Tokens
	a.add(f.Usage)
	t.add(f.Usage)
	if f.Round != nil {
		a.Rounds = append(slices.Clone(a.Rounds), f.Round.Entry)
	}
}

// settle says what becomes of the attempt.
func (f AgentEnded) settle(t *Task, e Event, limits Limits) {
	switch {
	case f.End == EndedStopped, t.State == Skipped:
		t.end(reason.Orphaned, "", e.At)
	case f.End == EndedMachine:
		t.end(reason.Machine, "", e.At)
		t.NotBefore = e.At.Add(machineBackOff)
	case e.Code == reason.TooLarge:
		t.end(reason.TooLarge, f.Said, e.At)
	case e.Code == reason.WorktreeGone, e.Code == reason.Embedded, e.Code == reason.WorkRefused:
		t.end(e.Code, f.Said, e.At)
	case f.End == EndedLimit, f.End == EndedUsage, f.End == EndedAuth, f.End == EndedSetup, f.End == EndedDisk:
		t.end(e.Code, "", e.At)
	case f.End == EndedProcesses, f.End == EndedMemory, f.End == EndedOverDisk:
		t.end(e.Code, e.Reason, e.At)
	case f.End == EndedTime, f.End == EndedIdle:
		t.end(reason.NoProgress, e.Reason, e.At)
	case f.End == EndedCrash, f.End == EndedNoStart:
		t.end(reason.AgentCrashed, e.Reason, e.At)
		t.NotBefore = e.At.Add(limits.CrashBackOff << min(t.Charged-1, 6))
	case f.Outcome != nil:
		f.applyOutcome(t, e)
	default:
		f.settleUnjudged(t, e, limits)
	}
}

// End is how an agent process ended, as its harness reads it.
type End string

// The ends of an agent process.
const (
	EndedItself  End = "ended"
	EndedCrash   End = "crashed"
	EndedLimit   End = "rate_limited" // or the API was overloaded or out of reach: the whole pool waits
	EndedAuth    End = "auth"
	EndedUsage   End = "usage_limit"
	EndedTime    End = "timeout"
	EndedIdle    End = "no_progress"
	EndedStopped End = "stopped" // by orch

	EndedProcesses End = "processes" // over a limit of the sandbox, as the next two
	EndedMemory    End = "memory"
	EndedOverDisk  End = "disk_limit"

	EndedNoStart End = "no_start"
	EndedMachine End = "machine"
	EndedSetup   End = "setup" // did not begin: the setup of its worktree failed
	EndedDisk    End = "disk"  // only in journals of version 1
)
