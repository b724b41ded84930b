package engine

import (
	"context"

	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/iteration"
	"github.com/beadsorch/orch/orchestrator/validation"
)

// Hooks decide on the turns of a task.
type Hooks interface {
	// Evaluate has the hooks of a task decide on a turn; the zero Hook is of a task that has none.
	// It fails when they cannot be asked.
	Evaluate(ctx context.Context, t Turn) (iteration.Hook, error)
}

// Turn is one that has ended, as hooks see it.
type Turn struct {
	Task    epic.TaskID        // the task of the turn
	Number  int                // within its attempt, from 1
	Verdict validation.Verdict // of the agent's rules; one without checks where it has none
	Output  string             // the agent's last message
	Files   []string           // that the attempt changes
}
