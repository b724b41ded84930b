package proc_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/command"
	"github.com/beadsorch/orch/orchestrator/fault"
)

// TestRunEndsWhatDoesNothing: a command that waits for what does not come is ended, also where it takes no signal, and
// the error names all of it.
func TestRunEndsWhatDoesNothing(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"hang", "ignore"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			s, _ := system(t, 0)
			got, err := s.Run(t.Context(), command.Cmd{Argv: self(t, how), Quiet: 500 * time.Millisecond})
			var quiet *command.QuietError
			require.ErrorAs(t, err, &quiet)
			require.Contains(t, err.Error(), how)
			why, machine := fault.Machine(err)
			require.True(t, machine)
			require.Contains(t, why, "did nothing")
			requireDead(t, readyPIDs(string(got.Stdout)))
		})
	}
}

// TestRunLeavesWhatWorks: a command that prints nothing and computes is not ended.
func TestRunLeavesWhatWorks(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("processor times are not seen here")
	}
	t.Parallel()
	s, _ := system(t, 0)
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	timer := time.AfterFunc(6*time.Second, func() { cancel(enough) })
	defer timer.Stop()
	_, err := s.Run(ctx, command.Cmd{Argv: self(t, "spin"), Quiet: 2 * time.Second})
	require.ErrorIs(t, err, enough)
}

// TestHurry: once told to, a System waits no longer for commands that do nothing: neither for the one under way, nor for
// those that come.
func TestHurry(t *testing.T) {
	t.Parallel()
	s, _ := system(t, 0)
	at := filepath.Join(t.TempDir(), "pid")
	done := make(chan error, 1)
	go func() {
		_, err := s.Run(context.WithoutCancel(t.Context()), command.Cmd{Argv: self(t, "touch", at), Quiet: time.Hour})
		done <- err
	}()
	require.Eventually(t, func() bool { return exists(at) }, patience, 5*time.Millisecond)
	s.Hurry()
	s.Hurry()
	var quiet *command.QuietError
	require.ErrorAs(t, <-done, &quiet)
	_, err := s.Run(t.Context(), command.Cmd{Argv: self(t, "hang"), Quiet: time.Hour})
	require.ErrorAs(t, err, &quiet)
	got, err := s.Run(t.Context(), command.Cmd{Argv: self(t, "say", "hi"), Quiet: time.Hour})
	require.NoError(t, err)
	require.Equal(t, "hi", string(got.Stdout))
}

// TestBoundDiesWithItsStarter: whoever is killed leaves no bound command behind.
func TestBoundDiesWithItsStarter(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("nothing tells of the death of a parent here")
	}
	t.Parallel()
	at := filepath.Join(t.TempDir(), "pid")
	argv := self(t, "run-bound", "ORCH_TEST_RUN=bound", at)
	starter := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	require.NoError(t, starter.Start())
	require.Eventually(t, func() bool { return exists(at) }, patience, 5*time.Millisecond)
	pid, err := strconv.Atoi(string(readFile(t, at)))
	require.NoError(t, err)
	require.NoError(t, starter.Process.Kill())
	require.Error(t, starter.Wait())
	require.Eventually(t, func() bool { return commandLine(pid) == "" }, patience, 5*time.Millisecond)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
