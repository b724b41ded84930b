package worktree_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/worktree"
)

// move renames the repository of an agent, with the folder of its worktrees where that is asked for.
func (a agent) move(worktrees bool) agent {
	a.T.Helper()
	to := a.user.Dir + "2"
	require.NoError(a.T, os.Rename(a.user.Dir, to))
	if worktrees {
		require.NoError(a.T, os.Rename(a.user.Dir+".worktrees", to+".worktrees"))
	}
	a.user = a.user.at(to)
	a.store = a.user.store()
	return a
}

// entries are the worktrees that git knows but for the person's own.
func (a agent) entries() []string {
	a.T.Helper()
	all, err := filepath.Glob(filepath.Join(a.user.Dir, ".git/worktrees", "*"))
	require.NoError(a.T, err)
	return all
}

// TestRepairAfterAMove: with a repository that was moved, git keeps the entries of worktrees that are where it was, and
// prune never drops them, since they are locked. What is in them is work.
func TestRepairAfterAMove(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	lost := a.Commit("lost", "1")
	a.Git("reset", "-q", "--hard", "HEAD^")
	a.Commit("work", "1")
	a.Write("uncommitted", "2")
	_, err := a.store.Checkout(t.Context(), a.base)
	require.NoError(t, err)
	was := a.Dir
	a = a.move(false)
	require.Len(t, a.entries(), 2)

	seen, err := a.store.Sweep(t.Context(), true)
	require.NoError(t, err)
	require.Len(t, seen, 2)
	require.Len(t, a.entries(), 2, "a dry sweep changes nothing")

	found := repaired(t, a.store)
	require.Len(t, found, 4, "two entries, and two folders that stay: %v", found)
	require.Empty(t, a.entries())
	a.kept(lost)
	require.Contains(t, a.attic(), "uncommitted=2")
	require.FileExists(t, filepath.Join(was, "uncommitted"))
	require.NoError(t, a.store.Add(t.Context(), "t", 2, a.base))
	require.Empty(t, repaired(t, a.store), "all is said once")
}

// TestRepairAfterAMoveWithWorktrees: an attempt goes on where its folder is now, as it was left.
func TestRepairAfterAMoveWithWorktrees(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	lost := a.Commit("lost", "1")
	a.Git("reset", "-q", "--hard", "HEAD^")
	head := a.Commit("work", "1")
	a.Write("staged", "2")
	a.Git("add", "staged")
	_, err := a.store.Checkout(t.Context(), a.base)
	require.NoError(t, err)
	a = a.move(true)
	repaired(t, a.store)
	require.True(t, a.store.Exists("t", 1))
	require.Len(t, a.entries(), 2)
	a.world = a.user.at(a.store.Name("t", 1).Dir)
	require.Equal(t, head, a.Head())
	require.Equal(t, "A  staged", a.Git("status", "--porcelain"))
	require.Empty(t, repaired(t, a.store))
	require.Contains(t, a.user.files(a.harvest().Head), "staged=2")
	require.NoError(t, a.store.Remove(t.Context(), "t", 1, ""))
	a.kept(lost)
	_, err = a.store.Checkout(t.Context(), a.base)
	require.NoError(t, err)
	require.NoError(t, a.store.Close(t.Context()))
	require.Empty(t, a.entries())
	require.NoDirExists(t, a.user.Dir+".worktrees/e")
}

// TestRepairOfACopy: what a copy of a repository knows of worktrees is of the original, which goes on with them.
func TestRepairOfACopy(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	a.Commit("work", "1")
	a.Write("uncommitted", "2")
	before := a.Git("status", "--porcelain")
	b := a
	b.user = a.user.at(a.user.Dir + "2")
	require.NoError(t, os.CopyFS(b.user.Dir, os.DirFS(a.user.Dir)))
	b.store = b.user.store()
	found := repaired(t, b.store)
	require.Empty(t, b.entries())
	require.Len(t, found, 1, "%v", found)
	require.Len(t, a.entries(), 1)
	require.Equal(t, before, a.Git("status", "--porcelain"))
	require.True(t, a.store.Exists("t", 1))
}

// TestRepairLeavesOthersEntries: what orch has not made, what another folder in the settings holds, and what another
// epic has stay.
func TestRepairLeavesOthersEntries(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	theirs := filepath.Join(t.TempDir(), "agent-theirs")
	a.user.Git("worktree", "add", "-q", "--lock", "--reason", "orch: refs/heads/orch/e/t/1", theirs, "HEAD")
	require.NoError(t, os.RemoveAll(theirs))
	o := a.user.options()
	o.Root = filepath.Join(t.TempDir(), "elsewhere", "e")
	s, err := worktree.Open(o)
	require.NoError(t, err)
	require.NoError(t, s.Add(t.Context(), "u", 1, a.base))
	o = a.user.options()
	o.Root, o.Epic = a.user.Dir+".worktrees/f", "f"
	f, err := worktree.Open(o)
	require.NoError(t, err)
	require.NoError(t, f.Add(t.Context(), "u", 1, a.base))
	require.NoError(t, os.RemoveAll(o.Root))
	require.Len(t, a.entries(), 4)
	require.Empty(t, repaired(t, a.store))
	require.Len(t, a.entries(), 4)
	require.Len(t, repaired(t, f), 1)
}
