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

// Cause is one word for why a stop is allowed or not.
type Cause string

// The causes; each is a row of the table in docs/stop-hook.md.
const (
	NotBound   Cause = "NOT_BOUND"   // the session is bound to no epic
	Attempt    Cause = "ATTEMPT"     // orch started this agent, and judges it itself
	Disabled   Cause = "DISABLED"    // the settings say so
	Cancelled  Cause = "CANCELLED"   // a person released the session
	Background Cause = "BACKGROUND"  // the client wakes the agent itself
	Done       Cause = "DONE"        // nothing is left
	AllBlocked Cause = "ALL_BLOCKED" // only a person can go on
	Failed     Cause = "LOOP_ERROR"  // what the epic depends on cannot be reached
	Elsewhere  Cause = "ELSEWHERE"   // others, or a person, move what is left
	Checkpoint Cause = "CHECKPOINT"  // the context is full: a fresh session goes on
	MaxCycles  Cause = "MAX_CYCLES"  // blocked as often as the settings allow
	ClientCap  Cause = "CLIENT_CAP"  // the client would not go on working again
	NoTasks    Cause = "NO_TASKS"    // the epic has none, or has none any more
	NoProgress Cause = "NO_PROGRESS" // several stops in a row, and nothing has moved
	Unknown    Cause = "UNKNOWN"     // the state cannot be read
	Untrusted  Cause = "UNTRUSTED"   // no person has allowed what it would have to run
	WorkLeft   Cause = "WORK_LEFT"   // there is something to do
	Unmet      Cause = "UNMET"       // a criterion is not true yet
)

// The bounds on blocks without progress.
const (
	maxNoProgress = 3 // blocks in a row with the same state
	maxUnreadable = 2 // blocks in a row without any state
)

// Timeout is how long a stop hook takes at most; a client's own limit is 30 s or more.
const Timeout = 2 * time.Second

// Settings are the settings that the decision reads, workflow.stop_hook.
type Settings struct {
	Enabled         bool     // false lets every session end
	CheckReady      bool     // ready tasks keep a session
	CheckInProgress bool     // and so do tasks in progress
	MaxCycles       int      // how often a session is blocked in all
	AllowExitOn     []string // all_complete, all_blocked, context_checkpoint
	Promises        []string // texts that count as a promise of completion
}

// allows reports whether a state is one that a session may end on.
func (s Settings) allows(state string) bool { return slices.Contains(s.AllowExitOn, state) }

// Facts is all that a decision about an epic's session depends on.
type Facts struct {
	Input    session.Input   // what the client said
	Settings Settings        // workflow.stop_hook
	Session  session.Session // the state that is kept of it
	Epic     *Standing       // nil when neither the tracker nor a snapshot can be read
	Caps     ClientCaps      // of the client
}

// ClientCaps are a client's limits and abilities.
type ClientCaps struct {
	MaxBlocks  int  // how often it lets a session be blocked for one prompt; 0: without limit
	NewSession bool // it can drop the conversation when a stop is blocked
}

// Decision is whether a session may stop, and why.
type Decision struct {
	Block      bool            // it goes on working
	NewSession bool            // and does so in a new context
	Cause      Cause           // why, in a word
	Why        string          // a clause for a person
	Session    session.Session // its state to keep
}

// Decide says whether a session that works on an epic may stop. It is a function of
// its arguments alone; the first row that fits counts. However the tracker, the
// model or the client behaves, it blocks at most maxNoProgress times in a row without
// progress, maxUnreadable times without a state, and MaxCycles times in all.
func Decide(f Facts) Decision {
	s, set := f.Session, f.Settings
	if !f.Input.StopHookActive {
		s.BlocksThisPrompt = 0
	}
	allow := func(v Cause, why string) Decision {
		s.Blocked = s.Blocked && v == Background
		return Decision{Cause: v, Why: why, Session: s}
	}
	switch {
	case !set.Enabled:
		return allow(Disabled, "workflow.stop_hook.enabled is false")
	case s.Cancelled:
		return allow(Cancelled, "the session was released")
	case f.Input.BackgroundTasks > 0:
		return allow(Background, "background tasks run; the client goes on by itself when they end")
	case f.Caps.MaxBlocks > 0 && s.BlocksThisPrompt >= f.Caps.MaxBlocks:
		return allow(ClientCap, fmt.Sprintf("the client sends a session back %d times a prompt at most; resume it with /run-tasks %s, or use orch run %s", f.Caps.MaxBlocks, s.Epic, s.Epic))
	case f.Epic == nil:
		return decideUnreadable(s, set, "the tracker does not answer")
	case f.Epic.Unread != "":
		return decideUnreadable(s, set, f.Epic.Unread)
	}
	s.Unreadable = 0
	w := *f.Epic
	if s.NoProgress++; w.Fingerprint != s.Fingerprint {
		s.NoProgress, s.Fingerprint = 0, w.Fingerprint
	}
	busy := set.CheckReady && w.Ready > 0 || set.CheckInProgress && w.InProgress > 0
	said, _ := promise.Find(f.Input.LastMessage, set.Promises...)
	switch {
	case w.Promise == epic.LoopError:
		return allow(Failed, w.because())
	case w.Left() == 0 && w.Done == 0:
		return allow(NoTasks, "the tracker has no task of the epic; if it had: orch status "+s.Epic)
	case w.Promise == epic.LoopDone:
		s.Blocks, s.NoProgress = 0, 0
		return allow(Done, "all tasks are closed")
	case w.Promise == epic.LoopBlocked && set.allows("all_blocked"):
		return allow(AllBlocked, w.because())
	case w.Promise == epic.LoopContinue && !busy:
		return allow(AllBlocked, "the settings do not hold it for what is left: "+w.Work.String())
	case w.Promise == epic.LoopContinue && w.Offer.Hopeless():
		return allow(Elsewhere, fmt.Sprintf("orch next has nothing for it: [%s] %s", w.Offer.Code, w.Offer.Why))
	case said.Signal == promise.Checkpoint && set.allows("context_checkpoint") && !f.Caps.NewSession:
		s.NewSession = true
		return allow(Checkpoint, "the context is full; a fresh session goes on with /run-tasks "+s.Epic)
	case s.Blocks >= set.MaxCycles:
		return allow(MaxCycles, "sent back to work max_cycles times; /run-tasks "+s.Epic+" goes on")
	case s.NoProgress >= maxNoProgress:
		return allow(NoProgress, "several stops in a row and nothing has moved: "+w.Work.String())
	}
	return blockFor(WorkLeft, w.Work.String(), s, f.Caps.NewSession)
}

// because says why only a person can go on.
func (s Standing) because() string {
	if s.Code == "" {
		return "only a person can go on: " + s.Work.String() + "; " + s.Reason
	}
	if s.Work == (epic.Work{}) { // nothing is known of it
		return fmt.Sprintf("[%s] %s", s.Code, s.Reason)
	}
	return fmt.Sprintf("[%s] %s; %s", s.Code, s.Reason, s.Work)
}

// blockFor blocks a stop, and counts it.
func blockFor(v Cause, why string, s session.Session, fresh bool) Decision {
	s.Blocks++
	s.BlocksThisPrompt++
	s.Blocked = true
	return Decision{Block: true, NewSession: fresh, Cause: v, Why: why, Session: s}
}

// decideUnreadable is the decision while the tracker cannot be read: the session is blocked to look
// for itself, a few times.
func decideUnreadable(s session.Session, set Settings, why string) Decision {
	if s.Unreadable >= maxUnreadable || s.Blocks >= set.MaxCycles {
		s.Blocked = false
		return Decision{Cause: Unknown, Why: why, Session: s}
	}
	s.Unreadable++
	return blockFor(Unknown, why, s, false)
}
