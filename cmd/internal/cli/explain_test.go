package cli

import (
	"fmt"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAFaultOfTheMachineIsOne: also where it was taken for something else on its way.
func TestAFaultOfTheMachineIsOne(t *testing.T) {
	for _, err := range []error{
		fmt.Errorf("reading: %w", syscall.EIO),
		&Error{Code: "NO_STATE", What: "what you trust cannot be read", Exit: ExitNotReady, Err: fmt.Errorf("reading: %w", syscall.EIO)},
	} {
		got := Explain(err)
		require.Equal(t, "MACHINE", got.Code)
		require.Equal(t, ExitMachine, got.Exit)
		require.Contains(t, got.What, "input/output error")
	}
	held := &Error{Code: "RUN_ACTIVE", Exit: ExitHeld, Err: syscall.EAGAIN}
	require.Equal(t, held, Explain(held), "a lock that is held is none")
	usage := &Error{Code: "USAGE", Exit: ExitUsage}
	require.Equal(t, usage, Explain(usage))
}
