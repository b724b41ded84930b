package epic

import (
	"fmt"
	"slices"
	"time"

	"github.com/beadsorch/orch/orchestrator/reason"
	"github.com/beadsorch/orch/orchestrator/tracker"
)

// Decision is what to do next: a value, never a closure. Its Event is written
// into the journal, then it is done.
type Decision struct {
	Event                    // the intent, as the journal has it
	Act     Act              // what the Executor does about it; Nothing when the event is all
	Changes []tracker.Change // Write
}

// Act is something that is done outside the state.
type Act string

// The acts. Each but Nothing, Stop, PinTip and Finish is answered with events.
const (
	Nothing    Act = ""
	Survey     Act = "survey"     // read the tracker
	Write      Act = "write"      // tell the tracker
	CheckBase  Act = "check_base" // gate on the untouched base
	Start      Act = "start"      // worktree, brief, agent
	Iterate    Act = "iterate"    // the agent once more, in the same worktree
	Stop       Act = "stop"       // interrupt the agent
	Gate       Act = "gate"       // stack candidates, gate on the last one's tree
	Move       Act = "move"       // the epic branch, to judged candidates
	Clean      Act = "clean"      // worktree and branch of a landed task
	Into       Act = "into"       // land the epic branch elsewhere
	LookAtTip  Act = "look"       // see whether the epic branch is where it was left
	PinTip     Act = "pin"        // have a reference keep the tip
	RestoreTip Act = "restore"    // put the epic branch back
	Finish     Act = "finish"     // the run is over

	SeekLandings Act = "seek" // look on the epic branch for what other clones have landed

	Collect        Act = "collect"  // look at what a session has done for a task
	Reply          Act = "answer"   // tell who asked how it went
	LookAtSessions Act = "sessions" // find those that are gone, and salvage what they have done
)

// Limits of the breaker and of a tracker that does not answer.
const (
	breakerExits       = 5 // fast exits within fastExitWindow
	trackerBackOff     = 2 * time.Second
	maxTrackerFailures = 5  // failures in a row before the run goes on, or ends, without it
	maxLostLandings    = 8  // lost landings in a row
	surveyShare        = 20 // a survey may take one part in so many of the time
	minWriteInterval   = 500 * time.Millisecond
	claimDelay         = 2 * time.Second
)

// Decide gives what to do next in s, in order: the decisions of the first rule
// that has any, so that none of them rests on a state that another changes.
// None means: wait for an event. What it gives does not change before wake; a zero wake says
// that only an event can change it.
func Decide(s State, now time.Time) (ds []Decision, wake time.Time) {
	rules := []func(State, *clock) []Decision{
		answers, tipRules, limits, stops, parks, collects, sessions, moves, landings, seek, baseCheck, iterations, starts, trackerCalls, cleans, meta, into, lastLook, finish,
	}
	c := at(now)
	for _, rule := range rules {
		if ds := rule(s, c); len(ds) > 0 {
			return ds, c.wake
		}
	}
	return nil, c.wake
}

func decideOne(act Act, e Event) []Decision { return []Decision{{Event: e, Act: act}} }

// limits drains the run when one is reached.
func limits(s State, now *clock) []Decision {
	if s.Run.Drain != "" {
		return nil
	}
	if code, why := reached(s, now); code != "" {
		return decideOne(Nothing, Event{Fact: DrainStarted{}, Code: code, Reason: why})
	}
	if len(s.Run.FastExits) >= breakerExits && !s.Run.Probing {
		why := fmt.Sprintf("%d agents ended at once, the last: %s", breakerExits, s.Run.FastExits[len(s.Run.FastExits)-1].Why)
		return decideOne(Nothing, Event{Fact: BreakerOpened{Until: now.now.Add(s.Run.Limits.BreakerBackOff)}, Code: reason.AgentCrashed, Reason: why})
	}
	return nil
}

func reached(s State, now *clock) (reason.Code, string) {
	if code, why := tipStops(s, now); code != "" {
		return code, why
	}
	if by := s.Holder(); by != "" && !s.tracker.read.IsZero() {
		return reason.RunActive, HolderName(by) + " drives this epic"
	}
	l := s.Run.Limits
	switch {
	case s.Gate == GateRed && !l.AllowRedBase && (s.Run.Mode.starts() || s.unjudgedForeign()) && !s.Moved.Restoring:
		return reason.BaseRed, s.gateRed()
	case l.MaxDuration > 0 && !now.Before(s.Run.Started.Add(l.MaxDuration)):
		return reason.TimeUp, fmt.Sprintf("Maximum duration (%s) reached: run.max_duration", hours(l.MaxDuration))
	case s.Run.over(l.Budget) != "":
		return reason.RunBudget, s.Run.over(l.Budget) + " for one run"
	case s.Run.Iterations >= s.iterationLimit():
		return reason.RunIterations, fmt.Sprintf("Maximum iteration limit (%d) reached: run.max_iterations", s.iterationLimit())
	case l.MaxFailures > 0 && s.Run.Failures >= l.MaxFailures:
		return reason.RunFailures, fmt.Sprintf("%d consecutive implementation failures: run.max_consecutive_failures", s.Run.Failures)
	case s.landingFails():
		return reason.Machine, "landing does not work: " + s.Landing.Why
	case s.Run.Faults >= machineFaults:
		return reason.Machine, s.Run.FaultWhy
	case s.Run.Probing && len(s.Run.FastExits) > breakerExits:
		return reason.AgentCrashed, "the agent does not start: " + s.Run.FastExits[len(s.Run.FastExits)-1].Why
	}
	for _, t := range s.Tasks {
		a := t.Last()
		if t.State != Waiting || a.Ended.Before(s.Run.Started) {
			continue
		}
		switch a.Failure {
		case reason.AgentAuth, reason.Disk:
			return a.Failure, a.Failure.Means()
		case reason.SetupFailed:
			return a.Failure, a.Why
		}
	}
	return "", ""
}

// hours says how long a run may last, in hours where they are whole.
func hours(d time.Duration) string {
	switch n := d / time.Hour; {
	case d%time.Hour != 0:
		return d.String()
	case n == 1:
		return "1 hour"
	default:
		return fmt.Sprintf("%d hours", n)
	}
}

// iterationLimit is how often a run may start an agent, each iteration of an attempt being
// one start. Where the settings name no number it is 100, or, when that is more, what all attempts may
// come to at the tasks that were there when the run started its first agent: what comes up later, which
// agents may have filed, adds nothing, so that a run whose agents file tasks for ever ends.
func (s State) iterationLimit() int {
	if n := s.Run.Limits.MaxIterations; n > 0 {
		return n
	}
	starts := 0
	for _, t := range s.Tasks {
		if t.Dispatchable() && !t.late {
			starts += max(1, s.Run.Limits.Attempts) * (s.Run.Limits.iterations(t) + 1) // a conflict may cost one more
		}
	}
	return max(100, starts)
}

// stops interrupts agents: all of them in a kill, and those whose task a person
// took, closed or blocked in the tracker. A session is never interrupted.
func stops(s State, _ *clock) (ds []Decision) {
	for _, t := range s.Tasks {
		a := t.Last()
		if !a.HasAgent() || a.Phase == Stopping || a.InSession {
			continue
		}
		if why := s.mustStop(t); why != "" {
			ds = append(ds, Decision{Act: Stop, Event: Event{Fact: AttemptStopped{}, Task: t.ID, Attempt: a.Number, Reason: why}})
		}
	}
	return ds
}

// mustStop says in a clause why the agent of a task is interrupted; "" where it is not.
func (s State) mustStop(t *Task) string {
	switch {
	case s.Run.Interrupt:
		return "interrupted"
	case s.Run.Drain == reason.RunActive:
		return s.Run.DrainWhy
	}
	return s.takenOut(t)
}

// takenOut says in a clause how a person, or the orch of another clone, has taken a task out of orch's hands;
// "" where nobody has. What the run ends for is no such thing: the next one goes on with the task.
func (s State) takenOut(t *Task) string {
	switch {
	case t.State == Skipped:
		return "skipped"
	case t.Deleted:
		return ""
	case s.taking(t):
		return ""
	case t.Status == statusInProgress && t.Assignee != "" && t.Assignee != s.Run.Limits.Actor:
		return "claimed by " + t.Assignee
	case t.Status == t.Written, t.ClosedByAgent:
		return ""
	case t.Elsewhere:
		return s.elsewhere(t)
	case t.Status != statusOpen && t.Status != statusInProgress:
		return t.Status + " in the tracker by a person"
	}
	return ""
}

// cleans removes the worktrees of landed and skipped tasks, one at a time: what
// runs meanwhile needs the machine more.
func cleans(s State, _ *clock) []Decision {
	if slices.ContainsFunc(s.Tasks, removing) {
		return nil
	}
	for _, t := range s.Tasks {
		a := t.Last()
		if (t.State == Landed || t.State == Skipped) && a.Phase == Ended && !a.Unremoved.Equal(s.Run.Started) {
			return decideOne(Clean, Event{Fact: CleanStarted{}, Task: t.ID, Attempt: a.Number})
		}
	}
	return nil
}

// meta has an issue filed that tells of repeated failures.
func meta(s State, _ *clock) []Decision {
	if s.Run.Drain == reason.RunFailures && s.FailureReport == "" {
		return decideOne(Nothing, Event{Fact: MetaWanted{}, Code: reason.RunFailures, Reason: s.Run.DrainWhy})
	}
	return nil
}
