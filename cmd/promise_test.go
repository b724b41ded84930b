package cmd

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/epic"
)

// document is what a command prints with --json, and its exit code; it comes from session s-1.
func (f *fixture) document(stdin string, args ...string) (map[string]any, int) {
	f.t.Helper()
	return f.documentFor("s-1", stdin, args...)
}

// documentFor is document from a session.
func (f *fixture) documentFor(session, stdin string, args ...string) (map[string]any, int) {
	f.t.Helper()
	c := exec.CommandContext(f.t.Context(), filepath.Join(f.bin, "orch"), append(args, "--json")...)
	c.Dir, c.Env, c.Stdin = f.dir, append(slices.Clone(f.env), "CLAUDE_CODE_SESSION_ID="+session), strings.NewReader(stdin)
	out, err := c.Output()
	var doc map[string]any
	require.NoError(f.t, json.Unmarshal(out, &doc), "%v: %s %v", args, out, err)
	return doc, c.ProcessState.ExitCode()
}

// promises asks everybody who says what the epic needs next, at the same moment.
func (f *fixture) promises(c tools, verify string) map[string]any {
	f.t.Helper()
	stop, _ := f.document(`{"session_id": "s-1", "hook_event_name": "Stop"}`, "stop-hook", "--explain")
	status, _ := f.document("", "status", f.epic)
	out := map[string]any{
		"status": status["run"].(map[string]any)["promise"], "stop-hook": stop["promise"],
		"epic_status":      c.must("epic_status", map[string]any{"epic": f.epic})["run"].(map[string]any)["promise"],
		"progress_summary": c.must("progress_summary", map[string]any{"epic": f.epic})["run"].(map[string]any)["promise"],
	}
	if verify != "" {
		doc, _ := f.document("", "verify", verify)
		out["verify"] = doc["promise"]
	}
	require.Equal(f.t, stop["block"], stop["promise"] == string(epic.LoopContinue), "the hook holds a session as long as there is something to do: %v", stop)
	return out
}

// TestOnePromise asks all documents at the same moments of an epic's life; they say the same.
func TestOnePromise(t *testing.T) {
	t.Parallel()
	f := quickFixture(t, `test -e "$HOME/asks" && { echo '<promise>BLOCKED</promise>'; exit; }
touch "$HOME/began"
until test -e "$HOME/go"; do sleep 0.05; done
echo x >"$ORCH_TASK" && git add -A && git commit -q -m x
`, "true")
	home := filepath.Dir(f.dir)
	for _, title := range []string{"one", "two", "three"} {
		f.task(title)
	}
	f.must("orch", "session", "bind", f.epic, "--session", "s-1")
	c := connect(t, f)
	all := func(want epic.Promise, when, verify string) {
		t.Helper()
		for who, said := range f.promises(c, verify) {
			require.Equal(t, string(want), said, "%s, %s", when, who)
		}
	}
	stop, _ := f.document(`{"session_id": "s-1"}`, "stop-hook", "--explain")
	require.Equal(t, "LOOP_CONTINUE", stop["promise"], "before the first run")

	next, _ := f.document("", "next", f.epic, "-j", "1")
	require.Equal(t, "LOOP_CONTINUE", next["promise"])
	all(epic.LoopContinue, "a task was handed out", "e-1.1")

	f.write(filepath.Join(f.dir+".worktrees", f.epic, "agent-e-1.1", "good"), "x")
	landed, code := f.document("", "land", "e-1.1")
	require.Zero(t, code, landed)
	require.Equal(t, "LOOP_CONTINUE", landed["promise"])
	all(epic.LoopContinue, "one has landed", "")

	// A run that goes on, and that is interrupted.
	run := exec.CommandContext(t.Context(), filepath.Join(f.bin, "orch"), "run", f.epic, "--json", "-j", "1")
	run.Dir, run.Env = f.dir, f.env
	var out strings.Builder
	run.Stdout = &out
	require.NoError(t, run.Start())
	await(filepath.Join(home, "began"))
	status, _ := f.document("", "status", f.epic)
	require.Equal(t, "running", status["run"].(map[string]any)["state"])
	require.Equal(t, "LOOP_CONTINUE", status["run"].(map[string]any)["promise"])
	f.must("orch", "stop", f.epic)
	for !strings.Contains(f.must("orch", "events"), "drain_started") { // the test's own time limit ends it
		time.Sleep(20 * time.Millisecond)
	}
	f.write(filepath.Join(home, "go"), "")
	_ = run.Wait() // its document tells
	var end map[string]any
	require.NoError(t, json.Unmarshal([]byte(out.String()), &end), out.String())
	require.Equal(t, "LOOP_CONTINUE", end["run"].(map[string]any)["promise"])
	all(epic.LoopContinue, "the run was stopped", "")

	// A limit that was reached, though a task is ready.
	f.task("four")
	f.task("five")
	f.settings("", "  run: {max_iterations: 1}\n")
	limited, code := f.document("", "run", f.epic, "-j", "1")
	require.Equal(t, 7, code)
	require.Equal(t, "LOOP_BLOCKED", limited["run"].(map[string]any)["promise"])
	require.Equal(t, "RUN_ITERATIONS", limited["run"].(map[string]any)["code"])
	require.Contains(t, limited["run"].(map[string]any)["reason"], "Maximum iteration limit (1) reached")
	all(epic.LoopBlocked, "at a limit", "")
	status, _ = f.document("", "status", f.epic)
	require.Equal(t, limited["run"].(map[string]any)["reason"], status["run"].(map[string]any)["reason"])

	// What is left asks a person.
	f.settings("  run: {max_iterations: 1}\n", "")
	f.write(filepath.Join(home, "asks"), "")
	blocked, code := f.document("", "run", f.epic)
	require.Equal(t, 3, code)
	require.Equal(t, "LOOP_BLOCKED", blocked["run"].(map[string]any)["promise"])
	all(epic.LoopBlocked, "only a person", "")

	require.NoError(t, os.Remove(filepath.Join(home, "asks")))
	f.must("orch", "retry", "e-1.4")
	f.must("orch", "retry", "e-1.5")
	done, code := f.document("", "run", f.epic)
	require.Zero(t, code, done)
	require.Equal(t, "LOOP_DONE", done["run"].(map[string]any)["promise"])
	all(epic.LoopDone, "all landed", "")
}
