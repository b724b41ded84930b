package land_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/git"
	"github.com/beadsorch/orch/orchestrator/land"
)

// TestBrokenBranch: a reference that holds garbage, or names what is no commit, is a branch that
// is gone; it can be written again.
func TestBrokenBranch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.Open()
	good := w.Commit("a", "1")
	blob, err := r.WriteBlob(t.Context(), []byte("x"))
	require.NoError(t, err)
	const branch = "refs/heads/epic/e"
	file := filepath.Join(r.CommonDir(), filepath.FromSlash(branch))
	for name, content := range map[string]string{
		"garbage": "garbage\n", "empty": "", "zeros": strings.Repeat("\x00", 41), "missing": strings.Repeat("1", 40) + "\n", "a blob": string(blob) + "\n",
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(content), 0o644), name)
		c, err := land.Tip(t.Context(), r, branch)
		require.NoError(t, err, name)
		require.Empty(t, c, name)
		require.NoError(t, land.Clear(t.Context(), r, branch), name)
		require.NoError(t, land.Move(t.Context(), r, land.Step{Branch: branch, To: good, Pin: land.TipRef("e")}), name)
		c, err = land.Tip(t.Context(), r, branch)
		require.NoError(t, err, name)
		require.Equal(t, good, c, name)
		require.NoError(t, land.Clear(t.Context(), r, branch), "one that is whole stays")
		require.NoError(t, r.UpdateRefs(t.Context(), []git.RefChange{{Name: branch, Old: good}}), name)
	}
}

// TestLost: work is held by ancestry, and after a squash, a rebase or a cherry-pick.
func TestLost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.Open()
	base := w.Commit("a", "1\n")
	one := w.Commit("b", "1\n")
	two := w.Commit("c", "1\n")
	landings := map[string]git.Commit{"one": one, "two": two}
	lost := func(tip string) []string {
		t.Helper()
		out, err := land.Lost(t.Context(), r, git.Commit(tip), landings)
		require.NoError(t, err)
		return out
	}
	require.Empty(t, lost(string(two)))
	require.Equal(t, []string{"two"}, lost(string(one)), "rewound")
	require.Equal(t, []string{"one", "two"}, lost(string(base)))

	w.Git("checkout", "-q", "--detach", string(base))
	w.Git("merge", "-q", "--squash", string(two))
	w.Git("commit", "-q", "-m", "squashed")
	require.Empty(t, lost(w.Git("rev-parse", "HEAD")), "squashed")

	w.Git("checkout", "-q", "--detach", string(base))
	w.Commit("other", "x\n")
	w.Git("cherry-pick", string(one))
	require.Equal(t, []string{"two"}, lost(w.Git("rev-parse", "HEAD")), "one of them picked")
	w.Git("cherry-pick", string(two))
	require.Empty(t, lost(w.Git("rev-parse", "HEAD")), "rebased")

	gone, err := land.Lost(t.Context(), r, two, map[string]git.Commit{"gone": git.Commit(strings.Repeat("1", 40))})
	require.NoError(t, err)
	require.Equal(t, []string{"gone"}, gone, "its commit is not here")
}

// TestKeep: a tip that was left is kept under the next free number, once.
func TestKeep(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.Open()
	a, b := w.Commit("a", "1"), w.Commit("a", "2")
	for _, want := range []struct {
		c   git.Commit
		ref string
	}{{a, "refs/orch/e/tip-1"}, {b, "refs/orch/e/tip-2"}, {a, "refs/orch/e/tip-1"}} {
		ref, err := land.Keep(t.Context(), r, "e", want.c)
		require.NoError(t, err)
		require.Equal(t, want.ref, ref)
	}
}
