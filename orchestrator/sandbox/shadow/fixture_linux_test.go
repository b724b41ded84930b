package shadow_test

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/command"
	"github.com/beadsorch/orch/orchestrator/git"
	"github.com/beadsorch/orch/orchestrator/git/gittest"
	"github.com/beadsorch/orch/orchestrator/proc"
	"github.com/beadsorch/orch/orchestrator/sandbox"
	"github.com/beadsorch/orch/orchestrator/sandbox/sandboxtest"
	"github.com/beadsorch/orch/orchestrator/sandbox/shadow"
)

// TestMain lets the test binary be a guard, and a sandbox.
func TestMain(m *testing.M) { sandboxtest.Main(m) }

const branch = "refs/heads/orch/e/1"

// attempt is a repository with a worktree of an attempt, its shadow, and a level that the agent works within.
type attempt struct {
	gittest.World
	repo     *git.Repo
	worktree string
	shadow   *shadow.Shadow
	policy   sandbox.Policy
	box      sandbox.Box
}

func (a *attempt) common() string { return filepath.Join(a.Dir, ".git") }

// eachLevel runs a test at each level of this machine.
func eachLevel(t *testing.T, test func(*testing.T, *attempt), initArgs ...string) {
	t.Helper()
	for _, l := range sandbox.Levels() {
		t.Run(string(l), func(t *testing.T) {
			t.Parallel()
			sandboxtest.Few(t, string(l))
			test(t, newAttempt(t, l, initArgs...))
		})
	}
}

func newAttempt(t *testing.T, l sandbox.Level, initArgs ...string) *attempt {
	t.Helper()
	a := &attempt{World: gittest.New(t, os.Getenv("PATH"), initArgs...)}
	a.Commit("file", "one\n", "other", "x\n")
	a.Git("tag", "-a", "v1", "-m", "one")
	a.Git("branch", "epic/e")
	a.Git("remote", "add", "origin", "https://user:secret@example.com/repo.git")
	home := filepath.Dir(a.Dir)
	a.worktree = filepath.Join(home, "trees", "agent-1")
	a.Git("worktree", "add", "-q", "-b", git.Short(branch), a.worktree)
	a.repo = a.Open()
	self, err := os.Executable()
	require.NoError(t, err)
	bwrap, _ := exec.LookPath("bwrap")
	for _, box := range sandbox.Boxes(self, bwrap) {
		if box.Level == l {
			a.box = box
		}
	}
	a.begin()
	if err := a.box.Try(t.Context(), a.runner(), a.policy); err != nil {
		sandboxtest.Skip(t, string(l), err.Error())
	}
	return a
}

// begin makes the shadow, as the attempt begins.
func (a *attempt) begin() {
	a.T.Helper()
	var err error
	a.shadow, err = shadow.Make(shadow.Options{Repo: a.repo, Admin: filepath.Join(a.common(), "worktrees", "agent-1"), Branch: branch, Mounted: a.box.Level != sandbox.Landlock})
	require.NoError(a.T, err)
	if a.box.Level == sandbox.Landlock {
		require.NoError(a.T, a.shadow.Point(a.worktree))
	}
	home := filepath.Dir(a.Dir)
	for _, dir := range []string{"private", "tmp"} {
		require.NoError(a.T, os.MkdirAll(filepath.Join(home, dir), 0o700))
	}
	a.policy, err = sandbox.New(sandbox.Place{Worktree: a.worktree, CommonDir: a.common(), Shadow: a.shadow.Dir, Checkout: a.Dir, Siblings: filepath.Dir(a.worktree), Home: home,
		PrivateHome: filepath.Join(home, "private"), Temp: filepath.Join(home, "tmp"), Program: a.box.Self, Read: a.shadow.Alternates, Network: true}.Real())
	require.NoError(a.T, err)
}

func (a *attempt) runner() command.Runner {
	return proc.New(proc.Options{Guard: []string{a.box.Self, "guard"}}).RunGuarded
}

// agent runs a shell script as the agent does.
func (a *attempt) agent(script string) (string, error) {
	a.T.Helper()
	c, err := a.box.Wrap(command.Cmd{Argv: []string{"sh", "-c", "umask 022\n" + script}, Env: append(slices.Clone(a.Env), "GIT_CONFIG_NOSYSTEM=1")}, a.policy)
	require.NoError(a.T, err)
	res, err := a.runner()(a.T.Context(), c)
	return string(res.Stdout) + string(res.Stderr), err
}

func (a *attempt) must(script string) string {
	a.T.Helper()
	out, err := a.agent(script)
	require.NoError(a.T, err, out)
	return out
}

// bytesOf are all files of a folder with their content, but for what is below orch/tmp, where shadows are.
func bytesOf(t *testing.T, dir string) string {
	t.Helper()
	var lines []string
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		require.NoError(t, err)
		if d.IsDir() && strings.HasSuffix(path, "orch/tmp") {
			return fs.SkipDir
		}
		info, err := d.Info()
		require.NoError(t, err)
		line := fmt.Sprint(path, " ", info.Mode())
		switch {
		case d.Type()&fs.ModeSymlink != 0:
			to, err := os.Readlink(path)
			require.NoError(t, err)
			line += " " + to
		case d.Type().IsRegular():
			content, err := os.ReadFile(path)
			require.NoError(t, err)
			line += fmt.Sprintf(" %x", sha256.Sum256(content))
		}
		lines = append(lines, line)
		return nil
	}))
	return strings.Join(lines, "\n")
}
