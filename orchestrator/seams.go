package orchestrator

import (
	"context"

	"github.com/beadsorch/orch/orchestrator/engine"
	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/land"
	"github.com/beadsorch/orch/orchestrator/tracker"
)

// Tracker is where tasks are kept. It is a mirror and a source of work, never a
// lock: a call may take a second and only one runs at a time.
type Tracker interface {
	// Survey reads every issue in one call.
	Survey(ctx context.Context) ([]tracker.Issue, error)
	// Apply makes the changes, few calls for many, with an outcome for each in
	// order. An error means that nothing is known; the same changes may be asked
	// for again.
	Apply(ctx context.Context, actor string, changes []tracker.Change) ([]tracker.Outcome, error)
	// Name says which tracker it is, with its version.
	Name() string
}

// Engine has turns of attempts done, here or elsewhere. It may be called from many goroutines for
// different tasks; of one attempt only one turn runs at a time.
type Engine interface {
	// Run does one turn of an attempt to its end. What it left is in Work, also when err is not
	// nil; a context that ends interrupts the agent. Progress is called one at a time and never
	// after Run has returned; Exited is reported before anything of what the agent left is looked
	// at, and Run waits for progress to return. An error with a Work that says no End means that the
	// engine does not know: the turn may go on, and Attach finds it.
	Run(ctx context.Context, j engine.Job, progress func(engine.Progress)) (engine.Work, error)
	// Attach waits for a turn that outlived its orchestrator, as Run does. It fails with
	// engine.ErrGone when none runs.
	Attach(ctx context.Context, id engine.AttemptID, progress func(engine.Progress)) (engine.Work, error)
	// Has reports whether an attempt is there to go on with.
	Has(ctx context.Context, id engine.AttemptID) bool
	// Collect looks at what an attempt has left while no turn of it runs, and makes all of it
	// reachable. Of one that is not there as a whole it is what was reachable.
	Collect(ctx context.Context, j engine.Job) (engine.Work, error)
	// Discard removes what there is of an attempt, once all of its work and head are reachable. It
	// does nothing where there is nothing.
	Discard(ctx context.Context, id engine.AttemptID, head epic.Commit) error
}

// Lander puts work that the gate has passed on the epic branch. It may be called from many goroutines.
type Lander interface {
	// Judge builds the candidates of a stack on its tip, and has the gate judge the last one's tree. A
	// stack without tasks is the tip itself. What was found is in the Judgement, also when err is not
	// nil. It fails with a [*land.StarvedError] where the machine is to blame.
	Judge(ctx context.Context, s land.Stack) (land.Judgement, error)
	// Move puts a judged stack onto the epic branch, in one transaction that verifies the lease. It
	// fails with git.ErrRefMoved when branch or lease are another's. An error may come although it
	// was done, but never before.
	Move(ctx context.Context, s land.Stack) (land.Moved, error)
	// MergeInto lands the tip of the finished epic on another branch, and returns where that is then.
	MergeInto(ctx context.Context, branch string, tip epic.Commit, title string) (epic.Commit, error)
}
