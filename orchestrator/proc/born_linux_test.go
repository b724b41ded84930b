package proc_test

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/proc"
)

// TestBorn: a process has one time of birth, also to others, and none once it has ended.
func TestBorn(t *testing.T) {
	t.Parallel()
	own := proc.Born(os.Getpid())
	require.NotZero(t, own)
	require.Equal(t, own, proc.Born(os.Getpid()))
	require.NotEmpty(t, proc.Here())
	require.Equal(t, proc.Here(), proc.Here())

	child := exec.CommandContext(t.Context(), "cat")
	in, err := child.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	require.GreaterOrEqual(t, proc.Born(child.Process.Pid), own)
	require.NoError(t, in.Close())
	require.NoError(t, child.Wait())
	require.Zero(t, proc.Born(child.Process.Pid))
}
