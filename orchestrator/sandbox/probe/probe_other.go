//go:build !linux

package probe

import (
	"context"
	"errors"

	"github.com/beadsorch/orch/orchestrator/command"
	"github.com/beadsorch/orch/orchestrator/sandbox"
)

// Result is what came of one threat.
type Result struct {
	// Promise is the row of the table.
	Promise sandbox.Promise
	// Stopped says that it was not done.
	Stopped bool
}

// Run fails: there is no sandbox on this system.
func Run(context.Context, command.Runner, sandbox.Box, string, []string) ([]Result, error) {
	return nil, errors.New("there is no sandbox on this system")
}

// Serve has nothing to do.
func Serve([]string) (code int, ok bool) { return 0, false }
