package cmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/harness/claude/claudetest"
)

// claudeClient is a folder with the real client in it, as claude, to put on PATH.
// Without one the test is skipped, and says so; under ORCH_TEST_STRICT it fails.
func claudeClient(t *testing.T) string {
	t.Helper()
	path := os.Getenv("ORCH_TEST_CLAUDE")
	if path == "" && os.Getenv("ORCH_TEST_STRICT") != "" {
		t.Fatal("ORCH_TEST_CLAUDE names no Claude Code client, and nothing may be skipped")
	}
	if path == "" {
		t.Skip("SKIPPED: ORCH_TEST_CLAUDE names no Claude Code client; the real client is not tried")
	}
	path, err := filepath.Abs(path)
	require.NoError(t, err)
	path, err = filepath.EvalSymlinks(path)
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, os.Symlink(path, filepath.Join(dir, "claude")))
	return dir
}

// claudeFixture is a repository whose agents are the real Claude Code, with a
// model that says what answer says.
func claudeFixture(t *testing.T, answer func(claudetest.Request) claudetest.Reply) (*fixture, *claudetest.Model) {
	t.Helper()
	client := claudeClient(t)
	f := newFixture(t, "", "true")
	model := claudetest.NewModel(t, answer)
	home := t.TempDir()
	f.env = append([]string{"PATH=" + strings.Join([]string{f.bin, client, os.Getenv("PATH")}, ":"), "LANG=C.UTF-8", "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=T", "GIT_AUTHOR_EMAIL=t@localhost", "GIT_COMMITTER_NAME=T", "GIT_COMMITTER_EMAIL=t@localhost"}, model.Env(home)...)
	f.write(filepath.Join(f.dir, "project.yaml"), `workflow:
  tracker: {kind: file}
  gate: [{name: gate, type: command, command: "! grep -Hn wrong *.txt"}]
  agent: {harness: claude, permission_mode: acceptEdits, allowed_tools: [Bash]}
`)
	return f, model
}

// TestClaudeCode lands an epic with the real client. Its model writes something
// wrong at first: the gate's words have to reach the same conversation.
func TestClaudeCode(t *testing.T) {
	t.Parallel()
	f, model := claudeFixture(t, func(r claudetest.Request) claudetest.Reply {
		task := "one"
		if strings.Contains(r.First(), "task two") {
			task = "two"
		}
		switch content := "right"; {
		case r.Turn() == 0 && task == "two":
			content = "wrong"
			fallthrough
		case r.Turn() == 0, strings.Contains(r.Last(), "two.txt:1:wrong"):
			return claudetest.Reply{Bash: "echo " + content + " > " + task + ".txt && git add -A && git commit -qm work"}
		}
		return claudetest.Reply{Text: "<promise>COMPLETE</promise>"}
	})
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

// requireResumed: the feedback arrived in the conversation that had the brief.
func requireResumed(t *testing.T, model *claudetest.Model) {
	t.Helper()
	for _, r := range model.Requests() {
		if strings.Contains(r.First(), "task two") && strings.Contains(r.Last(), "two.txt:1:wrong") {
			require.Positive(t, r.Turn(), "the conversation went on")
			return
		}
	}
	t.Fatal("the gate's output reached no conversation")
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
		f, _ := claudeFixture(t, func(r claudetest.Request) claudetest.Reply {
			calls++
			switch {
			case calls <= 2: // the first agent gives up after one retry
				return claudetest.Reply{Status: 529}
			case r.Turn() == 0 || !strings.Contains(r.Last(), "committed"):
				return claudetest.Reply{Bash: "echo x > x && git add -A && git commit -qm x && echo committed"}
			}
			return claudetest.Reply{Text: "done"}
		})
		f.task("task")
		out, code := f.run(nil, "orch", "run", f.epic)
		require.Zero(t, code, out)
		require.Contains(t, out, "the attempt does not count")
	})
	t.Run("not logged in", func(t *testing.T) {
		t.Parallel()
		f, _ := claudeFixture(t, func(claudetest.Request) claudetest.Reply { return claudetest.Reply{Status: 401} })
		f.task("task")
		out, code := f.run(nil, "orch", "run", f.epic)
		require.Equal(t, exitNotReady, code, out)
		require.Contains(t, out, "the agent's client is not logged in")
		require.Contains(t, f.must("orch", "tasks", "show", "e-1.1"), "open")
	})
}
