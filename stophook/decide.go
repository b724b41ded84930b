// Package stophook decides whether a session that wants to stop may: one that works on an epic,
// or on a loop of its own.
package stophook

import (
	"fmt"
	"slices"
	"time"

	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/promise"
	"github.com/beadsorch/orch/orchestrator/text"
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
	Promised   Cause = "PROMISED"    // it said what the settings let it go on
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
	Promises        []string // texts of promises that allow the stop; those about the state only where it agrees
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
	said, _ := promise.FindListed(f.Input.LastMessage, set.Promises)
	switch {
	case !set.Enabled:
		return allow(s, Disabled, "workflow.stop_hook.enabled is false")
	case s.Cancelled:
		return allow(s, Cancelled, "the session was released")
	case f.Input.BackgroundTasks > 0:
		return allow(s, Background, "background tasks run; the client goes on by itself when they end")
	case f.Caps.MaxBlocks > 0 && s.BlocksThisPrompt >= f.Caps.MaxBlocks:
		return allow(s, ClientCap, fmt.Sprintf("the client sends a session back %d times a prompt at most; resume it with /run-tasks %s, or use orch run %s", f.Caps.MaxBlocks, s.Epic, s.Epic))
	case (f.Epic == nil || f.Epic.Unread != "") && letsGo(said):
		return allow(s, Promised, saying(said))
	case f.Epic == nil:
		return decideUnreadable(s, set, "the tracker does not answer")
	case f.Epic.Unread != "":
		return decideUnreadable(s, set, f.Epic.Unread)
	}
	s.Unreadable = 0
	f.Session = s
	return decideByEpic(f, said)
}

// decideByEpic is the decision by how the epic stands, which is known, for a session that nothing
// else lets go; said is the promise that it made.
func decideByEpic(f Facts, said promise.Promise) Decision {
	s, set, w := f.Session, f.Settings, *f.Epic
	if s.NoProgress++; w.Fingerprint != s.Fingerprint {
		s.NoProgress, s.Fingerprint = 0, w.Fingerprint
	}
	switch {
	case w.Promise == epic.LoopError && w.Offer.Despite == "":
		return allow(s, Failed, w.because())
	case w.Left() == 0 && w.Done == 0:
		return allow(s, NoTasks, "the tracker has no task of the epic; if it had: orch status "+s.Epic)
	case w.Promise == epic.LoopDone:
		s.Blocks, s.NoProgress = 0, 0
		return allow(s, Done, "all tasks are closed")
	case w.Promise == epic.LoopBlocked && w.Offer.Despite == "" && set.allows("all_blocked"):
		return allow(s, AllBlocked, w.because())
	case (w.Promise == epic.LoopContinue || w.Offer.Despite != "") && !set.holdFor(w):
		return allow(s, AllBlocked, "the settings do not hold it for what is left: "+w.Work.String())
	case w.Promise == epic.LoopContinue && w.Offer.Hopeless():
		return allow(s, Elsewhere, fmt.Sprintf("orch next has nothing for it: [%s] %s", w.Offer.Code, w.Offer.Why))
	case said.Signal == promise.Checkpoint && set.allows("context_checkpoint") && !f.Caps.NewSession:
		s.NewSession = true
		return allow(s, Checkpoint, "the context is full; a fresh session goes on with /run-tasks "+s.Epic)
	case letsGo(said):
		return allow(s, Promised, saying(said))
	case s.Blocks >= set.MaxCycles:
		return allow(s, MaxCycles, "sent back to work max_cycles times; /run-tasks "+s.Epic+" goes on")
	case s.NoProgress >= maxNoProgress:
		return allow(s, NoProgress, "several stops in a row and nothing has moved: "+w.Work.String())
	}
	why := w.Work.String()
	if w.Left() == 0 {
		why = w.Reason
	}
	return blockFor(WorkLeft, why, s, f.Caps.NewSession)
}

// holdFor reports whether the settings hold a session for what is left.
func (s Settings) holdFor(w Standing) bool {
	return s.CheckReady && (w.Ready > 0 || w.Offer.Settles) || s.CheckInProgress && w.InProgress > 0
}

// allow lets a session stop. Only one whose background tasks run stays blocked, if it was.
func allow(s session.Session, v Cause, why string) Decision {
	s.Blocked, s.Ending = s.Blocked && v == Background, session.Ending{}
	return Decision{Cause: v, Why: why, Session: s}
}

// saying is a promise and its reason in a clause.
func saying(p promise.Promise) string {
	says := fmt.Sprintf("it said %q", p.Text)
	if p.Reason != "" {
		says += ": " + text.Clause(p.Reason, maxReason)
	}
	return says
}

// maxReason is how much is told of the reason that goes with a promise, in cells of a terminal.
const maxReason = 200

// letsGo reports whether a promise of the settings' list lets a session go whatever is left: one that says nothing of the
// state, which decides for itself, and is no checkpoint, which has settings of its own.
func letsGo(said promise.Promise) bool {
	own := said.Text != "" && promise.SignalOf(said.Text) == ""
	return own || said.Signal != "" && said.Signal != promise.Complete && said.Signal != promise.Checkpoint
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

// Abandons reports whether a stop that is allowed for a cause leaves work that the session could do, which nobody goes
// on with: a person has to be told.
func (v Cause) Abandons() bool {
	return slices.Contains([]Cause{MaxCycles, NoProgress, ClientCap, Untrusted, Unknown, Promised, Checkpoint}, v)
}

// blockFor blocks a stop, and counts it.
func blockFor(v Cause, why string, s session.Session, fresh bool) Decision {
	s.Blocks++
	s.BlocksThisPrompt++
	s.Blocked, s.Ending = true, session.Ending{}
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
