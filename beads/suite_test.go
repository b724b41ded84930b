package beads_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/beads"
	"github.com/beadsorch/orch/orchestrator"
	"github.com/beadsorch/orch/orchestrator/command"
	"github.com/beadsorch/orch/orchestrator/proc"
	"github.com/beadsorch/orch/orchestrator/tracker"
	"github.com/beadsorch/orch/orchestrator/tracker/trackertest"
)

func filePlace(t testing.TB) trackertest.Subject {
	f, err := beads.OpenFile(beads.FileOptions{Dir: filepath.Join(t.TempDir(), ".beads"), Now: time.Now, Actor: "t"})
	require.NoError(t, err)
	return trackertest.Subject{Tracker: f, Add: func(t testing.TB, title, parent string, blockers ...string) string {
		kind := tracker.TypeTask
		if parent == "" {
			kind = tracker.TypeEpic
		}
		i, err := f.Create(t.Context(), tracker.Issue{Title: title, Type: kind, Priority: 2}, parent)
		require.NoError(t, err)
		for _, d := range blockers {
			require.NoError(t, f.AddDependency(t.Context(), i.ID, d, tracker.DepBlocks))
		}
		return i.ID
	}}
}

// bdBinary is the real bd, or the test is skipped, and says so.
func bdBinary(t testing.TB) string {
	t.Helper()
	path, err := exec.LookPath("bd")
	if err != nil {
		t.Skip("SKIPPED: no bd on PATH; the tracker's rules are held by recordings instead")
	}
	return path
}

// bdEnv is a home and an identity of the test's own.
func bdEnv(home string) []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=T", "GIT_AUTHOR_EMAIL=t@localhost", "GIT_COMMITTER_NAME=T", "GIT_COMMITTER_EMAIL=t@localhost",
		"BD_NON_INTERACTIVE=1", "BD_EXPORT_AUTO=false", "BD_DISABLE_METRICS=1", "DOLT_METRICS_DISABLED=1"}
}

// newBD makes a repository with a database of the real bd.
func newBD(t testing.TB) (*beads.BD, func(stdin string, args ...string) string) {
	t.Helper()
	return newBDOver(t, proc.New(proc.Options{Now: time.Now}).Run)
}

// newBDOver is newBD whose calls go through run.
func newBDOver(t testing.TB, over command.Runner) (*beads.BD, func(stdin string, args ...string) string) {
	t.Helper()
	b, run, _ := newBDIn(t, over)
	return b, run
}

// newBDIn is newBDOver, with the repository's folder.
func newBDIn(t testing.TB, over command.Runner) (*beads.BD, func(stdin string, args ...string) string, string) {
	t.Helper()
	bd := bdBinary(t)
	top := t.TempDir()
	dir := filepath.Join(top, "r")
	run := func(name, stdin string, args ...string) string {
		c := exec.CommandContext(t.Context(), name, args...)
		c.Dir, c.Env, c.Stdin = dir, bdEnv(top), strings.NewReader(stdin)
		out, err := c.Output()
		require.NoError(t, err, "%s %v: %s", name, args, out)
		return strings.TrimSpace(string(out))
	}
	require.NoError(t, os.MkdirAll(dir, 0o700))
	run("git", "", "init", "-q")
	run("git", "", "config", "beads.role", "maintainer")
	run(bd, "", "init", "-p", "t", "--stealth", "--skip-hooks", "--skip-agents", "--quiet")
	b, err := beads.OpenBD(t.Context(), beads.BDOptions{Run: over, Binary: bd, Dir: dir, BeadsDir: filepath.Join(dir, ".beads"),
		Env: bdEnv(top), Timeout: time.Minute, Lock: filepath.Join(top, "bd.lock")})
	require.NoError(t, err)
	return b, func(stdin string, args ...string) string { return run(bd, stdin, args...) }, dir
}

func bdPlace(t testing.TB) trackertest.Subject {
	b, run := newBD(t)
	return trackertest.Subject{Tracker: b, Add: func(t testing.TB, title, parent string, blockers ...string) string {
		args := []string{"create", title, "--silent", "-p", "2"}
		if parent == "" {
			args = append(args, "-t", "epic")
		} else {
			args = append(args, "-t", "task", "--parent", parent)
		}
		if len(blockers) > 0 {
			args = append(args, "--deps", strings.Join(blockers, ","))
		}
		return run("", args...)
	}, Close: func(_ testing.TB, id string) { run("", "close", id) }}
}

func issueOf(t *testing.T, p orchestrator.Tracker, id string) tracker.Issue {
	t.Helper()
	issues, err := p.Survey(t.Context())
	require.NoError(t, err)
	i, ok := tracker.NewIndex(issues).Issue(id)
	require.True(t, ok, id)
	return i
}

// TestTrackers: both trackers do what every tracker does.
func TestTrackers(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(testing.TB) trackertest.Subject{"file": filePlace, "bd": bdPlace} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			trackertest.Run(t, open)
		})
	}
}

// TestWritesLeaveBDsLogAlone: in a repository that tracks its .beads folder, orch's
// own writes do not make the person's checkout dirty.
func TestWritesLeaveBDsLogAlone(t *testing.T) {
	t.Parallel()
	b, run, dir := newBDIn(t, proc.New(proc.Options{Now: time.Now}).Run)
	ids := []string{run("", "create", "a", "--silent"), run("", "create", "b", "--silent"), run("", "create", "c", "--silent"), run("", "create", "d", "--silent")}
	log := func() string {
		text, err := os.ReadFile(filepath.Join(dir, ".beads", "interactions.jsonl"))
		require.NoError(t, err)
		return string(text)
	}
	run("", "close", ids[3])
	before := log()
	require.NotEmpty(t, before, "bd writes it for a person")
	outcomes, err := b.Apply(t.Context(), "orch/e/1", []tracker.Change{
		{ID: ids[0], Kind: tracker.Claim}, {ID: ids[1], Kind: tracker.SetStatus, Status: tracker.StatusBlocked, Note: "[NO_CHANGE] why"},
		{ID: ids[2], Kind: tracker.Close, Reason: "landed"}, {Kind: tracker.Create, Issue: &tracker.Issue{Title: "m", Type: "bug", Labels: []string{"x"}}}})
	require.NoError(t, err)
	for _, o := range outcomes {
		require.NoError(t, o.Err)
	}
	require.Equal(t, before, log())
	blocked := issueOf(t, b, ids[1])
	require.Equal(t, tracker.StatusBlocked, blocked.Status)
	require.Contains(t, blocked.Notes, "[NO_CHANGE] why")
}
