package cli

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/beadsorch/orch/orchestrator/reason"
)

// The exit codes, as package epic has them.
const (
	ExitDone     = int(reason.ExitDone)
	ExitFailed   = int(reason.ExitFailed)
	ExitUsage    = int(reason.ExitUsage)
	ExitNeedsYou = int(reason.ExitNeedsYou)
	ExitNotReady = int(reason.ExitNotReady)
	ExitNotFound = int(reason.ExitNotFound)
	ExitHeld     = int(reason.ExitHeld)
	ExitLimit    = int(reason.ExitLimit)
	ExitNotYet   = int(reason.ExitNotYet)
	ExitMachine  = int(reason.ExitMachine)
)

// ExitHangup is what a shell says of a program whose terminal has gone.
const ExitHangup = 128 + int(syscall.SIGHUP)

// ExitCutOff is what a shell says of a program that was killed, and what those say who have watched
// a run of which nobody is left to tell how it ended.
const ExitCutOff = 128 + int(syscall.SIGKILL)

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

// Exited is the code that a command ends with which has said everything, be it that nobody reads
// what it says any more; ok is false where the error is to be shown.
func Exited(err error) (code int, ok bool) {
	var done *exitError
	switch {
	case err == nil:
		return ExitDone, true
	case errors.As(err, &done):
		return done.code, true
	case readerGone(err):
		return exitPipe, true
	}
	return 0, false
}

// Reported reports whether a command that ends with the error has said everything already.
func Reported(err error) bool {
	var done *exitError
	return err == nil || errors.As(err, &done)
}
