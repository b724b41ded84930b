package cmd

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/epic"
)

// answer is what one document says of an epic; a part that it does not have is nil.
type answer struct{ promise, counts, reason, state any }

// answers asks every document that says how the epic stands, but for those that may change it.
func (f *fixture) answers(c tools) map[string]answer {
	f.t.Helper()
	run := func(doc map[string]any) answer {
		row, ok := doc["run"].(map[string]any)
		require.True(f.t, ok, doc)
		return answer{row["promise"], doc["counts"], row["reason"], row["state"]}
	}
	status, _ := f.document("", "status", f.epic)
	plan, _ := f.document("", "plan", f.epic)
	stop, _ := f.document(`{"session_id": "s-1", "hook_event_name": "Stop"}`, "stop-hook", "--explain")
	return map[string]answer{
		"status": run(status), "plan": {plan["promise"], plan["counts"], plan["reason"], nil}, "stop-hook": {promise: stop["promise"]},
		"epic_status":      run(c.must("epic_status", map[string]any{"epic": f.epic})),
		"progress_summary": run(c.must("progress_summary", map[string]any{"epic": f.epic})),
	}
}

// agree requires that all who are asked say the same, and gives what that is.
func (f *fixture) agree(c tools, when string, want epic.Promise) answer {
	f.t.Helper()
	all := f.answers(c)
	first := all["status"]
	require.Equal(f.t, string(want), first.promise, "%s: %v", when, first)
	for who, said := range all {
		require.Equal(f.t, first.promise, said.promise, "%s, %s", when, who)
		for _, part := range [][2]any{{first.counts, said.counts}, {first.reason, said.reason}, {first.state, said.state}} {
			if part[1] != nil {
				require.Equal(f.t, part[0], part[1], "%s, %s", when, who)
			}
		}
	}
	return first
}

// next asks orch next at last, since it may change how the epic stands; want is its promise.
func (f *fixture) next(when string, want epic.Promise) map[string]any {
	f.t.Helper()
	doc, _ := f.document("", "next", f.epic, "--wait", "3s")
	require.Equal(f.t, string(want), doc["promise"], "%s, next: %v", when, doc)
	return doc
}

// TestAllAgree asks every document and command for how the epic stands, at each stage of its life.
func TestAllAgree(t *testing.T) {
	t.Parallel()
	f := quickFixture(t, `test -e "$HOME/asks-$ORCH_TASK" && { echo '<promise>BLOCKED</promise>'; echo 'Reason: which?'; exit; }
touch "$HOME/began-$ORCH_TASK"
until test -e "$HOME/go-$ORCH_TASK"; do sleep 0.05; done
echo x >"$ORCH_TASK" && git add -A && git commit -q -m x
`, "true")
	home := filepath.Dir(f.dir)
	at := func(name string) string { return filepath.Join(home, name) }
	f.must("orch", "session", "bind", f.epic, "--session", "s-1")
	c := connect(t, f)
	require.Equal(t, "the epic has no tasks", f.agree(c, "an empty epic", epic.LoopDone).reason)

	for _, title := range []string{"one", "two", "three"} {
		f.task(title)
	}
	begun := f.agree(c, "nothing begun", epic.LoopContinue)
	require.Equal(t, "none", begun.state)
	require.EqualValues(t, 3, begun.counts.(map[string]any)["ready"])

	// Agents at work; then paused, which keeps what is ready from being begun.
	run := f.start("run", f.epic, "-j", "1")
	await(at("began-e-1.1"))
	works := f.agree(c, "agents at work", epic.LoopContinue)
	require.Equal(t, "running", works.state)
	require.EqualValues(t, 1, works.counts.(map[string]any)["running"])
	for f.snapshot() == nil { // the run does not wait for it
		time.Sleep(20 * time.Millisecond)
	}
	require.Equal(t, string(epic.LoopContinue), f.snapshot()["promise"])
	f.must("orch", "pause", f.epic)
	f.seen("run_paused")
	f.write(at("go-e-1.1"), "")
	f.seen("task_landed")
	for f.agreeOnce(c) != string(epic.LoopBlocked) { // the tracker is told meanwhile
		time.Sleep(20 * time.Millisecond)
	}
	require.Equal(t, "paused; orch continue e-1", f.agree(c, "paused", epic.LoopBlocked).reason)
	status, _ := f.document("", "status", f.epic)
	require.Equal(t, true, status["run"].(map[string]any)["paused"])
	require.Empty(t, f.next("paused", epic.LoopBlocked)["tasks"])
	late, _ := f.document("", "next", f.epic, "--wait", "0s")
	require.Equal(t, string(epic.LoopBlocked), late["promise"], "who does not wait is told the same: %v", late)

	// Killed: not paused any more.
	require.NoError(t, run.Process.Kill())
	_ = run.Wait()
	require.Equal(t, "cut_off", f.agree(c, "killed", epic.LoopContinue).state)

	// A person is asked, and has answered.
	f.write(at("asks-e-1.2"), "")
	f.write(at("asks-e-1.3"), "")
	_, code := f.run(nil, "orch", "run", f.epic)
	require.Equal(t, 3, code)
	f.agree(c, "needs a person", epic.LoopBlocked)
	f.next("needs a person", epic.LoopBlocked)
	f.must("orch", "answer", "e-1.2", "the first")
	f.agree(c, "answered", epic.LoopContinue)
	status, _ = f.document("", "status", f.epic)
	asked := status["asked"].([]any)
	require.Len(t, asked, 1)
	when, err := time.Parse(time.RFC3339, asked[0].(map[string]any)["at"].(string))
	require.NoError(t, err)
	require.WithinDuration(t, time.Now(), when, 10*time.Minute)

	// A tracker that is damaged: no reading stands in for it.
	issues := filepath.Join(f.dir, ".beads", "issues.jsonl")
	kept, err := os.ReadFile(issues)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(issues, []byte("{{{"), 0o600))
	require.NoFileExists(t, filepath.Join(f.dir, ".git", "orch", "tracker.json"), "a reading of the hook")
	f.agree(c, "the tracker is damaged", epic.LoopError)
	stop, _ := f.document(`{"session_id": "s-1", "hook_event_name": "Stop"}`, "stop-hook", "--explain")
	require.Equal(t, "UNKNOWN", stop["verdict"], stop)
	require.NoError(t, os.WriteFile(issues, kept, 0o600))

	// Handed out to a session, which is no run.
	f.next("answered", epic.LoopContinue)
	handed := f.agree(c, "in a session", epic.LoopContinue)
	require.Equal(t, "running", handed.state)
	status, _ = f.document("", "status", f.epic)
	require.EqualValues(t, 2, status["run"].(map[string]any)["number"])
	f.write(filepath.Join(f.dir+".worktrees", f.epic, "agent-e-1.2", "good"), "x")
	landed, code := f.document("", "land", "e-1.2")
	require.Zero(t, code, landed)
	require.Equal(t, "LOOP_BLOCKED", landed["promise"])
	f.agree(c, "landed", epic.LoopBlocked)

	// At a limit only a person has it go on.
	require.NoError(t, os.Remove(at("asks-e-1.3")))
	f.must("orch", "retry", "e-1.3")
	f.task("four")
	f.settings("", "  run: {max_iterations: 1, max_parallel: 1}\n")
	f.write(at("go-e-1.3"), "")
	f.write(at("go-e-1.4"), "")
	_, code = f.run(nil, "orch", "run", f.epic)
	require.Equal(t, 7, code)
	limit := f.agree(c, "at a limit", epic.LoopBlocked)
	require.Equal(t, limit.reason, f.next("at a limit", epic.LoopBlocked)["reason"])
	f.agree(c, "at a limit, after next", epic.LoopBlocked)
	f.settings("  run: {max_iterations: 1, max_parallel: 1}\n", "")

	// The branch is gone while a task is ready.
	tip := strings.TrimSpace(f.must("git", "rev-parse", "epic/e-1"))
	f.must("git", "update-ref", "-d", "refs/heads/epic/e-1")
	f.agree(c, "branch gone", epic.LoopBlocked)
	f.next("branch gone", epic.LoopBlocked)
	f.must("git", "update-ref", "refs/heads/epic/e-1", tip)

	f.must("orch", "run", f.epic)
	f.agree(c, "done", epic.LoopDone)
	f.next("done", epic.LoopDone)
	require.Equal(t, "LOOP_DONE", f.snapshot()["promise"])

	// Without its tracker nothing is done.
	kept, err = os.ReadFile(issues)
	require.NoError(t, err)
	for how, text := range map[string]string{"empty": "", "another epic's": `{"id":"x-1","title":"x","status":"open","issue_type":"epic","priority":2}` + "\n"} {
		require.NoError(t, os.WriteFile(issues, []byte(text), 0o600))
		f.lost(c, how)
	}
	require.NoError(t, os.RemoveAll(filepath.Dir(issues)))
	f.lost(c, "gone")
	require.NoError(t, os.MkdirAll(filepath.Dir(issues), 0o700))
	require.NoError(t, os.WriteFile(issues, kept, 0o600))
	f.agree(c, "back", epic.LoopDone)
}

// snapshot is the readable snapshot's state; nil while there is none.
func (f *fixture) snapshot() (state map[string]any) {
	f.t.Helper()
	b, err := os.ReadFile(filepath.Join(f.epicDir(), "snapshot", "orchestrator-state.json"))
	if os.IsNotExist(err) {
		return nil
	}
	require.NoError(f.t, err)
	require.NoError(f.t, json.Unmarshal(b, &state))
	return state
}

// TestAllAgreeOnWorkOfAnotherClone asks them of an epic with a task that another clone has landed, before orch has
// driven it here and then.
func TestAllAgreeOnWorkOfAnotherClone(t *testing.T) {
	t.Parallel()
	f := quickFixture(t, "echo x >\"$ORCH_TASK\" && git add -A && git commit -q -m x\n", "true")
	f.must("orch", "session", "bind", f.epic, "--session", "s-1")
	c := connect(t, f)
	f.task("one")
	f.closeAs("orch/e-1/h:0123456789ab", "e-1.1", "landed in 0123456789ab")
	f.agree(c, "not driven", epic.LoopBlocked)
	f.next("not driven", epic.LoopBlocked)
	f.agree(c, "after next", epic.LoopBlocked)
	f.task("two")
	f.agree(c, "with another ready", epic.LoopContinue)
	_, code := f.run(nil, "orch", "run", f.epic)
	require.Equal(t, 3, code)
	blocked := f.agree(c, "one of two", epic.LoopBlocked)
	require.Contains(t, blocked.reason, "another clone has closed 1")
	f.next("one of two", epic.LoopBlocked)

	// A person closes it under their own name: that is a person's close, whoever closed it before.
	f.closeAs("ann", "e-1.1", "as good as done")
	f.agree(c, "closed by a person", epic.LoopDone)
	f.must("orch", "run", f.epic)
	f.agree(c, "run", epic.LoopDone)

	// The orch of another clone has closed it, and nobody knows why: its agent may have.
	f.task("three")
	f.closeAs("orch/e-1/h:0123456789ab", "e-1.3", "done")
	f.agree(c, "an agent's word", epic.LoopBlocked)
	_, code = f.run(nil, "orch", "run", f.epic)
	require.Equal(t, 3, code)
	f.must("orch", "retry", "e-1.3")
	f.agree(c, "retried", epic.LoopContinue)
	f.must("orch", "run", f.epic)
	f.agree(c, "done again", epic.LoopDone)
}

// closeAs has somebody close a task.
func (f *fixture) closeAs(who, id, reason string) {
	f.t.Helper()
	out, code := f.run([]string{"BD_ACTOR=" + who}, "orch", "tasks", "close", id, "--reason", reason)
	require.Zero(f.t, code, out)
}

// agreeOnce is the promise of status.
func (f *fixture) agreeOnce(c tools) any {
	status, _ := f.document("", "status", f.epic)
	return status["run"].(map[string]any)["promise"]
}

// seen waits until the journal has an event of a kind; the test's own time limit ends it.
func (f *fixture) seen(kind string) {
	f.t.Helper()
	for !strings.Contains(f.must("orch", "events"), kind) {
		time.Sleep(20 * time.Millisecond)
	}
}

// lost requires that nobody calls the epic done, whose tracker has it no more.
func (f *fixture) lost(c tools, how string) {
	f.t.Helper()
	status, code := f.document("", "status", f.epic, "--exit-status")
	require.Equal(f.t, 3, code, how)
	want := status["run"].(map[string]any)["promise"]
	require.Contains(f.t, []any{"LOOP_BLOCKED", "LOOP_ERROR"}, want, how)
	stop, _ := f.document(`{"session_id": "s-1", "hook_event_name": "Stop"}`, "stop-hook", "--explain")
	require.Equal(f.t, want, stop["promise"], "%s: %v", how, stop)
	next, _ := f.document("", "next", f.epic)
	require.Equal(f.t, want, next["promise"], "%s: %v", how, next)
	plan, _ := f.document("", "plan", f.epic)
	require.Equal(f.t, want, plan["promise"], "%s: %v", how, plan)
	require.Equal(f.t, want, c.must("progress_summary", map[string]any{"epic": f.epic})["run"].(map[string]any)["promise"], how)
}

// canDo asks the stop hook and next, at the same moment, what a session can do for the epic. The hook
// sends it back exactly where next has work for it, and both say the same where it has none: code, ""
// for a task to work on, and new where it is one that it did not have. It gives what next has.
func (f *fixture) canDo(c tools, session, when, code string) map[string]any {
	f.t.Helper()
	f.agree(c, when, f.promise())
	stop, _ := f.document(fmt.Sprintf(`{"session_id": %q, "hook_event_name": "Stop"}`, session), "stop-hook", "--explain")
	next, _ := f.documentFor(session, "", "next", f.epic, "--wait", "1s")
	when += ", " + session
	require.Equal(f.t, next["promise"], stop["promise"], "%s: %v %v", when, stop, next)
	tasks := next["tasks"].([]any)
	require.Equal(f.t, stop["block"], len(tasks) > 0, "%s: it is sent back where there is work for it: %v %v", when, stop, next)
	if len(tasks) > 0 {
		require.Empty(f.t, code, "%s: %v", when, next)
		return next
	}
	require.Contains(f.t, stop["why"], "["+code+"]", "%s: %v", when, stop)
	if next["waiting"] == true { // for a place of the run
		return next
	}
	withheld := next["withheld"].(map[string]any)
	require.Equal(f.t, code, withheld["code"], "%s: %v", when, next)
	require.Contains(f.t, stop["why"], withheld["why"], "%s: %v", when, stop)
	require.NotEmpty(f.t, withheld["fix"], "%s: %v", when, next)
	return next
}

// promise is what status says that the epic needs next.
func (f *fixture) promise() epic.Promise {
	f.t.Helper()
	status, _ := f.document("", "status", f.epic)
	return epic.Promise(status["run"].(map[string]any)["promise"].(string))
}

// TestSessionsAgree: of two sessions and a run, each is held by the stop hook where next has work for it,
// and nowhere else.
func TestSessionsAgree(t *testing.T) {
	t.Parallel()
	f := quickFixture(t, `touch "$HOME/began-$ORCH_TASK"
until test -e "$HOME/go-$ORCH_TASK"; do sleep 0.05; done
echo x >"$ORCH_TASK" && git add -A && git commit -q -m x
`, "true")
	f.settings("", "  run: {max_parallel: 1}\n")
	home := filepath.Dir(f.dir)
	for _, title := range strings.Fields("one two three four") {
		f.task(title)
	}
	for _, id := range []string{"s-1", "s-2"} {
		f.must("orch", "session", "bind", f.epic, "--session", id)
	}
	c := connect(t, f)
	land := func(session, task string) {
		t.Helper()
		f.write(filepath.Join(f.dir+".worktrees", f.epic, "agent-"+task, task), "x")
		landed, code := f.documentFor(session, "", "land", task)
		require.Zero(t, code, landed)
	}

	// Without a run: who has the only place is held, the other is let go.
	f.canDo(c, "s-1", "nothing begun", "")
	f.canDo(c, "s-2", "s-1 has the place", "PLACES_TAKEN")
	f.canDo(c, "s-1", "it has the place", "")
	tool := c.must("epic_next", map[string]any{"epic": f.epic})
	require.Equal(t, "PLACES_TAKEN", tool["withheld"].(map[string]any)["code"], tool)
	land("s-1", "e-1.1")
	f.canDo(c, "s-2", "the place is free", "")
	f.canDo(c, "s-1", "s-2 has the place", "PLACES_TAKEN")

	// A run waits for the place; paused, it gives none, also when that is free.
	run := f.start("run", f.epic)
	run.until("waits for a place")
	f.canDo(c, "s-1", "a run waits as well", "PLACES_TAKEN")
	f.canDo(c, "s-2", "a run waits for it", "")
	f.must("orch", "pause", f.epic)
	f.seen("run_paused")
	f.canDo(c, "s-1", "paused, and s-2 at work", "PAUSED")
	f.canDo(c, "s-2", "paused", "")
	land("s-2", "e-1.2")
	for f.promise() != epic.LoopBlocked { // the tracker is told meanwhile
		time.Sleep(20 * time.Millisecond)
	}
	stop, _ := f.document(`{"session_id": "s-2", "hook_event_name": "Stop"}`, "stop-hook", "--explain")
	require.Equal(t, "ALL_BLOCKED", stop["verdict"], stop)

	// The run's agent has the place; then it takes no more work.
	f.must("orch", "continue", f.epic)
	await(filepath.Join(home, "began-e-1.3"))
	f.canDo(c, "s-1", "the run's agent has the place", "PLACES_TAKEN")
	f.must("orch", "stop", f.epic)
	f.seen("drain_started")
	f.canDo(c, "s-1", "drained", "INTERRUPTED")
	f.write(filepath.Join(home, "go-e-1.3"), "")
	_ = run.Wait() // it was stopped
	f.canDo(c, "s-1", "the run has ended", "")
	f.canDo(c, "s-2", "nothing is ready", "NOTHING_READY")
}
