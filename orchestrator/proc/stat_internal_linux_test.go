package proc

import (
	"context"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestParseStat(t *testing.T) {
	t.Parallel()
	line := "42 (a) b (c) S 7 41 40 0 -1 4194560 100 0 0 0 150 50 30 20 20 0 1 0 9876 1000 10"
	got, err := parseStat([]byte(line))
	require.NoError(t, err)
	require.Equal(t, stat{
		identity: identity{pid: 42, start: 9876}, state: 'S', ppid: 7, pgid: 41,
		cpu: 2 * time.Second, reaped: 500 * time.Millisecond,
	}, got)
	for _, bad := range []string{"", "42", "42 (a) S", "42 )a( S 1 2 3", "x" + line} {
		_, err := parseStat([]byte(bad))
		require.ErrorIs(t, err, errStat, bad)
	}
}

func FuzzParseStat(f *testing.F) {
	own, err := os.ReadFile("/proc/self/stat")
	require.NoError(f, err)
	f.Add(own)
	f.Add([]byte("1 (x) Z 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0"))
	f.Fuzz(func(t *testing.T, line []byte) {
		if s, err := parseStat(line); err != nil && s != (stat{}) {
			t.Fatalf("%q: half a status with an error", line)
		}
	})
}

// TestSignalIsNotForThePidAlone forges the identity of a process that has the pid of another.
func TestSignalIsNotForThePidAlone(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), "sleep", "60")
	require.NoError(t, cmd.Start())
	now, err := readStat(cmd.Process.Pid)
	require.NoError(t, err)
	earlier := identity{pid: now.pid, start: now.start - 1}
	require.False(t, earlier.signal(syscall.SIGKILL))
	require.True(t, now.signal(syscall.SIGTERM))
	var exit *exec.ExitError
	require.ErrorAs(t, cmd.Wait(), &exit)
	code, name := waitStatus(exit.Sys().(syscall.WaitStatus))
	require.Equal(t, 143, code)
	require.Equal(t, "SIGTERM", name)
	require.False(t, now.signal(0), "a process that is gone")
}

func TestSubtree(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "sleep", "60")
	require.NoError(t, cmd.Start())
	var pids []int
	for _, p := range below(os.Getpid()) {
		pids = append(pids, p.pid)
	}
	require.Contains(t, pids, cmd.Process.Pid)
	require.Contains(t, lineage(cmd.Process.Pid), os.Getpid())
	require.NotContains(t, pids, os.Getpid())
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
}
