package cli

import (
	"fmt"

	"github.com/beadsorch/orch/orchestrator/core"
)

// The exit codes, as package core has them.
const (
	ExitDone     = int(core.ExitDone)
	ExitFailed   = int(core.ExitFailed)
	ExitUsage    = int(core.ExitUsage)
	ExitNeedsYou = int(core.ExitNeedsYou)
	ExitNotReady = int(core.ExitNotReady)
	ExitNotFound = int(core.ExitNotFound)
	ExitHeld     = int(core.ExitHeld)
	ExitLimit    = int(core.ExitLimit)
	ExitNotYet   = int(core.ExitNotYet)
	ExitMachine  = int(core.ExitMachine)
)

// exitError ends the program with a code after everything was said.
type exitError struct{ code int }

func (e *exitError) Error() string { return fmt.Sprintf("exit %d", e.code) }

// ExitWith is the error of a command that has said everything, and ends with a code: nil
// for [ExitDone].
func ExitWith(code int) error {
	if code == ExitDone {
		return nil
	}
	return &exitError{code}
}
