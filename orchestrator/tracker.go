package orchestrator

import (
	"context"

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
