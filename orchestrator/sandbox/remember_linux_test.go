package sandbox_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/command"
	"github.com/beadsorch/orch/orchestrator/sandbox"
)

// TestMemory: what was proven is not tried again, until something changes that it depends on.
func TestMemory(t *testing.T) {
	t.Parallel()
	policy, err := sandbox.New(here(t))
	require.NoError(t, err)
	tried := 0
	fails := false
	run := func(context.Context, command.Cmd) (command.Result, error) {
		if tried++; fails {
			return command.Result{}, errors.New("no")
		}
		return command.Result{Stdout: []byte(sandbox.Standing)}, nil
	}
	bwrap := filepath.Join(t.TempDir(), "bwrap")
	require.NoError(t, os.WriteFile(bwrap, []byte("one"), 0o700))
	m := sandbox.Memory{Path: filepath.Join(t.TempDir(), "state", "sandbox.json")}
	choose := func(want sandbox.Level, trials int) {
		t.Helper()
		tried = 0
		b, err := m.Choose(t.Context(), run, sandbox.Boxes(self(t), bwrap), policy)
		if want == "" {
			require.Error(t, err)
		} else {
			require.NoError(t, err)
			require.Equal(t, want, b.Level)
		}
		require.Equal(t, trials, tried)
	}
	choose(sandbox.Bubblewrap, 1)
	choose(sandbox.Bubblewrap, 0)
	require.NoError(t, os.WriteFile(bwrap, []byte("another"), 0o700))
	choose(sandbox.Bubblewrap, 1)
	choose(sandbox.Bubblewrap, 0)
	require.NoError(t, m.Forget())
	require.NoError(t, m.Forget(), "again")
	fails = true
	choose("", 3)
	fails = false
	choose(sandbox.Bubblewrap, 1)
	require.NoError(t, os.WriteFile(m.Path, []byte("{"), 0o600))
	choose(sandbox.Bubblewrap, 1)
	info, err := os.Stat(m.Path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode())
}

// TestWithTools: compilers in the home are seen, and nothing by which something hidden would be.
func TestWithTools(t *testing.T) {
	t.Parallel()
	place := usual().WithTools(func(name string) string {
		return map[string]string{
			"PATH":    "/usr/bin:/home/ann:/home/ann/bin:/home/ann/repo/bin:/home/ann/repo.worktrees/e/agent-2/bin:bin:/home/ann/../bob:/home:/tmp",
			"GOCACHE": "/data/go", "GOPATH": "/home/ann/repo/go",
		}[name]
	})
	require.Contains(t, place.Read, "/home/ann/.rustup")
	require.Contains(t, place.Read, "/home/ann/bin")
	require.Equal(t, "/home/ann/bin", place.Read[len(place.Read)-1], "the last that was added")
	require.Contains(t, place.Caches, "/data/go")
	require.NotContains(t, strings.Join(place.Caches, " "), "repo/go")
	_, err := sandbox.New(place)
	require.NoError(t, err)
}
