package orchestrator

import (
	"context"

	"github.com/beadsorch/orch/orchestrator/engine"
	"github.com/beadsorch/orch/orchestrator/epic"
)

// Worktrees is the folder of an epic's attempts as the one sees it who mends it before a run and
// tidies it up after one.
type Worktrees interface {
	// Name is what the things of attempt n at task are called.
	Name(task string, n int) engine.Names
	// EpicBranch is the full name of the branch that the epic's tasks land on.
	EpicBranch() string
	// EnsureEpic makes the epic branch at base when it is missing, and returns its tip.
	EnsureEpic(ctx context.Context, base epic.Commit) (epic.Commit, error)
	// CheckRefs fails where references of others are in the way of those of the epic; base says
	// that the epic branch may have to be made.
	CheckRefs(ctx context.Context, base bool) error
	// CheckFolder fails where the folder of the worktrees, or one above it, is none any more.
	CheckFolder() error
	// Misplaced reports whether a name is among those that only orch gives references of the epic's attempts, and is
	// none that it gives.
	Misplaced(ref string) bool
	// AtticPrefix is what the names of the references begin with that keep work which landed nowhere.
	AtticPrefix() string
	// Repair mends what a crash left. The caller holds the epic, and nothing of an earlier run is alive.
	Repair(ctx context.Context) ([]engine.Leftover, error)
	// Mend puts back the files that lead from the worktrees to the repository and back, once say has
	// taken what they are.
	Mend(ctx context.Context, say func([]engine.Leftover) error) ([]engine.Leftover, error)
	// List is every attempt that has a worktree or a branch.
	List(ctx context.Context) ([]engine.Found, error)
	// RemoveFound removes what List has found, once all of its content is reachable.
	RemoveFound(ctx context.Context, a engine.Found) error
	// Close removes what only a run needs. It fails with a [*engine.LeftError] where something stays.
	Close(ctx context.Context) error
}
