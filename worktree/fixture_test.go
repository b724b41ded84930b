package worktree_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/engine"
	"github.com/beadsorch/orch/orchestrator/git"
	"github.com/beadsorch/orch/orchestrator/git/gittest"
	"github.com/beadsorch/orch/worktree"
)

// world is a repository made by plain git.
type world struct{ gittest.World }

func newWorld(t testing.TB, initArgs ...string) world {
	return world{gittest.New(t, os.Getenv("PATH"), initArgs...)}
}

// at is the same world, seen from another directory.
func (w world) at(dir string) world {
	w.Dir = dir
	return w
}

// files is what a commit has, "path=content" each.
func (w world) files(c git.Commit) []string {
	w.T.Helper()
	var all []string
	for name := range strings.SplitSeq(w.Git("ls-tree", "-r", "--name-only", string(c)), "\n") {
		if name != "" {
			all = append(all, name+"="+w.Git("cat-file", "blob", string(c)+":"+name))
		}
	}
	return all
}

func (w world) options() worktree.Options {
	r := w.Open()
	return worktree.Options{
		Repo: r, Root: w.Dir + ".worktrees/e", Epic: "e", Lock: filepath.Join(r.CommonDir(), "orch", "worktree.lock"), Now: time.Now,
	}
}

func (w world) store() *worktree.Store {
	w.T.Helper()
	s, err := worktree.Open(w.options())
	require.NoError(w.T, err)
	return s
}

// agent is an attempt at a task, whose agent has just been started.
type agent struct {
	world       // its worktree
	user  world // the person's checkout
	store *worktree.Store
	names engine.Names
	base  git.Commit
}

// newAgent is the first attempt at task "t" in a repository with a few files.
func newAgent(t testing.TB) agent {
	t.Helper()
	w := newWorld(t)
	w.Commit("file", "1", "other", "1", ".gitignore", "*.o\n/build/\n")
	return w.agent("t")
}

func (w world) agent(task string) agent {
	w.T.Helper()
	a := agent{user: w, store: w.store(), base: w.Head()}
	require.NoError(w.T, a.store.Add(w.T.Context(), task, 1, a.base))
	a.names = a.store.Name(task, 1)
	a.world = w.at(a.names.Dir)
	return a
}

func (a agent) harvest() engine.Harvest {
	a.T.Helper()
	work, err := a.store.Harvest(a.T.Context(), "t", 1, a.base, "salvaged")
	require.NoError(a.T, err)
	require.Equal(a.T, string(work.Head), a.user.Git("rev-parse", a.names.Branch))
	return work
}

// kept wants c reachable from a reference of orch.
func (a agent) kept(c git.Commit) {
	a.T.Helper()
	require.NotEmpty(a.T, a.user.Git("for-each-ref", "--contains", string(c), "refs/orch", "refs/heads/orch"), "%s is lost", c)
}

// attic is the files of the attic reference.
func (a agent) attic() []string {
	a.T.Helper()
	return a.user.files(git.Commit(a.user.Git("rev-parse", a.names.Attic)))
}

// admin is the admin directory of the worktree.
func (a agent) admin() string {
	a.T.Helper()
	admins, err := filepath.Glob(filepath.Join(a.user.Dir, ".git/worktrees", filepath.Base(a.names.Dir)+"-*"))
	require.NoError(a.T, err)
	require.Len(a.T, admins, 1)
	return admins[0]
}
