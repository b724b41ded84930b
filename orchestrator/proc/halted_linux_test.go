package proc_test

import (
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/command"
	"github.com/beadsorch/orch/orchestrator/proc"
)

// TestAStoppedGuardIsADeadOne: an agent whose guard is stopped, by itself or by another, is ended with
// all that it has started, and nobody has to wait for a limit of time.
func TestAStoppedGuardIsADeadOne(t *testing.T) {
	t.Parallel()
	for _, agent := range []string{"stop-guard", "stop-tree", "stop-self"} {
		t.Run(agent, func(t *testing.T) {
			t.Parallel()
			_, marker := system(t, 0)
			cmd, tr := program(t, "run-adopting", marker, agent)
			tr.says(t, "ended 0")
			require.Contains(t, tr.String(), "SIGKILL [] halted")
			requireDead(t, readyPIDs(tr.String()))
			require.Empty(t, childrenOf(t, cmd.Process.Pid), "neither alive nor waited for")
		})
	}
}

// TestAGuardThatGoesOnIsLeftAlone: a moment in which it was stopped is none.
func TestAGuardThatGoesOnIsLeftAlone(t *testing.T) {
	t.Parallel()
	s, _ := system(t, 0)
	p, _ := start(t, s, proc.Spec{}, "stop-briefly")
	require.Equal(t, proc.Ended, p.Wait().Cause)
}

// TestAStoppedCommandIsNoTimeout: RunGuarded says what became of a command that stopped its guard.
func TestAStoppedCommandIsNoTimeout(t *testing.T) {
	t.Parallel()
	s, _ := system(t, 0)
	got, err := s.RunGuarded(t.Context(), command.Cmd{Argv: self(t, "stop-guard"), Env: quickRace()})
	require.ErrorIs(t, err, proc.ErrHalted)
	requireDead(t, readyPIDs(string(got.Stdout)))
}

// TestAStarterDiesAboveAStoppedGuard: the guard goes on then, and ends the tree.
func TestAStarterDiesAboveAStoppedGuard(t *testing.T) {
	t.Parallel()
	_, marker := system(t, 0)
	cmd, tr := killedStarter(t, marker, "daemons-and-stay 2")
	pids := tr.ready(t, 2)
	guard, err := strconv.Atoi(childrenOf(t, cmd.Process.Pid)[0])
	require.NoError(t, err)
	require.NoError(t, cmd.Process.Signal(syscall.SIGSTOP), "so that it does not notice")
	require.NoError(t, syscall.Kill(guard, syscall.SIGSTOP))
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	require.Eventually(t, func() bool {
		left, err := proc.Survivors(marker)
		return err == nil && len(left) == 0
	}, patience, 20*time.Millisecond, "the guard does not end the tree")
	requireDead(t, pids)
}

// TestReapWakesAStoppedGuard: one that was stopped after its starter had died ends its tree in the
// time that Reap leaves it, with those in it that carry no marker.
func TestReapWakesAStoppedGuard(t *testing.T) {
	t.Parallel()
	_, marker := system(t, 0)
	cmd, tr := killedStarter(t, marker, "daemons-and-stay 2") // ignores SIGTERM, so there is a moment to stop it
	pids := tr.ready(t, 2)
	guard, err := strconv.Atoi(childrenOf(t, cmd.Process.Pid)[0])
	require.NoError(t, err)
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	require.NoError(t, syscall.Kill(guard, syscall.SIGSTOP))
	left, err := proc.Reap(t.Context(), marker, patience, 0)
	require.NoError(t, err)
	require.Empty(t, left)
	requireDead(t, pids)
}

// TestReapEndsWhatIsBelowAStoppedGuard: where it is given no time, nothing below it is forgotten.
func TestReapEndsWhatIsBelowAStoppedGuard(t *testing.T) {
	t.Parallel()
	_, marker := system(t, 0)
	cmd, tr := killedStarter(t, marker, "daemons-and-stay 2")
	pids := tr.ready(t, 2)
	guard, err := strconv.Atoi(childrenOf(t, cmd.Process.Pid)[0])
	require.NoError(t, err)
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	require.NoError(t, syscall.Kill(guard, syscall.SIGSTOP))
	found, err := proc.Survivors(marker)
	require.NoError(t, err)
	for _, pid := range pids { // unless the guard was faster than its stop
		require.True(t, slices.Contains(found, pid) || commandLine(pid) == "", "%d has no environment, and is below a guard", pid)
	}
	left, err := proc.Reap(t.Context(), marker, 0, 0)
	require.NoError(t, err)
	require.Empty(t, left)
	requireDead(t, pids)
}
