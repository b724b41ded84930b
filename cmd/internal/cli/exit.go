package cli

import (
	"fmt"

	"github.com/beadsorch/orch/orchestrator/epic"
)

// The exit codes, as package core has them.
const (
	ExitDone     = int(epic.ExitDone)
	ExitFailed   = int(epic.ExitFailed)
	ExitUsage    = int(epic.ExitUsage)
	ExitNeedsYou = int(epic.ExitNeedsYou)
	ExitNotReady = int(epic.ExitNotReady)
	ExitNotFound = int(epic.ExitNotFound)
	ExitHeld     = int(epic.ExitHeld)
	ExitLimit    = int(epic.ExitLimit)
	ExitNotYet   = int(epic.ExitNotYet)
	ExitMachine  = int(epic.ExitMachine)
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
