package worktree_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/git"
	"github.com/beadsorch/orch/orchestrator/proc"
	"github.com/beadsorch/orch/worktree"
)

// world is a repository made by plain git.
type world struct {
	t   testing.TB
	dir string
	env []string
}

func newWorld(t testing.TB, initArgs ...string) world {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	w := world{t: t, dir: filepath.Join(home, "repo"), env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home}}
	require.NoError(t, os.Mkdir(w.dir, 0o755))
	w.git(append([]string{"init", "-q", "-b", "main"}, initArgs...)...)
	w.configure()
	return w
}

func (w world) configure() {
	w.t.Helper()
	w.git("config", "user.name", "A Person")
	w.git("config", "user.email", "person@example.com")
}

// at is the same world, seen from another directory.
func (w world) at(dir string) world {
	w.dir = dir
	return w
}

// try runs plain git, as an agent or a person does.
func (w world) try(args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = w.dir, w.env
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func (w world) git(args ...string) string {
	w.t.Helper()
	out, err := w.try(args...)
	require.NoError(w.t, err, "git %s: %s", strings.Join(args, " "), out)
	return out
}

func (w world) write(name, content string) {
	w.t.Helper()
	path := filepath.Join(w.dir, name)
	require.NoError(w.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(w.t, os.WriteFile(path, []byte(content), 0o644))
}

// commit commits files, given as name, content, name, content ...
func (w world) commit(files ...string) git.Commit {
	w.t.Helper()
	for i := 0; i < len(files); i += 2 {
		w.write(files[i], files[i+1])
	}
	w.git("add", "-A")
	w.git("commit", "-q", "--allow-empty", "-m", "change")
	return w.head()
}

func (w world) head() git.Commit {
	w.t.Helper()
	return git.Commit(w.git("rev-parse", "HEAD"))
}

// files is what a commit has, "path=content" each.
func (w world) files(c git.Commit) []string {
	w.t.Helper()
	var all []string
	for name := range strings.SplitSeq(w.git("ls-tree", "-r", "--name-only", string(c)), "\n") {
		if name != "" {
			all = append(all, name+"="+w.git("cat-file", "blob", string(c)+":"+name))
		}
	}
	return all
}

func (w world) repo() *git.Repo {
	w.t.Helper()
	r, err := git.Open(w.t.Context(), proc.New(proc.Options{}).Run, w.dir, w.env)
	require.NoError(w.t, err)
	return r
}

func (w world) options() worktree.Options {
	r := w.repo()
	return worktree.Options{
		Repo: r, Root: w.dir + ".worktrees/e", Epic: "e", Lock: filepath.Join(r.CommonDir(), "orch", "worktree.lock"), Now: time.Now,
	}
}

func (w world) store() *worktree.Store {
	w.t.Helper()
	s, err := worktree.Open(w.options())
	require.NoError(w.t, err)
	return s
}

// agent is an attempt at a task, whose agent has just been started.
type agent struct {
	world       // its worktree
	user  world // the person's checkout
	store *worktree.Store
	names worktree.Names
	base  git.Commit
}

// newAgent is the first attempt at task "t" in a repository with a few files.
func newAgent(t testing.TB) agent {
	t.Helper()
	w := newWorld(t)
	w.commit("file", "1", "other", "1", ".gitignore", "*.o\n/build/\n")
	return w.agent("t")
}

func (w world) agent(task string) agent {
	w.t.Helper()
	a := agent{user: w, store: w.store(), base: w.head()}
	require.NoError(w.t, a.store.Add(w.t.Context(), task, 1, a.base))
	a.names = a.store.Name(task, 1)
	a.world = w.at(a.names.Dir)
	return a
}

func (a agent) harvest() worktree.Work {
	a.t.Helper()
	work, err := a.store.Harvest(a.t.Context(), "t", 1, a.base, "salvaged")
	require.NoError(a.t, err)
	require.Equal(a.t, string(work.Head), a.user.git("rev-parse", a.names.Branch))
	return work
}

// kept wants c reachable from a reference of orch.
func (a agent) kept(c git.Commit) {
	a.t.Helper()
	require.NotEmpty(a.t, a.user.git("for-each-ref", "--contains", string(c), "refs/orch", "refs/heads/orch"), "%s is lost", c)
}

// attic is the files of the attic reference.
func (a agent) attic() []string {
	a.t.Helper()
	return a.user.files(git.Commit(a.user.git("rev-parse", a.names.Attic)))
}

// admin is the admin directory of the worktree.
func (a agent) admin() string {
	a.t.Helper()
	admins, err := filepath.Glob(filepath.Join(a.user.dir, ".git/worktrees", filepath.Base(a.names.Dir)+"-*"))
	require.NoError(a.t, err)
	require.Len(a.t, admins, 1)
	return admins[0]
}
