package land_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/git"
	"github.com/beadsorch/orch/orchestrator/proc"
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
	w.git("config", "user.name", "A Person")
	w.git("config", "user.email", "person@example.com")
	return w
}

// git runs plain git in the checkout.
func (w world) git(args ...string) string {
	w.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = w.dir, w.env
	out, err := cmd.CombinedOutput()
	require.NoError(w.t, err, "git %s: %s", strings.Join(args, " "), out)
	return strings.TrimSpace(string(out))
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
	return git.Commit(w.git("rev-parse", "HEAD"))
}

func (w world) open() *git.Repo {
	w.t.Helper()
	r, err := git.Open(w.t.Context(), proc.New(proc.Options{}).Run, w.dir, w.env)
	require.NoError(w.t, err)
	return r
}
