package proc

import "github.com/beadsorch/orch/orchestrator/command"

const (
	defaultOutputBytes = 64 << 20
	stderrKeptBytes    = 2 << 10
)

// exitError is nil for exit status 0.
func exitError(argv []string, code int, signal string, stderr []byte) error {
	if code == 0 {
		return nil
	}
	return &command.ExitError{
		Argv: argv, ExitCode: code, Signal: signal,
		Stderr: string(stderr[:min(len(stderr), stderrKeptBytes)]),
	}
}
