package sandboxtest

import (
	"os"
	"testing"

	"github.com/beadsorch/orch/orchestrator/proc"
	"github.com/beadsorch/orch/orchestrator/sandbox"
)

// Main is a TestMain for tests that start commands in a sandbox: it lets the test binary be a guard, a sandbox, and whatever one of others
// is, which gives an exit status and true for arguments that are its own.
func Main(m *testing.M, others ...func(args []string) (int, bool)) {
	if len(os.Args) > 2 && os.Args[1] == "guard" {
		os.Exit(proc.Guard(os.Args[2:], os.Environ()))
	}
	if code, ok := sandbox.Serve(os.Args, os.Environ()); ok {
		os.Exit(code)
	}
	for _, serve := range others {
		if code, ok := serve(os.Args); ok {
			os.Exit(code)
		}
	}
	os.Exit(m.Run())
}
