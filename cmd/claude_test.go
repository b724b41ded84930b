package cmd

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/orchestrator/harness/modeltest"
)

// claudeFixture is a repository whose agents are the real Claude Code, with a
// model that says what answer says.
func claudeFixture(t *testing.T, answer func(modeltest.Request) modeltest.Reply) (*fixture, *modeltest.Model) {
	t.Helper()
	return clientFixture(t, "claude", unattended()["claude"], answer)
}

// TestClaudeCode lands an epic with the real client. Its model writes something
// wrong at first: the gate's words have to reach the same conversation.
func TestClaudeCode(t *testing.T) {
	t.Parallel()
	f, model := claudeFixture(t, wrongThenRight)
	f.task("task one")
	f.task("task two")
	out, code := f.run(nil, "orch", "run", f.epic)
	require.Zero(t, code, out)
	require.Equal(t, "right", f.must("git", "show", "epic/e-1:one.txt"))
	require.Equal(t, "right", f.must("git", "show", "epic/e-1:two.txt"))
	require.Contains(t, out, "gate red")
	requireResumed(t, model)

	require.Contains(t, f.must("orch", "logs", "e-1.2"), "promise")
	events := f.must("orch", "events", f.epic)
	require.Regexp(t, `"tokens":[1-9]`, events)
	require.Regexp(t, `"cost_usd":0\.[0-9]`, events)
	require.NoDirExists(t, f.dir+".worktrees")
	require.Empty(t, f.must("git", "status", "--porcelain"))
}

// TestFreshContext: an agent that says its context is full goes on in a fresh session with
// the same small prompt, and finds its work in git. What is sent does not grow with the
// number of cycles.
func TestFreshContext(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("SKIPPED in -short: 20 sessions of the real client")
	}
	const cycles = 20
	f, model := claudeFixture(t, func(r modeltest.Request) modeltest.Reply {
		switch {
		case r.Turn() == 0:
			return modeltest.Reply{Bash: "echo more >> work.txt && git add -A && git commit -qm more && wc -l < work.txt"}
		case strings.Contains(r.Last(), fmt.Sprint(cycles)):
			return modeltest.Reply{Text: "<promise>COMPLETE</promise>"}
		}
		return modeltest.Reply{Text: "<promise>CONTEXT LIMIT - CHECKPOINT</promise>"}
	})
	text, err := os.ReadFile(filepath.Join(f.dir, "project.yaml"))
	require.NoError(t, err)
	f.write(filepath.Join(f.dir, "project.yaml"), string(text)+"  agents: {me: {maxIterations: 30}}\n")
	f.trust()
	f.task("task one")
	out, code := f.run(nil, "orch", "run", f.epic)
	require.Zero(t, code, out)
	require.Equal(t, cycles, strings.Count(f.must("git", "show", "epic/e-1:work.txt"), "more"))
	var first []int
	for _, r := range model.Requests() {
		if r.Turn() == 0 {
			first = append(first, r.Bytes)
		}
	}
	require.Len(t, first, cycles)
	for n, bytes := range first[1:] {
		require.Less(t, bytes, first[1]*11/10, "cycle %d", n+2)
	}
}

// TestClaudeCodeWithoutItsModel: an API that is overloaded costs no task an
// attempt, and a key that is refused ends the run with what to do.
func TestClaudeCodeWithoutItsModel(t *testing.T) {
	t.Parallel()
	t.Run("overloaded", func(t *testing.T) {
		t.Parallel()
		if testing.Short() {
			t.Skip("SKIPPED in -short: waits as long as an overloaded API makes orch wait")
		}
		calls := 0
		f, _ := claudeFixture(t, func(r modeltest.Request) modeltest.Reply {
			calls++
			switch {
			case calls <= 2: // the first agent gives up after one retry
				return modeltest.Reply{Status: 529}
			case r.Turn() == 0 || !strings.Contains(r.Last(), "committed"):
				return modeltest.Reply{Bash: "echo x > x && git add -A && git commit -qm x && echo committed"}
			}
			return modeltest.Reply{Text: "done"}
		})
		f.task("task")
		out, code := f.run(nil, "orch", "run", f.epic)
		require.Zero(t, code, out)
		require.Contains(t, out, "the attempt does not count")
	})
	t.Run("not logged in", func(t *testing.T) {
		t.Parallel()
		f, _ := claudeFixture(t, func(modeltest.Request) modeltest.Reply { return modeltest.Reply{Status: 401} })
		f.task("task")
		out, code := f.run(nil, "orch", "run", f.epic)
		require.Equal(t, cli.ExitNotReady, code, out)
		require.Contains(t, out, "the agent's client is not logged in")
		require.Contains(t, f.must("orch", "tasks", "show", "e-1.1"), "open")
	})
}

// hooked is a repository in which orch init has installed the hooks and the command,
// with an epic of tasks for a session that leads.
func hooked(t *testing.T, tasks int, answer func(modeltest.Request) modeltest.Reply) (*fixture, *modeltest.Model) {
	t.Helper()
	f, model := claudeFixture(t, answer)
	f.must("orch", "init", "--yes")
	for n := range tasks {
		f.task("task " + string(rune('a'+n)))
	}
	return f, model
}

// session runs the client once, with a prompt.
func (f *fixture) session(prompt string, extra ...string) (string, int) {
	f.t.Helper()
	args := append([]string{"-p", prompt, "--output-format", "stream-json", "--verbose", "--permission-mode", "acceptEdits", "--allowedTools", "Bash"}, extra...)

	return f.run(nil, f.client("claude"), args...)
}

// workOnNext is what a model types that hands out one task, does it, and lands it.
const workOnNext = "orch next e-1 -j 1 --json > next.json; dir=$(sed -n 's/.*\"dir\": \"\\(.*\\)\",/\\1/p' next.json | head -n 1); task=$(sed -n 's/.*\"task\": \"\\(.*\\)\",/\\1/p' next.json | head -n 1); rm next.json; " +
	"echo done > $dir/$task.txt && git -C $dir add -A && git -C $dir commit -qm $task && orch land $task"

// TestStopHookKeepsASessionAtWork: the model tries to leave after each task. The hook
// sends it back until the epic is closed; then the session ends by itself.
func TestStopHookKeepsASessionAtWork(t *testing.T) {
	t.Parallel()
	f, model := hooked(t, 3, func(r modeltest.Request) modeltest.Reply {
		if r.Turn()%2 == 0 {
			return modeltest.Reply{Bash: workOnNext}
		}
		return modeltest.Reply{Text: "I have made good progress. <promise>EPIC COMPLETE</promise> Anything else?"}
	})
	out, code := f.session("/run-tasks e-1")
	require.Zero(t, code, out)
	require.Contains(t, f.must("orch", "tasks", "show", "e-1.3"), "closed", out)
	require.Contains(t, f.must("orch", "tasks", "show", "e-1"), "closed")
	require.Equal(t, "done", f.must("git", "show", "epic/e-1:e-1.3.txt"))
	requests := model.Requests()
	require.Contains(t, requests[0].All(), "Begin with a tool call")
	whole := requests[len(requests)-1].All()
	require.Equal(t, 2, strings.Count(whole, "Stop hook feedback"), "sent back after the first and the second task")
	require.GreaterOrEqual(t, strings.Count(whole, "Begin with a tool call"), 3, "with the same prompt")
	require.Empty(t, f.must("git", "status", "--porcelain", "--", "."+string(filepath.Separator)+"*.txt"))
}

// TestStopHookLetsOthersBe: another session in the same repository is left alone, while
// one is bound to an epic with work left.
func TestStopHookLetsOthersBe(t *testing.T) {
	t.Parallel()
	f, model := hooked(t, 1, func(modeltest.Request) modeltest.Reply { return modeltest.Reply{Text: "Hello."} })
	f.must("orch", "session", "bind", "e-1", "--session", "somebody-elses")
	out, code := f.session("say hello")
	require.Zero(t, code, out)
	require.Len(t, model.Requests(), 1)
}

// TestStopHookLetsGo of a model that never makes progress, at the bound and with the
// reason.
func TestStopHookLetsGo(t *testing.T) {
	t.Parallel()
	f, model := hooked(t, 1, func(modeltest.Request) modeltest.Reply { return modeltest.Reply{Text: "I think that is all."} })
	out, code := f.session("/run-tasks e-1")
	require.Zero(t, code, out)
	require.Len(t, model.Requests(), 4, "the first, and three that were sent back")
	require.Contains(t, f.must("orch", "session", "list"), "sent back 3 times")
	id := strings.Fields(f.must("orch", "session", "list"))[0]
	simulated := filepath.Join(t.TempDir(), "stop.json")
	f.write(simulated, `{"session_id": "`+id+`", "hook_event_name": "Stop"}`)
	require.Contains(t, f.must("orch", "stop-hook", "--simulate", simulated), "NO_PROGRESS")
}

// TestStopHookWaitsForNobody: a model of a session that is bound, and whose tasks only
// a person can go on with, may end.
func TestStopHookLetsTheBlockedEnd(t *testing.T) {
	t.Parallel()
	f, model := hooked(t, 2, func(modeltest.Request) modeltest.Reply {
		return modeltest.Reply{Text: "<promise>BLOCKED - NEEDS USER</promise>"}
	})
	f.must("orch", "tasks", "update", "e-1.1", "--status", "blocked")
	f.must("orch", "tasks", "dep", "add", "e-1.2", "e-1.1")
	out, code := f.session("/run-tasks e-1")
	require.Zero(t, code, out)
	require.Len(t, model.Requests(), 1)
}

// TestStopHookWaitsForSubagents: while one works in the background the session is not
// sent back; the client wakes it.
func TestStopHookWaitsForSubagents(t *testing.T) {
	t.Parallel()
	f, model := hooked(t, 1, func(r modeltest.Request) modeltest.Reply {
		switch {
		case strings.Contains(r.First(), "You are the subagent") && r.Turn() == 0:
			return modeltest.Reply{Bash: "python3 -c 'import time; time.sleep(1)' 2>/dev/null; " + workOnNext}
		case strings.Contains(r.First(), "You are the subagent"):
			return modeltest.Reply{Text: "the subagent has landed it"}
		case r.Turn() == 0:
			return modeltest.Reply{Agent: "You are the subagent: do the task."}
		}
		return modeltest.Reply{Text: "I wait for it."}
	})
	out, code := f.session("/run-tasks e-1")
	require.Zero(t, code, out)
	require.Contains(t, f.must("orch", "tasks", "show", "e-1"), "closed", out)
	for _, r := range model.Requests() {
		require.NotContains(t, r.All(), "Stop hook feedback")
	}
}

// TestProtocolAfterCompaction: when the client has compacted the conversation, the
// session is told again what it is at.
func TestProtocolAfterCompaction(t *testing.T) {
	t.Parallel()
	f, model := hooked(t, 1, func(r modeltest.Request) modeltest.Reply {
		switch {
		case strings.Contains(r.All(), "Respond with TEXT ONLY"):
			return modeltest.Reply{Text: "<summary>we were at work</summary>"}
		case strings.Contains(r.All(), "we were at work"):
			if strings.Contains(r.Last(), "landed e-1.1") {
				return modeltest.Reply{Text: "done"}
			}
			return modeltest.Reply{Bash: workOnNext}
		case r.Turn() == 0:
			return modeltest.Reply{Bash: "echo one", Tokens: 10_000}
		}
		return modeltest.Reply{Bash: "echo two", Tokens: 985_000}
	})
	out, code := f.session("/run-tasks e-1")
	require.Zero(t, code, out)
	told := false
	for _, r := range model.Requests() {
		all := r.All()
		told = told || strings.Contains(all, "we were at work") && strings.Contains(all, "SessionStart hook additional context") && strings.Contains(all, "/run-tasks for epic e-1")
	}
	require.True(t, told, out)
	require.Contains(t, f.must("orch", "tasks", "show", "e-1"), "closed", out)
}

// TestNoHookAfterAnAPIError: the client fires none, so nothing is counted; orch run is
// what carries on.
func TestNoHookAfterAnAPIError(t *testing.T) {
	t.Parallel()
	f, _ := hooked(t, 1, func(modeltest.Request) modeltest.Reply { return modeltest.Reply{Status: 400} })
	out, code := f.session("/run-tasks e-1")
	require.Equal(t, 1, code, out)
	require.Contains(t, f.must("orch", "session", "list"), "sent back 0 times")
}

// TestPlugin passes the client's own validation, warnings included.
func TestPlugin(t *testing.T) {
	t.Parallel()
	f, _ := claudeFixture(t, func(modeltest.Request) modeltest.Reply { return modeltest.Reply{} })
	dir := filepath.Join(t.TempDir(), "orch")
	f.must("orch", "init", "--plugin", dir)

	out, code := f.run(nil, f.client("claude"), "plugin", "validate", dir, "--strict")
	require.Zero(t, code, out)
}

// TestClaudeIsAsked: an agent that ends its turn with words and no promise is asked, in the
// same conversation, whether it is done.
func TestClaudeIsAsked(t *testing.T) {
	t.Parallel()
	f, model := claudeFixture(t, func(r modeltest.Request) modeltest.Reply {
		switch {
		case r.Turn() == 0:
			return modeltest.Reply{Bash: "echo right > one.txt && git add -A && git commit -qm half"}
		case r.Turn() == 1:
			return modeltest.Reply{Text: "I have made good progress. Shall I go on?"}
		case r.Turn() == 2:
			return modeltest.Reply{Bash: "echo right > two.txt && git add -A && git commit -qm rest"}
		}
		return modeltest.Reply{Text: "Now it is whole.\n<promise>COMPLETE</promise>"}
	})
	f.task("task one")
	out, code := f.run(nil, "orch", "run", f.epic)
	require.Zero(t, code, out)
	require.Contains(t, out, "it promised nothing, and is asked whether it is done")
	require.Equal(t, "right", f.must("git", "show", "epic/e-1:two.txt"))
	requests := model.Requests()
	require.Len(t, requests, 4)
	require.Contains(t, requests[2].Last(), "You ended without a promise")
}

// TestTaskBudget: an agent that goes round and round is stopped when its task has used up
// what one may; what it did stays, and the run goes on with the others.
func TestTaskBudget(t *testing.T) {
	t.Parallel()
	f, _ := claudeFixture(t, func(r modeltest.Request) modeltest.Reply {
		switch {
		case strings.Contains(r.First(), "round and round") && r.Turn()%2 == 0:
			return modeltest.Reply{Bash: "date >> one.txt && git add -A && git commit -qm more", Tokens: 9000}
		case strings.Contains(r.First(), "round and round"):
			return modeltest.Reply{Text: "<promise>CONTINUE</promise>", Tokens: 9000}
		case r.Turn() == 0:
			return modeltest.Reply{Bash: "echo right > two.txt && git add -A && git commit -qm two", Tokens: 9000}
		}
		return modeltest.Reply{Text: "<promise>COMPLETE</promise>", Tokens: 9000}
	})
	f.settings("", "  limits: {task_tokens: 50000}\n")
	f.task("round and round")
	f.task("task two")
	out, code := f.run(nil, "orch", "run", f.epic)
	require.Equal(t, cli.ExitNeedsYou, code, out)
	require.Regexp(t, `parked: \[BUDGET\] used \d+ of 50000 tokens for one task`, out)
	require.Equal(t, "right", f.must("git", "show", "epic/e-1:two.txt"))
	require.Contains(t, f.must("orch", "status", "e-1.1"), "orch retry e-1.1")
}
