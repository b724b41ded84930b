package proc

import (
	"strings"
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
	words := make([]string, len(argv))
	for i, word := range argv {
		words[i] = text.Shell(word)
	}
	return &command.QuietError{Argv: argv, Line: text.OneLine(strings.Join(words, " ")), After: after}
}
