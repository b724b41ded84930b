package local_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator"
	"github.com/beadsorch/orch/orchestrator/engine"
	"github.com/beadsorch/orch/orchestrator/engine/enginetest"
	"github.com/beadsorch/orch/orchestrator/engine/local"
	"github.com/beadsorch/orch/orchestrator/git/gittest"
	"github.com/beadsorch/orch/orchestrator/harness"
	"github.com/beadsorch/orch/orchestrator/harness/command"
	"github.com/beadsorch/orch/orchestrator/proc"
	"github.com/beadsorch/orch/worktree"
)

// The test binary is also the guard of the agents.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "guard" {
		os.Exit(proc.Guard(os.Args[2:], os.Environ()))
	}
	os.Exit(m.Run())
}

// TestLocal: the engine that runs agents here does what every engine does, with real git, real
// processes and real worktrees.
func TestLocal(t *testing.T) {
	t.Parallel()
	enginetest.Run(t, func(t testing.TB) enginetest.Subject {
		w := gittest.New(t, os.Getenv("PATH"))
		return enginetest.Subject{
			World: w,
			Open:  func(t testing.TB, hooks engine.Hooks) orchestrator.Engine { return open(t, w, hooks) },
			Script: func(script string) engine.Client {
				return engine.Client{Harness: "command", Command: []string{"/bin/sh", "-c", script}}
			},
		}
	})
}

func open(t testing.TB, w gittest.World, hooks engine.Hooks) *local.Engine {
	t.Helper()
	r := w.Open()
	home := filepath.Join(r.CommonDir(), "orch")
	bench, err := worktree.Open(worktree.Options{Repo: r, Root: w.Dir + ".worktrees/e", Epic: "e", Lock: filepath.Join(home, "worktree.lock"), Now: time.Now})
	require.NoError(t, err)
	self, err := os.Executable()
	require.NoError(t, err)
	return local.New(local.Options{
		Dir: filepath.Join(home, "epics", "e"), Repo: r, Bench: bench, Env: w.Env, RuleEnv: w.Env, Hooks: hooks, Now: time.Now,
		Proc:    proc.New(proc.Options{Guard: []string{self, "guard"}, Grace: time.Second}),
		Harness: func(c engine.Client) (harness.Harness, error) { return command.New(c.Command), nil },
	})
}
