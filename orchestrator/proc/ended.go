package proc

import (
	"time"

	"github.com/beadsorch/orch/orchestrator/command"
	"github.com/beadsorch/orch/orchestrator/text"
)

const (
	defaultOutputBytes = 64 << 20
	stderrKeptBytes    = 2 << 10
)

// exitError is nil for exit status 0.
func exitError(argv []string, code int, signal string, stderr []byte) error {
	if code == 0 {
		return nil
	}
	kept := string(stderr[:min(len(stderr), stderrKeptBytes)])
	return &command.ExitError{Argv: argv, ExitCode: code, Signal: signal, Stderr: kept, Says: text.FirstLine(kept, "")}
}

// quietError is of a process that did nothing for a while.
func quietError(argv []string, after time.Duration) error {
	return &command.QuietError{Argv: argv, Line: text.OneLine(text.ShellWords(argv)), After: after}
}
