package cmd

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/sandbox"
)

// askingAgent asks for what is out of its reach, and leaves each answer in a file of its own.
const askingAgent = `cd "$ORCH_WORKTREE"; mkdir -p said
ask() { name=$1; shift; "$@" >"said/$name" 2>"said/$name.err"; echo $? >"said/$name.exit"; }
ask which command -v bd orch
ask show bd show "$ORCH_TASK" --json
ask shown orch tasks show "$ORCH_TASK"
ask ready bd ready --json
ask status orch status --json
ask comment bd comment "$ORCH_TASK" "it is harder than it looks"
echo "from a file" >text; ask file bd comment "$ORCH_TASK" --file text; rm text
echo "from a pipe" | ask pipe bd comment "$ORCH_TASK" --stdin
ask comments bd comments "$ORCH_TASK" --json
ask note bd update "$ORCH_TASK" --append-notes "a note" --json
ask found bd create "Something else" --deps "discovered-from:$ORCH_TASK" -t bug --silent
ask again bd show "$(cat said/found)" --json
ask close bd close "$ORCH_TASK" --json
ask set bd update "$ORCH_TASK" --status closed
ask other bd comment e-1 "on another"
ask into bd create "For somebody" --parent e-2
ask depends bd create "For somebody" --deps blocks:e-1
ask skip orch skip "$ORCH_TASK"
ask land orch land "$ORCH_TASK"
ask trust orch trust --show
ask config orch config explain
ask sandbox orch sandbox explain
ask run orch run e-1
ask mine orch iteration start other-task
ask leak orch iteration validate "$ORCH_TASK" --output=-
ask reads orch -C / status
ask start orch iteration start "$ORCH_TASK" --max-iterations 3
echo "<promise>COMPLETE</promise>" | ask validate orch iteration validate "$ORCH_TASK" --output - --json
ask complete orch iteration complete "$ORCH_TASK"
ask point orch checkpoint create "$ORCH_TASK"
git add -A; git commit -qm work
`

// TestInside: at each level an agent reads the tracker, writes what is its own there, and goes on with its own loop; all else is refused,
// with what to do instead.
func TestInside(t *testing.T) {
	t.Parallel()
	bounded(t, func(t *testing.T) *fixture {
		top := t.TempDir()
		f := newFixtureIn(t, top, askingAgent, "touch here; ! touch "+top+"/planted; ! cat "+top+"/repo/project.yaml; rm here; test ! -e wrong")
		f.task("one")
		return f
	}, func(t *testing.T, f *fixture, l sandbox.Level) {
		out, code := f.run(nil, "orch", "run", f.epic)
		require.Zero(t, code, "%s\n%s", out, f.must("orch", "logs", "e-1.1"))
		said := func(name string) string { return f.must("git", "show", "epic/e-1:said/"+name) }
		exits := func(want string, names ...string) {
			t.Helper()
			for _, name := range names {
				require.Equal(t, want, said(name+".exit"), "%s: %s%s", name, said(name), said(name+".err"))
			}
		}
		exits("0", "which", "show", "shown", "ready", "status", "comment", "file", "pipe", "comments", "note", "found", "again", "start", "validate", "complete", "point")
		for _, line := range strings.Split(said("which"), "\n") {
			require.NotContains(t, line, f.bin)
			require.Contains(t, line, "/bin/")
		}
		var shown []struct{ ID, Status, Assignee string }
		require.NoError(t, json.Unmarshal([]byte(said("show")), &shown))
		require.Equal(t, "e-1.1", shown[0].ID)
		require.Contains(t, said("shown"), "e-1.1")
		for _, text := range []string{"it is harder", "from a file", "from a pipe"} {
			require.Contains(t, said("comments"), text)
		}
		require.Contains(t, said("note"), "a note")
		require.Contains(t, said("again"), "discovered-from")
		require.Contains(t, said("validate"), `"COMPLETE"`)
		exits("1", "close", "set", "other", "into", "depends")
		require.Contains(t, said("close.err"), `"NOT_A_PERSON"`)
		require.Contains(t, said("close.err"), "COMPLETE", "what to do instead")
		exits("2", "skip", "land", "trust", "config", "sandbox", "run", "mine", "reads")
		require.Contains(t, said("skip.err"), "NOT_A_PERSON")
		tasks := f.must("orch", "tasks", "list", "--all")
		require.NotContains(t, tasks, "For somebody")
		require.Contains(t, tasks, "Something else")
		require.Contains(t, f.read(".beads/issues.jsonl"), "from a pipe")
		events := f.must("orch", "events", f.epic)
		require.Contains(t, events, "orch skip, asked from inside attempt 1 of e-1.1")
		for _, reads := range []string{"orch trust", "orch config", "orch sandbox", "orch status"} {
			require.NotContains(t, events, reads, "what only reads is refused, and nobody is told")
		}
		require.NoFileExists(t, filepath.Join(filepath.Dir(f.dir), "planted"), "what an agent has run by a rule")
		f.nothingBounded()
		if l.Mounts() {
			require.Equal(t, sandbox.TrackerAt, strings.Split(said("which"), "\n")[0])
		}
	})
}

// TestInsideTrusted: what the command line of a run allows counts for what its agents ask it to judge, and for nothing else.
func TestInsideTrusted(t *testing.T) {
	t.Parallel()
	bounded(t, func(t *testing.T) *fixture {
		f := newFixture(t, `cd "$ORCH_WORKTREE"; mkdir -p said; echo work >work; git add work; git commit -qm work
ask() { name=$1; shift; "$@" >"said/$name" 2>"said/$name.err"; echo $? >"said/$name.exit"; }
ask verify orch verify "$ORCH_TASK"
ask start orch iteration start "$ORCH_TASK" --max-iterations 3
echo "<promise>COMPLETE</promise>" | ask validate orch iteration validate "$ORCH_TASK" --output -
echo "$ORCH_TRUST" >said/digest
git add -A; git commit -qm said
`, "true")
		f.task("one")
		return f
	}, func(t *testing.T, f *fixture, _ sandbox.Level) {
		digest := digestIn(f.must("orch", "trust", "--show", "--json"))
		f.must("orch", "trust", "--revoke")
		out, code := f.run(nil, "orch", "run", f.epic, "--trust", digest)
		require.Zero(t, code, "%s\n%s", out, f.must("orch", "logs", "e-1.1"))
		said := func(name string) string { return f.must("git", "show", "epic/e-1:said/"+name) }
		for _, name := range []string{"verify", "start", "validate"} {
			require.Equal(t, "0", said(name+".exit"), "%s: %s%s", name, said(name), said(name+".err"))
		}
		require.Empty(t, said("digest"), "the agent itself needs no word of it")
		out, code = f.run(nil, "orch", "trust", "--show", "--json")
		require.Zero(t, code)
		require.Contains(t, out, `"untrusted"`, "it is not remembered")
	})
}

// TestInsideLongPaths: however long the paths of the repository and of the folder for temporary files are, the socket is found.
func TestInsideLongPaths(t *testing.T) {
	t.Parallel()
	bounded(t, func(t *testing.T) *fixture {
		top := filepath.Join(t.TempDir(), strings.Repeat("a-long-name/", 10)+"end")
		require.NoError(t, os.MkdirAll(filepath.Join(top, "tmp"), 0o700))
		f := newFixtureIn(t, top, `cd "$ORCH_WORKTREE"; bd show "$ORCH_TASK" >work && git add -A && git commit -qm work`, "true")
		f.env = append(f.env, "TMPDIR="+filepath.Join(top, "tmp"))
		f.task("one")
		return f
	}, func(t *testing.T, f *fixture, _ sandbox.Level) {
		out, code := f.run(nil, "orch", "run", f.epic)
		require.Zero(t, code, "%s\n%s", out, f.must("orch", "logs", "e-1.1"))
		require.Contains(t, f.must("git", "show", "epic/e-1:work"), "e-1.1")
	})
}
