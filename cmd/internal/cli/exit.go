package cli

import (
	"errors"
	"fmt"
)

// The exit codes.
const (
	ExitDone     = 0
	ExitFailed   = 1 // unexpected
	ExitUsage    = 2 // usage or settings
	ExitNeedsYou = 3 // finished, but tasks need you
	ExitNotReady = 4 // a tool is missing, or not set up
	ExitNotFound = 5 // no such epic or task
	ExitHeld     = 6 // another orch holds it
	ExitLimit    = 7 // a set limit was reached; resumable
	ExitNotYet   = 8 // status --exit-status: not finished
	ExitMachine  = 9 // the machine failed: run again when it is mended
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

// ExitCode is the exit code of a command that ends with the error; nil is [ExitDone].
func ExitCode(err error) int {
	var done *exitError
	switch {
	case err == nil:
		return ExitDone
	case errors.As(err, &done):
		return done.code
	}
	return Explain(err).Exit
}

// Said reports whether a command that ends with the error has said everything already.
func Said(err error) bool {
	var done *exitError
	return err == nil || errors.As(err, &done)
}
