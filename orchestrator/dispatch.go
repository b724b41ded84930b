package orchestrator

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/beadsorch/orch/orchestrator/engine"
	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/git"
	"github.com/beadsorch/orch/orchestrator/private"
	"github.com/beadsorch/orch/orchestrator/reason"
	"github.com/beadsorch/orch/orchestrator/redact"
	"github.com/beadsorch/orch/orchestrator/tamper"
	"github.com/beadsorch/orch/orchestrator/tracker"
)

// Deps is what an Orchestrator works with.
type Deps struct {
	Epic     epic.TaskID       // its id in the tracker
	Dir      string            // where the epic's journal, logs and lock are
	Tracker  Tracker           // where the tasks are
	Engine   Engine            // has turns done
	Lander   Lander            // puts work on the epic branch
	Repo     *git.Repo         // where the work lands
	Store    Worktrees         // where agents work
	Marker   string            // what the environment of every process of this epic carries
	Agents   Agents            // their prompts and limits
	Settings map[string]string // all that the run goes by, for its journal
	Limits   epic.Limits       // what Decide goes by
	Sandbox  string            // what bounds agents and the gate, for the journal
	Former   string            // the name under which this clone claimed before it had the one of Limits; "" for none
	Redact   *redact.Redactor  // takes secrets out of all that is kept; nil knows none
	Now      func() time.Time  // the clock
	Hurry    func()            // has short commands that wait be given up soon; nil for nothing

	// Recover takes back what agents have committed in the sandboxes of a run that was killed; nil for nothing.
	Recover     func(context.Context) ([]engine.Leftover, error)
	SessionGone SessionGone // says which sessions are gone; nil: none is
}

// dispatch is the Executor that has it done: by the engine, the lander and the tracker. What they
// are asked for is made of the state, and what they answer becomes events.
type dispatch struct {
	Deps
	files *private.Dir // that Dir is below
	guard *tamper.Guard
	lease git.Ref
	tip   tips

	mu       sync.Mutex // guards what follows
	index    *tracker.Index
	found    map[epic.TaskID]epic.Commit // on the epic branch, by its trailers, when this run began
	activity map[epic.TaskID]string      // of the agents that run
	gating   int                         // gates that run

	gateMoves atomic.Int32 // see toleratedMoves
}

// tips looks after the epic branch.
type tips interface {
	look(ctx context.Context, s epic.State) epic.Event
	pin(ctx context.Context, s epic.State) []epic.Event
	restore(ctx context.Context, s epic.State, m epic.TipMove, code reason.Code) epic.Event
	// landed reports whether the last landing left the branch at a commit.
	landed(ctx context.Context, c epic.Commit) bool
}

// Execute does what d asks for. The context's end gives it up.
func (x *dispatch) Execute(ctx context.Context, s epic.State, d epic.Decision, tell func(epic.Event) bool) []epic.Event {
	if !startsOthers(d.Act) {
		return x.endAtOnce(x.execute(ctx, s, d, tell))
	}
	gate := d.Act == epic.Gate || d.Act == epic.CheckBase
	x.countGate(gate, 1)
	events := x.execute(ctx, s, d, tell)
	found := x.inspect(ctx, d, tell)
	x.countGate(gate, -1)
	return x.endAtOnce(append(found, events...))
}

func (x *dispatch) execute(ctx context.Context, s epic.State, d epic.Decision, tell func(epic.Event) bool) []epic.Event {
	switch d.Act {
	case epic.Survey:
		return x.survey(ctx, s)
	case epic.Write:
		return x.writeTracker(ctx, s, d.Changes)
	case epic.Start, epic.Iterate:
		return []epic.Event{x.turn(ctx, s, d, tell)}
	case epic.CheckBase:
		return x.checkBase(ctx, s, d)
	case epic.Gate:
		return x.judge(ctx, s, d)
	case epic.Move:
		return x.move(ctx, s, d)
	case epic.Into:
		return []epic.Event{x.mergeInto(ctx, s, d)}
	case epic.Clean:
		return []epic.Event{x.clean(ctx, s, d)}
	case epic.LookAtTip:
		return []epic.Event{x.tip.look(ctx, s)}
	case epic.Collect:
		return []epic.Event{x.collect(ctx, s.Task(d.Task))}
	case epic.Reply:
		return []epic.Event{x.answer(s, d.Request)}
	case epic.LookAtSessions:
		return x.reconcileSessions(ctx, s)
	case epic.SeekLandings:
		return x.seekLandings(ctx, s)
	case epic.PinTip:
		return x.tip.pin(ctx, s)
	case epic.RestoreTip:
		return []epic.Event{x.tip.restore(ctx, s, d.Fact.(epic.RestoreStarted).TipMove, d.Code)}
	}
	panic("no such act: " + string(d.Act))
}
