package beads_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/beads"
	"github.com/beadsorch/orch/orchestrator/command"
	"github.com/beadsorch/orch/orchestrator/proc"
	"github.com/beadsorch/orch/orchestrator/tracker"
)

// anyTracker is what both kinds have.
type anyTracker interface {
	Survey(context.Context) ([]tracker.Issue, error)
	Apply(context.Context, string, []tracker.Change) ([]tracker.Outcome, error)
	Name() string
}

// place is a tracker with a way to put issues into it.
type place struct {
	anyTracker
	add func(t *testing.T, title, parent string, deps ...string) string
}

func filePlace(t *testing.T) place {
	f, err := beads.OpenFile(beads.FileOptions{Dir: filepath.Join(t.TempDir(), ".beads"), Now: time.Now, Actor: "t"})
	require.NoError(t, err)
	return place{f, func(t *testing.T, title, parent string, deps ...string) string {
		kind := tracker.TypeTask
		if parent == "" {
			kind = tracker.TypeEpic
		}
		i, err := f.Create(t.Context(), tracker.Issue{Title: title, Type: kind, Priority: 2}, parent)
		require.NoError(t, err)
		for _, d := range deps {
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

func bdPlace(t *testing.T) place {
	b, run := newBD(t)
	return place{b, func(t *testing.T, title, parent string, deps ...string) string {
		args := []string{"create", title, "--silent", "-p", "2"}
		if parent == "" {
			args = append(args, "-t", "epic")
		} else {
			args = append(args, "-t", "task", "--parent", parent)
		}
		if len(deps) > 0 {
			args = append(args, "--deps", strings.Join(deps, ","))
		}
		return run("", args...)
	}}
}

func issueOf(t *testing.T, p anyTracker, id string) tracker.Issue {
	t.Helper()
	issues, err := p.Survey(t.Context())
	require.NoError(t, err)
	i, ok := tracker.NewIndex(issues).Issue(id)
	require.True(t, ok, id)
	return i
}

// TestTrackers runs one suite on both trackers.
func TestTrackers(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(*testing.T) place{"file": filePlace, "bd": bdPlace} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := open(t)
			epic := p.add(t, "epic", "")
			a := p.add(t, "a", epic)
			b := p.add(t, "b", epic, a)
			c := p.add(t, "c", epic)
			t.Run("reads the whole epic", func(t *testing.T) { suiteSurvey(t, p, epic, []string{a, b, c}) })
			t.Run("claims once", func(t *testing.T) { suiteClaim(t, p, a, c) })
			t.Run("writes statuses, notes and closes", func(t *testing.T) { suiteStatus(t, p, a, b, c) })
			t.Run("one bad id holds nothing up", func(t *testing.T) { suiteBadID(t, p, b) })
			t.Run("never creates twice", func(t *testing.T) { suiteCreate(t, p) })
		})
	}
}

func suiteSurvey(t *testing.T, p place, epic string, tasks []string) {
	issues, err := p.Survey(t.Context())
	require.NoError(t, err)
	x := tracker.NewIndex(issues)
	require.ElementsMatch(t, tasks, x.Descendants(epic))
	require.Equal(t, [][]string{{tasks[0]}}, x.Blockers(tasks[1]))
	require.ElementsMatch(t, []string{tasks[0], tasks[2]}, ids(x.Ready(tracker.Filter{Parent: epic}, time.Now())))
}

func suiteClaim(t *testing.T, p place, a, c string) {
	out, err := p.Apply(t.Context(), "orch/one", []tracker.Change{{ID: a, Kind: tracker.Claim}})
	require.NoError(t, err)
	require.NoError(t, out[0].Err)
	out, err = p.Apply(t.Context(), "orch/two", []tracker.Change{{ID: a, Kind: tracker.Claim}, {ID: c, Kind: tracker.Claim}, {ID: "t-none", Kind: tracker.Claim}})
	require.NoError(t, err)
	var held *tracker.ClaimedError
	require.ErrorAs(t, out[0].Err, &held)
	require.Equal(t, "orch/one", held.By)
	require.NoError(t, out[1].Err)
	require.ErrorIs(t, out[2].Err, tracker.ErrNotFound)
	out, err = p.Apply(t.Context(), "orch/two", []tracker.Change{{ID: c, Kind: tracker.Claim}})
	require.NoError(t, err)
	require.NoError(t, out[0].Err, "the same actor again")
	require.Equal(t, "orch/two", issueOf(t, p, c).Assignee)
	require.Equal(t, tracker.StatusInProgress, issueOf(t, p, c).Status)
}

func suiteStatus(t *testing.T, p place, a, b, c string) {
	out, err := p.Apply(t.Context(), "orch/two", []tracker.Change{
		{ID: c, Kind: tracker.SetStatus, Status: tracker.StatusBlocked, Note: "why: \"it\" asks\nsecond line"},
		{ID: a, Kind: tracker.Close, Reason: "landed in abc, \"quoted\" # and \\ more\nlines"},
		{ID: b, Kind: tracker.SetStatus, Status: tracker.StatusBlocked},
	})
	require.NoError(t, err)
	for _, o := range out {
		require.NoError(t, o.Err)
	}
	require.Equal(t, tracker.StatusClosed, issueOf(t, p, a).Status)
	require.Contains(t, issueOf(t, p, a).CloseReason, "landed in abc")
	require.Equal(t, tracker.StatusBlocked, issueOf(t, p, b).Status)
	require.Contains(t, issueOf(t, p, c).Notes, "second line")
	out, err = p.Apply(t.Context(), "orch/two", []tracker.Change{{ID: c, Kind: tracker.SetStatus, Status: tracker.StatusOpen}})
	require.NoError(t, err)
	require.NoError(t, out[0].Err)
	require.Empty(t, issueOf(t, p, c).Assignee)
	require.Equal(t, tracker.StatusOpen, issueOf(t, p, c).Status)
}

func suiteBadID(t *testing.T, p place, b string) {
	out, err := p.Apply(t.Context(), "orch/two", []tracker.Change{{ID: "t-none", Kind: tracker.Close, Reason: "x"}, {ID: b, Kind: tracker.Close, Reason: "y"}})
	require.NoError(t, err)
	require.ErrorIs(t, out[0].Err, tracker.ErrNotFound)
	require.NoError(t, out[1].Err)
	require.Equal(t, tracker.StatusClosed, issueOf(t, p, b).Status)
}

func suiteCreate(t *testing.T, p place) {
	want := tracker.Issue{Title: "orch: failures", Description: "a text\nof two lines", Type: "bug", Priority: 1, Labels: []string{"orch-meta"}}
	first, err := p.Apply(t.Context(), "orch/two", []tracker.Change{{Kind: tracker.Create, Issue: &want}})
	require.NoError(t, err)
	require.NoError(t, first[0].Err)
	again, err := p.Apply(t.Context(), "orch/two", []tracker.Change{{Kind: tracker.Create, Issue: &want}})
	require.NoError(t, err)
	require.Equal(t, first[0].ID, again[0].ID)
	i := issueOf(t, p, first[0].ID)
	require.Equal(t, want.Description, strings.TrimSpace(i.Description))
	require.Equal(t, want.Labels, i.Labels)
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
