// Package stophook decides whether a session that wants to stop may: one that works on an epic,
// or on a loop of its own.
package stophook

import (
	"fmt"
	"slices"
	"time"

	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/promise"
	"github.com/beadsorch/orch/stophook/session"
)

// Verdict is one word for why a stop is allowed or not.
type Verdict string

// The verdicts; each is a row of the table in docs/stop-hook.md.
const (
	NotBound   Verdict = "NOT_BOUND"   // this session is nobody's business
	Attempt    Verdict = "ATTEMPT"     // orch started this agent, and judges it itself
	Disabled   Verdict = "DISABLED"    // the settings say so
	Cancelled  Verdict = "CANCELLED"   // a person let the session go
	Background Verdict = "BACKGROUND"  // the client wakes the agent itself
	Done       Verdict = "DONE"        // nothing is left
	AllBlocked Verdict = "ALL_BLOCKED" // only a person can go on
	Failed     Verdict = "LOOP_ERROR"  // what the epic rests on is out of reach
	Elsewhere  Verdict = "ELSEWHERE"   // what is in progress is in other hands
	Fresh      Verdict = "CHECKPOINT"  // the context is full: a fresh session goes on
	MaxCycles  Verdict = "MAX_CYCLES"  // blocked often enough
	ClientCap  Verdict = "CLIENT_CAP"  // the client would not send it back again
	NoTasks    Verdict = "NO_TASKS"    // the epic has none, or has none any more
	NoProgress Verdict = "NO_PROGRESS" // several stops in a row, and nothing has moved
	Unknown    Verdict = "UNKNOWN"     // the state cannot be read
	Untrusted  Verdict = "UNTRUSTED"   // what it would have to run, nobody has allowed
	WorkLeft   Verdict = "WORK_LEFT"   // there is something to do
	Unmet      Verdict = "UNMET"       // a criterion is not true yet
)

// The bounds on blocks without progress.
const (
	maxStill   = 3 // blocks in a row with the same state
	maxUnknown = 2 // blocks in a row without any state
)

// Patience is how long a stop hook takes at most; a client's own limit is 30 s or more.
const Patience = 2 * time.Second

// Settings are the settings that the decision reads, workflow.stop_hook.
type Settings struct {
	Enabled         bool     // false lets every session end
	CheckReady      bool     // ready tasks keep a session
	CheckInProgress bool     // and so do tasks in progress
	MaxCycles       int      // how often a session is sent back in all
	AllowExitOn     []string // all_complete, all_blocked, context_checkpoint
	Promises        []string // texts that count as a promise of completion
}

// allows reports whether a state is one that a session may end on.
func (s Settings) allows(state string) bool { return slices.Contains(s.AllowExitOn, state) }

// Facts is all that a decision about an epic's session rests on.
type Facts struct {
	Input    session.Input   // what the client said
	Settings Settings        // workflow.stop_hook
	Session  session.Session // what is kept of it
	Epic     *Standing       // nil when neither the tracker nor a snapshot can be read
	Client   Limits          // of the client
}

// Limits is what a client cannot do, or can do besides.
type Limits struct {
	MaxBlocks int  // how often it sends a session back for one prompt; 0: as often as asked
	Fresh     bool // it can drop the conversation when it does
}

// Answer is a decision.
type Answer struct {
	Block   bool            // it is sent back to work
	Fresh   bool            // and begins with a context of its own
	Verdict Verdict         // why, in a word
	Why     string          // a clause for a person
	Session session.Session // as it is to be kept
}

// Decide says whether a session that works on an epic may stop. It is a function of
// its arguments alone; the first row that fits counts. However the tracker, the
// model or the client behaves, it blocks at most maxStill times in a row without
// progress, maxUnknown times without a state, and MaxCycles times in all.
func Decide(f Facts) Answer {
	s, set := f.Session, f.Settings
	if !f.Input.Again {
		s.Row = 0
	}
	allow := func(v Verdict, why string) Answer {
		s.Held = s.Held && v == Background
		return Answer{Verdict: v, Why: why, Session: s}
	}
	switch {
	case !set.Enabled:
		return allow(Disabled, "workflow.stop_hook.enabled is false")
	case s.Cancelled:
		return allow(Cancelled, "the session was let go")
	case f.Input.Waiting > 0:
		return allow(Background, "background tasks run; the client goes on by itself when they end")
	case f.Client.MaxBlocks > 0 && s.Row >= f.Client.MaxBlocks:
		return allow(ClientCap, fmt.Sprintf("the client sends a session back %d times a prompt at most; resume it with /run-tasks %s, or use orch run %s", f.Client.MaxBlocks, s.Epic, s.Epic))
	case f.Epic == nil:
		return decideUnknown(s, set, "the tracker does not answer")
	case f.Epic.Unread != "":
		return decideUnknown(s, set, f.Epic.Unread)
	}
	s.Unknown = 0
	w := *f.Epic
	if s.Still++; w.Fingerprint != s.Print {
		s.Still, s.Print = 0, w.Fingerprint
	}
	busy := set.CheckReady && w.Ready > 0 || set.CheckInProgress && w.InProgress > 0
	said, _ := promise.Find(f.Input.LastMessage, set.Promises...)
	switch {
	case w.Left() == 0 && w.Done == 0:
		return allow(NoTasks, "the tracker has no task of the epic; if it had: orch status "+s.Epic)
	case w.Promise == epic.LoopDone:
		s.Cycles, s.Still = 0, 0
		return allow(Done, "all tasks are closed")
	case w.Promise == epic.LoopError:
		return allow(Failed, w.because())
	case w.Promise == epic.LoopBlocked && set.allows("all_blocked"):
		return allow(AllBlocked, w.because())
	case w.Promise == epic.LoopContinue && !busy:
		return allow(AllBlocked, "the settings do not hold it for what is left: "+w.Work.String())
	case w.Elsewhere:
		return allow(Elsewhere, "all that is left is in other hands, or waits for them: "+w.Work.String())
	case said.Signal == promise.Checkpoint && set.allows("context_checkpoint") && !f.Client.Fresh:
		s.Fresh = true
		return allow(Fresh, "the context is full; a fresh session goes on with /run-tasks "+s.Epic)
	case s.Cycles >= set.MaxCycles:
		return allow(MaxCycles, "sent back to work max_cycles times; /run-tasks "+s.Epic+" goes on")
	case s.Still >= maxStill:
		return allow(NoProgress, "several stops in a row and nothing has moved: "+w.Work.String())
	}
	return block(WorkLeft, w.Work.String(), s, f.Client.Fresh)
}

// because says why only a person can go on.
func (s Standing) because() string {
	if s.Code == "" {
		return "only a person can go on: " + s.Work.String()
	}
	return fmt.Sprintf("[%s] %s; %s", s.Code, s.Reason, s.Work)
}

// block sends a session back, and counts it.
func block(v Verdict, why string, s session.Session, fresh bool) Answer {
	s.Cycles++
	s.Row++
	s.Held = true
	return Answer{Block: true, Fresh: fresh, Verdict: v, Why: why, Session: s}
}

// decideUnknown is for a tracker that cannot be read: the session is asked to look
// for itself, not for ever.
func decideUnknown(s session.Session, set Settings, why string) Answer {
	if s.Unknown >= maxUnknown || s.Cycles >= set.MaxCycles {
		s.Held = false
		return Answer{Verdict: Unknown, Why: why, Session: s}
	}
	s.Unknown++
	return block(Unknown, why, s, false)
}
