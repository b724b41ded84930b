package cli_test

import (
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/cmd/internal/cli"
)

// interrupted is the environment variable that makes the test binary a program which is interrupted.
const interrupted = "ORCH_TEST_INTERRUPTED"

// TestInterruptedCommandSaysNothing: what a command does while a signal ends it fails since what it
// worked with was let go of. It tells nobody, and the signal is how it ended.
func TestInterruptedCommandSaysNothing(t *testing.T) {
	t.Parallel()
	if os.Getenv(interrupted) != "" {
		os.Exit(interruptedCommand())
	}
	c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestInterruptedCommandSaysNothing$")
	c.Env = append(os.Environ(), interrupted+"=1")
	out, err := c.CombinedOutput()
	require.Error(t, err)
	status, ok := c.ProcessState.Sys().(syscall.WaitStatus)
	require.True(t, ok)
	require.Equal(t, syscall.SIGTERM, status.Signal(), "%s", out)
	require.Empty(t, string(out))
}

func interruptedCommand() int {
	a := &cli.App{Process: cli.Process{Stdout: os.Stdout, Stderr: os.Stderr}}
	done := a.Guarded()
	a.EndOnSignal()
	gone, said := make(chan struct{}), make(chan struct{})
	a.AtEnd(func() { close(gone); <-said })
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		return 2
	}
	<-gone
	a.Show(&cli.Error{Code: "UNEXPECTED", What: "it is gone"})
	exit := done(1)
	close(said)
	a.TakeSignals()
	return exit
}
