package explain

import "github.com/beadsorch/orch/cmd/internal/cli"

// Report prints the error that a command ended with, and gives the program's exit code.
func Report(a *cli.Invocation, err error) int {
	if code, ok := cli.Exited(err); ok {
		return code
	}
	e := Error(err)
	a.ShowError(e)
	return e.Exit
}

// ExitCode is the exit code of a command that ends with the error; nil is [cli.ExitDone].
func ExitCode(err error) int {
	if code, ok := cli.Exited(err); ok {
		return code
	}
	return Error(err).Exit
}
