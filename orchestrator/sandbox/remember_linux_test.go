package sandbox_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
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

// TestWithTools: compilers in the home are seen, also where the home has a link to them, and nothing by which something hidden would be.
func TestWithTools(t *testing.T) {
	t.Parallel()
	top, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	place := usual()
	at := func(path string) string { return filepath.Join(top, "ann", path) }
	place.Home, place.CommonDir, place.Checkout, place.Siblings = at(""), at("repo/.git"), at("repo"), at("repo.worktrees")
	place.Worktree, place.PrivateHome, place.Temp = at("repo.worktrees/e/agent-1"), filepath.Join(top, "home"), filepath.Join(top, "temp")
	for _, dir := range []string{"ann/.rustup", "ann/.cargo/registry", "data/npm", "data/nvm", "data/rust"} {
		require.NoError(t, os.MkdirAll(filepath.Join(top, dir), 0o700))
	}
	for link, to := range map[string]string{".nvm": "data/nvm", ".npm": "data/npm", ".pyenv": "ann", ".volta": "gone"} {
		require.NoError(t, os.Symlink(filepath.Join(top, to), at(link)))
	}
	place = place.WithTools(func(name string) string {
		return map[string]string{
			"PATH":    "/usr/bin:" + at("") + ":" + at("bin") + ":" + at("repo/bin") + ":" + at("repo.worktrees/e/agent-2/bin") + ":bin:" + at("../bob/../ann") + ":/home:/tmp",
			"GOCACHE": "/data/go", "GOPATH": at("repo/go"), "RUSTUP_HOME": filepath.Join(top, "data/rust"), "CARGO_HOME": "/data/cargo",
		}[name]
	})
	for _, path := range []string{at(".rustup"), filepath.Join(top, "data/nvm"), filepath.Join(top, "data/rust"), at("bin"), "/data/cargo/bin"} {
		require.Contains(t, place.Read, path)
	}
	require.NotContains(t, place.Read, at(""))
	require.NotContains(t, place.Read, "/data/cargo", "credentials are in it")
	require.Contains(t, place.Caches, "/data/go")
	require.Contains(t, place.Caches, filepath.Join(top, "data/npm"))
	require.NotContains(t, strings.Join(slices.Concat(place.Caches, place.Read), " "), "repo/")
	require.ElementsMatch(t, []sandbox.Link{
		{At: ".rustup", To: at(".rustup")}, {At: ".nvm", To: filepath.Join(top, "data/nvm")}, {At: ".npm", To: filepath.Join(top, "data/npm"), Written: true},
		{At: ".cargo/registry", To: at(".cargo/registry")},
	}, place.Links)
	_, err = sandbox.New(place)
	require.NoError(t, err)
}
