package git_test

import (
	"os"
	"testing"

	"github.com/beadsorch/orch/orchestrator/git/gittest"
)

// world is a repository made by plain git.
type world struct{ gittest.World }

func newWorld(t testing.TB, initArgs ...string) world {
	return world{gittest.New(t, os.Getenv("PATH"), initArgs...)}
}
