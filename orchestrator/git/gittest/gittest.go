// Package gittest is a repository made by plain git, for tests.
package gittest

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/command"
	"github.com/beadsorch/orch/orchestrator/git"
	"github.com/beadsorch/orch/orchestrator/proc"
)

// World is a checkout, in a home of its own.
type World struct {
	// T is the test that it is for.
	T testing.TB
	// Dir is the checkout.
	Dir string
	// Env is the whole environment of git.
	Env []string
}

// New makes a repository on the branch main, whose commits are a person's; path is where
// programs are looked up.
func New(t testing.TB, path string, initArgs ...string) World {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	w := World{T: t, Dir: filepath.Join(home, "repo"), Env: []string{"PATH=" + path, "HOME=" + home}}
	require.NoError(t, os.Mkdir(w.Dir, 0o755))
	w.Git(append([]string{"init", "-q", "-b", "main"}, initArgs...)...)
	w.Configure()
	return w
}

// Configure says who commits.
func (w World) Configure() {
	w.T.Helper()
	w.Git("config", "user.name", "A Person")
	w.Git("config", "user.email", "person@example.com")
}

// Try runs plain git in the checkout, as an agent or a person does. It fails as git does.
func (w World) Try(args ...string) (string, error) {
	res, err := run()(context.WithoutCancel(w.T.Context()), command.Cmd{Dir: w.Dir, Argv: append([]string{"git"}, args...), Env: w.Env})
	return strings.TrimSpace(string(res.Stdout) + string(res.Stderr)), err
}

func run() command.Runner { return proc.New(proc.Options{}).Run }

// Git is [World.Try] for what has to work.
func (w World) Git(args ...string) string {
	w.T.Helper()
	out, err := w.Try(args...)
	require.NoError(w.T, err, "git %s: %s", strings.Join(args, " "), out)
	return out
}

// Write writes a file of the checkout.
func (w World) Write(name, content string) {
	w.T.Helper()
	path := filepath.Join(w.Dir, name)
	require.NoError(w.T, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(w.T, os.WriteFile(path, []byte(content), 0o644))
}

// Commit commits files, given as name, content, name, content ...
func (w World) Commit(files ...string) git.Commit {
	w.T.Helper()
	for i := 0; i < len(files); i += 2 {
		w.Write(files[i], files[i+1])
	}
	w.Git("add", "-A")
	w.Git("commit", "-q", "--allow-empty", "-m", "change")
	return w.Head()
}

// Head is the commit that is checked out.
func (w World) Head() git.Commit {
	w.T.Helper()
	return git.Commit(w.Git("rev-parse", "HEAD"))
}

// Open is the repository as orch sees it.
func (w World) Open() *git.Repo {
	w.T.Helper()
	r, err := git.Open(w.T.Context(), run(), w.Dir, w.Env)
	require.NoError(w.T, err)
	w.T.Cleanup(func() { require.NoError(w.T, r.Close()) })
	return r
}
