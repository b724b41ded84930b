package worktree_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSupplanted: an entry that an agent has made for a worktree in the place of the next one goes with it, once what only
// it leads to is kept; one that is in use stays.
func TestSupplanted(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	s := a.user.store()
	at, mine := s.Name("u", 1).Dir, filepath.Join(filepath.Dir(a.Dir), "mine")
	a.user.Git("worktree", "add", "-q", "--detach", at)
	a.user.Git("worktree", "lock", at)
	a.user.Git("worktree", "add", "-q", "--detach", mine)
	a.user.Git("-C", at, "commit", "-q", "--allow-empty", "-m", "only here")
	only := a.user.Git("-C", at, "rev-parse", "HEAD")
	a.user.Git("-C", at, "reset", "-q", "--hard", "HEAD~1")

	require.NoError(t, s.Add(t.Context(), "u", 1, a.base))
	require.NoError(t, s.Remove(t.Context(), "u", 1, ""))
	require.NoError(t, s.Close(t.Context()))
	entries, err := os.ReadDir(filepath.Join(a.user.Git("rev-parse", "--absolute-git-dir"), "worktrees"))
	require.NoError(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	require.Len(t, names, 2, "%v: the agent's own, and what is in use", names)
	require.Contains(t, names, "mine")
	require.NotContains(t, names, filepath.Base(at))
	require.Contains(t, a.user.Git("for-each-ref", "--contains="+only, "--format=%(refname)"), "/attic/u/")
}
