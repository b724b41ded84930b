package cmd

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/workspace"
	"github.com/beadsorch/orch/orchestrator/epicstore"
	"github.com/beadsorch/orch/orchestrator/journal"
	"github.com/beadsorch/orch/orchestrator/proc"
	"github.com/beadsorch/orch/worktree/worktreetest"
)

// killAgent works on an epic with an agent whose own rules are red at first, a red gate
// that the next attempt mends, and two tasks that conflict. What it makes does not depend on
// the order.
const killAgent = `set -e
cd "$ORCH_WORKTREE"
case "$ORCH_TASK" in
*.1) if [ "$ORCH_ITERATION" = 1 ]; then echo wrong >one.txt; else echo one >one.txt; fi ;;
*.2) if [ "$ORCH_ATTEMPT" = 1 ]; then echo bad >two.txt; else echo two >two.txt; fi ;;
*.3|*.4)
	if [ "$ORCH_ITERATION" != 1 ]; then
		git merge -q "epic/$ORCH_EPIC" >/dev/null 2>&1 || true
		git checkout -q --theirs shared.txt 2>/dev/null || true
	fi
	echo "$ORCH_TASK" >>shared.txt
	LC_ALL=C sort -u -o shared.txt shared.txt ;;
*.5) echo five >five.txt ;;
esac
git add -A
git commit -q -m "$ORCH_TASK" || true
`

const killGate = `! grep -q bad two.txt 2>/dev/null && ! grep -q '<<<<' shared.txt 2>/dev/null`

func killFixture(t *testing.T) *fixture {
	f := quickFixture(t, killAgent, killGate)
	f.settings("gate: [", "agents: {qa: {validationRules: [one]}}\n  gate: [{name: one, type: command, command: '! grep -qs wrong one.txt'}, ")
	f.must("orch", "tasks", "create", "one, by rules of its own", "--parent", f.epic, "--labels", "agent:qa")
	f.task("two, red at first")
	f.task("three, conflicts", ".1")
	f.task("four, conflicts", ".1")
	f.task("five, after all", ".2", ".3", ".4")
	f.write(filepath.Join(f.dir, "dirty.txt"), "the user's own\n")
	return f
}

// TestKilledAnywhere kills orch at every event that it writes, before and after
// the write, and runs it again. Whatever the moment, the epic ends as if nothing
// had happened.
func TestKilledAnywhere(t *testing.T) {
	t.Parallel()
	ref := killFixture(t)
	out, code := ref.run(nil, "orch", "run", ref.epic)
	require.Equal(t, 0, code, out)
	require.Contains(t, out, "goes on: red: one:")
	tree := ref.must("git", "rev-parse", "epic/"+ref.epic+"^{tree}")
	events := countEvents(t, ref)
	require.Greater(t, events, 30)
	step := thorough(12, 4, 1)
	for n := 1; n <= events; n += step {
		for _, side := range []string{"before", "after"} {
			t.Run(fmt.Sprintf("%s %d", side, n), func(t *testing.T) {
				t.Parallel()
				f := killFixture(t)
				was := f.checkout()
				f.run([]string{fmt.Sprintf("ORCH_TEST_KILL=%s %d", side, n)}, "orch", "run", f.epic)
				out, code := f.run(nil, "orch", "run", f.epic)
				require.Equal(t, 0, code, out)
				f.oracle(tree, out)
				require.Equal(t, was, f.checkout())
			})
		}
	}
}

// TestDriverKilledAnywhere is TestKilledAnywhere at a terminal: what the driver leaves is the
// same, and its viewer says that the run was cut off, and how it goes on.
func TestDriverKilledAnywhere(t *testing.T) {
	t.Parallel()
	ref := killFixture(t)
	out, code := ref.sit(nil, "run", ref.epic).end()
	require.Equal(t, 0, code, out)
	tree := ref.must("git", "rev-parse", "epic/"+ref.epic+"^{tree}")
	events := countEvents(t, ref)
	step := thorough(30, 13, 1)
	for n := 1; n <= events; n += step {
		for _, side := range []string{"before", "after"} {
			t.Run(fmt.Sprintf("%s %d", side, n), func(t *testing.T) {
				t.Parallel()
				f := killFixture(t)
				was := f.checkout()
				out, code := f.sit([]string{fmt.Sprintf("ORCH_TEST_KILL=%s %d", side, n)}, "run", f.epic).end()
				if code != 0 { // else there were fewer events this time
					require.Equal(t, 137, code, out)
					require.Contains(t, out, "[RUN_CUT_OFF]")
					require.Contains(t, out, "orch run e-1   goes on where it was")
					require.NotContains(t, out, "<promise>")
				}
				if f.cutOff() {
					out, code := f.sit(nil, "watch", f.epic).end()
					require.Equal(t, 137, code, out, "the same")
					require.Contains(t, out, "[RUN_CUT_OFF]")
				}
				out, code = f.sit(nil, "run", f.epic).end()
				require.Equal(t, 0, code, out)
				f.oracle(tree, out)
				require.Equal(t, was, f.checkout())
			})
		}
	}
}

// cutOff reports whether the journal has a run that has begun and not ended.
func (f *fixture) cutOff() bool {
	rec, err := journal.Read(f.epicDir())
	if errors.Is(err, os.ErrNotExist) {
		return false
	}
	require.NoError(f.t, err)
	s, err := epicstore.Replay(rec.Records)
	require.NoError(f.t, err)
	return s.Run.Number > 0 && s.Run.Ended.IsZero()
}

// TestKilledAgainAndAgain kills each resume a little later than the one before.
func TestKilledAgainAndAgain(t *testing.T) {
	t.Parallel()
	ref := killFixture(t)
	out, code := ref.run(nil, "orch", "run", ref.epic)
	require.Equal(t, 0, code, out)
	tree := ref.must("git", "rev-parse", "epic/"+ref.epic+"^{tree}")
	f := killFixture(t)
	for n := 1; ; n += thorough(5, 1, 1) {
		require.Less(t, n, 60, "never ends")
		out, code = f.run([]string{fmt.Sprintf("ORCH_TEST_KILL=after %d", n)}, "orch", "run", f.epic)
		if code == 0 {
			break
		}
	}
	f.oracle(tree, out)
}

// checkout is the user's own repository, byte for byte, without the tracker's
// file: a line for each path.
func (f *fixture) checkout() []string {
	return slices.DeleteFunc(strings.Split(worktreetest.Snapshot(f.t, f.dir), "\n"), func(line string) bool { return strings.HasPrefix(line, ".beads/") })
}

func countEvents(t *testing.T, f *fixture) int {
	rec, err := journal.Read(f.epicDir())
	require.NoError(t, err)
	return len(rec.Records)
}

func (f *fixture) epicDir() string { return filepath.Join(f.dir, ".git", "orch", "epics", f.epic) }

// oracle checks what has to hold when an epic is done, however it got there.
func (f *fixture) oracle(tree, out string) {
	t := f.t
	t.Helper()
	require.Equal(t, 1, strings.Count(out, "<promise>LOOP_"), out)
	require.Contains(t, out, "<promise>LOOP_DONE</promise>")
	require.Equal(t, tree, f.must("git", "rev-parse", "epic/"+f.epic+"^{tree}"), "the same files")
	landed := strings.Fields(f.must("git", "log", "--first-parent", "--format=%(trailers:key=Orch-Task,valueonly)", "main..epic/"+f.epic))
	require.ElementsMatch(t, []string{"e-1.1", "e-1.2", "e-1.3", "e-1.4", "e-1.5"}, landed, "each landed once")

	var list struct{ Issues []struct{ ID, Status string } }
	require.NoError(t, json.Unmarshal([]byte(f.must("orch", "tasks", "list", "--all", "--json")), &list))
	require.Len(t, list.Issues, 6)
	for _, i := range list.Issues {
		require.Equal(t, "closed", i.Status, i.ID)
	}

	require.Equal(t, 1, strings.Count(f.must("git", "worktree", "list", "--porcelain"), "worktree "), "no worktree is left")
	require.Empty(t, f.must("git", "for-each-ref", "refs/heads/orch", "refs/orch/"+f.epic+"/lease"), "no branch is left")
	require.NoDirExists(t, f.dir+".worktrees")
	require.Empty(t, f.must("git", "fsck", "--no-dangling", "--no-progress"))
	f.noLocks()
	f.noProcesses()

	rec, err := journal.Read(f.epicDir())
	require.NoError(t, err)
	_, err = epicstore.Replay(rec.Records)
	require.NoError(t, err)
}

func (f *fixture) noLocks() {
	err := filepath.WalkDir(filepath.Join(f.dir, ".git"), func(path string, _ os.DirEntry, err error) error {
		name := filepath.Base(path)
		if strings.HasSuffix(name, ".lock") && !strings.Contains(path, "/orch/") || name == "packed-refs.new" {
			f.t.Errorf("left behind: %s", path)
		}
		return err
	})
	require.NoError(f.t, err)
}

// noProcesses waits for the last process of the fixture's repository to go; a
// killed orch's guards need a moment.
func (f *fixture) noProcesses() {
	a := &cli.Invocation{Process: Process{Dir: f.dir, Env: f.env, Self: filepath.Join(f.bin, "orch"), Now: time.Now}}
	w, err := workspace.Open(f.t.Context(), a)
	require.NoError(f.t, err)
	require.Eventually(f.t, func() bool {
		left, err := proc.Survivors(w.Project.Marker())
		return err == nil && len(left) == 0
	}, time.Minute, 50*time.Millisecond, "processes are left")
}
