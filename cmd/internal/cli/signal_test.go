package cli_test

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
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
	if number, err := strconv.Atoi(os.Getenv(interrupted)); err == nil {
		os.Exit(interruptedCommand(syscall.Signal(number)))
	}
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGQUIT} {
		c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestInterruptedCommandSaysNothing$")
		c.Env = append(os.Environ(), fmt.Sprintf("%s=%d", interrupted, sig))
		out, err := c.CombinedOutput()
		require.Error(t, err)
		status, ok := c.ProcessState.Sys().(syscall.WaitStatus)
		require.True(t, ok)
		if sig == syscall.SIGQUIT { // by which the runtime of Go would say where it is
			require.Equal(t, 131, status.ExitStatus(), "%s", out)
		} else {
			require.Equal(t, sig, status.Signal(), "%s", out)
		}
		require.Empty(t, string(out))
	}
}

func interruptedCommand(sig syscall.Signal) int {
	a := &cli.Invocation{Process: cli.Process{Stdout: os.Stdout, Stderr: os.Stderr}}
	done := a.RedactOutput()
	a.EndOnSignal()
	gone, said := make(chan struct{}), make(chan struct{})
	a.OnEnd(func() { close(gone); <-said })
	if err := syscall.Kill(os.Getpid(), sig); err != nil {
		return 2
	}
	<-gone
	a.ShowError(&cli.Error{Code: "UNEXPECTED", What: "it is gone"})
	exit := done(1)
	close(said)
	a.TakeSignals()
	return exit
}
