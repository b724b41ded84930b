package explain_test

import (
	"fmt"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/explain"
	"github.com/beadsorch/orch/worktree"
)

// TestAFaultOfTheMachineIsOne: also where it was taken for something else on its way.
func TestAFaultOfTheMachineIsOne(t *testing.T) {
	for _, err := range []error{
		fmt.Errorf("reading: %w", syscall.EIO),
		&cli.Error{Code: "NO_STATE", What: "what you trust cannot be read", Exit: cli.ExitNotReady, Err: fmt.Errorf("reading: %w", syscall.EIO)},
	} {
		got := explain.Error(err)
		require.Equal(t, "MACHINE", got.Code)
		require.Equal(t, cli.ExitMachine, got.Exit)
		require.Contains(t, got.What, "input/output error")
	}
	held := &cli.Error{Code: "RUN_ACTIVE", Exit: cli.ExitHeld, Err: syscall.EAGAIN}
	require.Equal(t, held, explain.Error(held), "a lock that is held is none")
	usage := &cli.Error{Code: "USAGE", Exit: cli.ExitUsage}
	require.Equal(t, usage, explain.Error(usage))
}

// TestAFolderForWorktrees is told from other errors by what it says of itself.
func TestAFolderForWorktrees(t *testing.T) {
	got := explain.Error(fmt.Errorf("opening: %w", &worktree.RootError{Root: t.TempDir(), Reason: "is a link"}))
	require.Equal(t, "WORKTREE_FOLDER", got.Code)
	require.Len(t, got.Fix, 2)
}
