package worktree_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/engine"
	"github.com/beadsorch/orch/orchestrator/git"
)

func TestRemoveOfWhatHasLanded(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	c := a.Commit("new", "1")
	a.Write("x.o", "ignored")
	a.user.Git("update-ref", "refs/heads/epic/e", string(c))
	a.harvest()
	require.NoError(t, a.store.Remove(t.Context(), "t", 1, c))
	require.NoDirExists(t, a.Dir)
	require.False(t, a.store.Exists("t", 1))
	require.Empty(t, a.user.Git("for-each-ref", "refs/heads/orch", "refs/orch"), "nothing needs keeping")
	require.Len(t, lines(a.user.Git("worktree", "list")), 1)
	require.NoError(t, a.store.Remove(t.Context(), "t", 1, c), "again")
	require.NoError(t, a.store.Remove(t.Context(), "never", 7, ""))
	require.NoError(t, a.store.Close(t.Context()))
	require.NoDirExists(t, filepath.Dir(a.Dir))
}

// TestRemoveOfSpecialFiles: a FIFO in the place of a file holds nothing that could be lost.
func TestRemoveOfSpecialFiles(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	require.NoError(t, os.Remove(a.Dir+"/file"))
	require.NoError(t, syscall.Mkfifo(a.Dir+"/file", 0o600))
	a.Write("new", "1")
	require.NoError(t, a.store.Remove(t.Context(), "t", 1, ""))
	require.NoDirExists(t, a.Dir)
	require.Contains(t, a.user.files(git.Commit(a.user.Git("rev-parse", a.names.Attic))), "new=1")
}

func TestRemoveKeepsEverything(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	first := a.Commit("new", "1")
	a.Git("reset", "-q", "--hard", string(a.base))
	second := a.Commit("other", "2")
	a.Git("checkout", "-q", "--detach", string(a.base))
	third := a.Commit("third", "1")
	a.Write("file", "not committed")
	journaled := git.Commit(a.Git("commit-tree", "HEAD^{tree}", "-m", "known to the caller"))

	require.NoError(t, a.store.Remove(t.Context(), "t", 1, journaled))
	for _, c := range []git.Commit{first, second, third, journaled} {
		require.NotEmpty(t, a.user.Git("for-each-ref", "--contains", string(c), "refs/orch"))
	}
	require.Equal(t, []string{start[0], "file=not committed", "other=1", "third=1"}, a.user.files(git.Commit(a.user.Git("rev-parse", a.names.Attic))))
	require.NoDirExists(t, a.Dir)
}

func TestRemoveWithConflicts(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	upstream := a.user.Commit("file", "theirs\n")
	a.Commit("file", "mine\n")
	_, err := a.Try("merge", string(upstream))
	require.Error(t, err)
	require.NoError(t, a.store.Remove(t.Context(), "t", 1, ""))
	require.Contains(t, a.user.Git("cat-file", "blob", a.names.Attic+":file"), "<<<<<<<")
}

// What no reference of this repository can keep stays where it is.
func TestRemoveRefusesWhatItCannotKeep(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		does  func(a agent)
		paths []string
	}{
		{"a repository without remote", func(a agent) { a.at(a.nested("lib")).Commit("f", "1") }, []string{"lib"}},
		{"a repository without commit", func(a agent) { a.nested("lib"); a.Write("lib/f", "1") }, []string{"lib"}},
		{"a clone", func(a agent) { a.Git("clone", "-q", a.user.Dir, "deep/clone") }, nil},
		{"a clone with a commit", func(a agent) { a.Git("clone", "-q", a.user.Dir, "clone"); a.at(a.nested("clone")).Commit("f", "1") }, []string{"clone"}},
		{"a clone with a stash", func(a agent) {
			a.Git("clone", "-q", a.user.Dir, "clone")
			a.Write("clone/file", "2")
			a.at(a.nested("clone")).Git("stash")
		}, []string{"clone"}},
		{"a clone with a change", func(a agent) { a.Git("clone", "-q", a.user.Dir, "clone"); a.Write("clone/file", "2") }, []string{"clone"}},
		{"a clone with a new file", func(a agent) { a.Git("clone", "-q", a.user.Dir, "clone"); a.Write("clone/f", "2") }, []string{"clone"}},
		{"a clone with an ignored file", func(a agent) { a.Git("clone", "-q", a.user.Dir, "clone"); a.Write("clone/f.o", "2") }, nil},
		{"a clone with a repository", func(a agent) {
			a.Git("clone", "-q", a.user.Dir, "clone")
			a.at(a.nested("clone/inner")).Commit("f", "1")
		}, []string{"clone"}},
		{"an embedded repository that was added", func(a agent) { a.at(a.nested("lib")).Commit("f", "1"); a.Commit() }, []string{"lib"}},
		{"a name that no tree can have", func(a agent) { a.Write("git~1", "1") }, []string{"git~1"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a := newAgent(t)
			tt.does(a)
			err := a.store.Remove(t.Context(), "t", 1, "")
			if tt.paths == nil {
				require.NoError(t, err)
				require.NoDirExists(t, a.Dir)
				return
			}
			var unsaved *engine.UnsavedError
			require.ErrorAs(t, err, &unsaved)
			require.Equal(t, tt.paths, unsaved.Paths)
			require.Equal(t, a.Dir, unsaved.Dir)
			require.True(t, a.store.Exists("t", 1))
		})
	}
}

// nested makes a repository below the worktree, if it is not there.
func (a agent) nested(name string) string {
	a.T.Helper()
	dir := filepath.Join(a.Dir, name)
	a.Git("init", "-q", dir)
	a.at(dir).Configure()
	return dir
}

// Go's module cache has directories that cannot be written.
func TestRemoveOfReadOnlyFolders(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	a.Write("build/mod/file", "1")
	require.NoError(t, os.Chmod(a.Dir+"/build/mod", 0o555))
	require.NoError(t, a.store.Remove(t.Context(), "t", 1, ""))
	require.NoError(t, a.store.Close(t.Context()))
	require.NoDirExists(t, filepath.Dir(a.Dir))
}

func TestAttic(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	one := a.Commit("one", "1")
	require.NoError(t, a.store.Attic(t.Context(), "t", 1, one))
	require.Equal(t, string(one), a.Git("rev-parse", a.names.Attic))
	two := a.Commit("two", "1")
	require.NoError(t, a.store.Attic(t.Context(), "t", 1, two))
	require.Equal(t, string(two), a.Git("rev-parse", a.names.Attic), "forward")
	require.NoError(t, a.store.Attic(t.Context(), "t", 1, one))
	require.Equal(t, string(two), a.Git("rev-parse", a.names.Attic), "it has it")
	a.Git("reset", "-q", "--hard", string(a.base))
	three := a.Commit("three", "1")
	require.NoError(t, a.store.Attic(t.Context(), "t", 1, three))
	require.Equal(t, []string{start[0], "file=1", "other=1", "three=1"}, a.attic(), "the newest can be looked at")
	for _, c := range []git.Commit{one, two, three} {
		a.kept(c)
	}
}

// What Remove refuses to lose is moved aside as a whole, and a submodule's git directory with it.
func TestSetAside(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	lib := a.at(a.nested("lib"))
	lib.Commit("f", "1")
	from := newWorld(t)
	from.Commit("f", "1")
	a.Git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", from.Dir, "deep/module")
	a.at(a.Dir+"/deep/module").Git("-c", "user.name=a", "-c", "user.email=a@a", "commit", "-q", "--allow-empty", "-m", "mine")
	var unsaved *engine.UnsavedError
	require.ErrorAs(t, a.store.Remove(t.Context(), "t", 1, ""), &unsaved)
	require.ElementsMatch(t, []string{"lib", "deep/module"}, unsaved.Paths)
	dir, err := a.store.SetAside("t", 1, unsaved)
	require.NoError(t, err)
	require.NoError(t, a.store.Remove(t.Context(), "t", 1, ""))
	require.NoDirExists(t, a.Dir)
	require.Empty(t, a.at(dir+"/lib").Git("status", "--porcelain"))
	require.Equal(t, "mine", a.at(dir+"/deep/module").Git("log", "-1", "--format=%s"))
	require.Empty(t, a.at(dir+"/deep/module").Git("status", "--porcelain"))
}
