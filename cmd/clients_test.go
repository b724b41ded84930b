package cmd

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/workspace"
	"github.com/beadsorch/orch/orchestrator/harness/modeltest"
	"github.com/beadsorch/orch/orchestrator/proc"
	"github.com/beadsorch/orch/stophook/codex"
)

// realClient is a folder with the real client in it, under its own name, to put on PATH.
// Which one, ORCH_TEST_CLAUDE, ORCH_TEST_CODEX and so on say. Without it the test is
// skipped, and says so; under ORCH_TEST_STRICT it fails, unless ORCH_TEST_SKIP names the
// client.
func realClient(t *testing.T, name string) string {
	t.Helper()
	variable := "ORCH_TEST_" + strings.ToUpper(name)
	path := os.Getenv(variable)
	if path == "" && os.Getenv("ORCH_TEST_STRICT") != "" && !slices.Contains(strings.Fields(os.Getenv("ORCH_TEST_SKIP")), name) {
		t.Fatalf("%s names no client, and nothing may be skipped but what ORCH_TEST_SKIP names", variable)
	}
	if path == "" {
		t.Skipf("SKIPPED: %s names no client; the real %s is not tried", variable, name)
	}
	path, err := filepath.Abs(path)
	require.NoError(t, err)
	path, err = filepath.EvalSymlinks(path)
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, os.Symlink(path, filepath.Join(dir, name)))
	return dir
}

// clientFixture is a repository whose agents are a real client, with a model that says
// what answer says. agent is what the settings say of it beside its name.
func clientFixture(t *testing.T, name, agent string, answer func(modeltest.Request) modeltest.Reply) (*fixture, *modeltest.Model) {
	t.Helper()
	client := realClient(t, name)
	f := newFixture(t, "", "true")
	model := modeltest.NewModel(t, answer)
	f.env = append([]string{"PATH=" + strings.Join([]string{f.bin, client, os.Getenv("PATH")}, ":"), "LANG=C.UTF-8", "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=T", "GIT_AUTHOR_EMAIL=t@localhost", "GIT_COMMITTER_NAME=T", "GIT_COMMITTER_EMAIL=t@localhost", unbounded()}, model.Env(t, name, t.TempDir())...)
	f.write(filepath.Join(f.dir, "project.yaml"), `workflow:
  tracker: {kind: file}
  gate: [{name: gate, type: command, command: "! grep -Hn wrong *.txt"}]
  agent: {harness: `+name+`, `+agent+`}
`)
	f.trust()
	return f, model
}

// client is the path of the fixture's client.
func (f *fixture) client(name string) string {
	at := slices.IndexFunc(f.env, func(v string) bool { return strings.HasPrefix(v, "PATH=") })
	return filepath.Join(filepath.SplitList(f.env[at])[1], name)
}

// wrongThenRight is a model that does the tasks one and two, the second wrong at first.
func wrongThenRight(r modeltest.Request) modeltest.Reply {
	task := "one"
	if strings.Contains(r.All(), "task two") {
		task = "two"
	}
	switch content := "right"; {
	case r.Turn() == 0 && task == "two":
		content = "wrong"
		fallthrough
	case r.Turn() == 0, strings.Contains(r.Last(), "two.txt:1:wrong"):
		return modeltest.Reply{Bash: "echo " + content + " > " + task + ".txt && git add -A && git commit -qm work"}
	}
	return modeltest.Reply{Text: "<promise>COMPLETE</promise>"}
}

// requireResumed: the gate's words arrived in the conversation that had the brief.
func requireResumed(t *testing.T, model *modeltest.Model) {
	t.Helper()
	for _, r := range model.Requests() {
		if r.Turn() > 0 && strings.Contains(r.All(), "task two") && strings.Contains(r.Last(), "two.txt:1:wrong") {
			return
		}
	}
	t.Fatal("the gate's output reached no conversation that went on")
}

// unattended is what the settings say of each client so that it works by itself.
func unattended() map[string]string {
	return map[string]string{
		"claude":   "permission_mode: acceptEdits, allowed_tools: [Bash]",
		"codex":    "permission_mode: danger-full-access",
		"gemini":   "permission_mode: yolo, model: scripted",
		"copilot":  "permission_mode: allow-all-tools",
		"opencode": "permission_mode: auto",
	}
}

// TestClientsLand: each client lands an epic of two tasks. Its model writes something wrong
// at first: the gate's words have to reach the same conversation.
func TestClientsLand(t *testing.T) {
	t.Parallel()
	for name, agent := range unattended() {
		if name == "claude" { // has a test of its own
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, model := clientFixture(t, name, agent, wrongThenRight)
			f.task("task one")
			f.task("task two")
			out, code := f.run(nil, "orch", "run", f.epic)
			require.Zero(t, code, "%s\n%s", out, f.must("orch", "logs", "e-1.1"))
			require.Equal(t, "right", f.must("git", "show", "epic/e-1:one.txt"))
			require.Equal(t, "right", f.must("git", "show", "epic/e-1:two.txt"))
			require.Contains(t, out, "gate red")
			requireResumed(t, model)
			if name != "copilot" { // which does not say
				require.Regexp(t, `"tokens":[1-9]`, f.must("orch", "events", f.epic))
			}
			require.NoDirExists(t, f.dir+".worktrees")
			require.Empty(t, f.must("git", "status", "--porcelain"))
		})
	}
}

// TestClientsIterate: where an agent has rules of its own, what they say of a turn reaches the
// same conversation of each client, in the same attempt, and the brief says who it is.
func TestClientsIterate(t *testing.T) {
	t.Parallel()
	for name, agent := range unattended() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, model := clientFixture(t, name, agent, wrongThenRight)
			f.write(filepath.Join(f.dir, ".claude/agents/me.md"), "---\nname: me\niteration: {maxIterations: 4, validationRules: [gate]}\n---\nYou count twice.\n")
			f.trust()
			f.task("task two")
			out, code := f.run(nil, "orch", "run", f.epic)
			require.Zero(t, code, "%s\n%s", out, f.must("orch", "logs", "e-1.1"))
			require.Contains(t, out, "goes on: red: gate: two.txt:1:wrong")
			require.NotContains(t, out, "attempt 2")
			require.Equal(t, "right", f.must("git", "show", "epic/e-1:two.txt"))
			requireResumed(t, model)
			require.Contains(t, model.Requests()[0].All(), "You count twice.")
		})
	}
}

// sessionArgs is how each client is started for a session of its own, with a prompt.
func sessionArgs(name, prompt string) []string {
	switch name {
	case "codex":
		return []string{"exec", "--json", "--trust", "--sandbox", "danger-full-access", "--dangerously-bypass-hook-trust", prompt}
	case "gemini":
		return []string{"--output-format", "stream-json", "--yolo", "--model", "scripted", "--prompt", prompt}
	case "copilot":
		return []string{"--output-format", "json", "--allow-all-tools", "--no-ask-user", "--trust-folder", "--prompt", prompt}
	}
	return nil
}

// TestStopHookKeepsEachClientAtWork: the model of each client tries to leave after each
// task. The hook sends it back until the epic is closed; then the session ends by itself.
// The hook takes no effect for an unbound session of the same client.
func TestStopHookKeepsEachClientAtWork(t *testing.T) {
	t.Parallel()
	for _, k := range workspace.ClientsWithHooks() {
		if k.Name == "claude" { // has tests of its own
			continue
		}
		t.Run(k.Name, func(t *testing.T) {
			t.Parallel()
			work := filepath.Join(t.TempDir(), "work.sh") // a file: Gemini CLI runs no substitutions, and Codex a shell with a PATH of its own
			f, model := clientFixture(t, k.Name, "permission_mode: ''", func(r modeltest.Request) modeltest.Reply {
				switch {
				case strings.Contains(r.All(), "say hello"):
					return modeltest.Reply{Text: "Hello."}
				case r.Turn()%2 == 0:
					return modeltest.Reply{Bash: "sh " + work}
				}
				return modeltest.Reply{Text: "I have made good progress. <promise>EPIC COMPLETE</promise> Anything else?"}
			})
			f.write(work, "PATH="+f.bin+":$PATH\n"+workOnNext+"\n")
			f.must("orch", "init", "--client", k.Name, "--yes")
			for n := range 3 {
				f.task("task " + string(rune('a'+n)))
			}
			out, code := f.run(nil, f.client(k.Name), sessionArgs(k.Name, "say hello")...)
			require.Zero(t, code, out)
			require.Len(t, model.Requests(), 1, "nobody has bound it")

			out, code = f.run(nil, f.client(k.Name), sessionArgs(k.Name, strings.Replace(k.Start, "EPIC", "e-1", 1))...)
			require.Zero(t, code, out)
			require.Contains(t, f.must("orch", "tasks", "show", "e-1"), "closed", out)
			require.Equal(t, "done", f.must("git", "show", "epic/e-1:e-1.3.txt"))
			requests := model.Requests()[1:]
			require.Contains(t, requests[0].All(), "Begin with a tool call")
			require.Len(t, requests, 6, "sent back after the first and the second task")
			require.Contains(t, requests[2].Last(), "Begin with a tool call")
			if k.Fresh {
				require.Zero(t, requests[2].Turn(), "with a context of its own")
			} else {
				require.Equal(t, 2, requests[2].Turn())
			}
			require.Contains(t, f.must("orch", "session", "list"), "sent back 0 times", "all is done, and the counts begin anew")
		})
	}
}

// TestDoctorAsksCodex whether it trusts the hooks: it would skip them without a word.
func TestDoctorAsksCodex(t *testing.T) {
	t.Parallel()
	f, _ := clientFixture(t, "codex", "permission_mode: ''", func(modeltest.Request) modeltest.Reply { return modeltest.Reply{} })
	f.must("orch", "init", "--client", "codex", "--yes")
	out, code := f.run(nil, "orch", "doctor")
	require.Equal(t, cli.ExitNotReady, code, out)
	require.Contains(t, out, "Codex does not see it: the folder is not trusted")

	home := ""
	for _, e := range f.env {
		if v, ok := strings.CutPrefix(e, "CODEX_HOME="); ok {
			home = v
		}
	}
	trust := func(text string) {
		file, err := os.OpenFile(filepath.Join(home, "config.toml"), os.O_APPEND|os.O_WRONLY, 0)
		require.NoError(t, err)
		_, err = file.WriteString(text)
		require.NoError(t, errors.Join(err, file.Close()))
	}
	trust("[projects.\"" + f.dir + "\"]\ntrust_level = \"trusted\"\n")
	out, _ = f.run(nil, "orch", "doctor")
	require.Contains(t, out, "Codex does not trust it, and would skip it without a word")

	listed, err := codex.List(t.Context(), proc.New(proc.Options{Now: time.Now}).Run, f.client("codex"), f.dir, f.env)
	require.NoError(t, err)
	require.Len(t, listed, 4)
	for _, l := range listed {
		trust("[hooks.state.\"" + l.Key + "\"]\ntrusted_hash = \"" + l.Hash + "\"\n")
	}
	out, code = f.run(nil, "orch", "doctor")
	require.Contains(t, out, "Codex CLI: installed once")
	require.Contains(t, out, "Codex trusts it")
	require.Zero(t, code, out)
}
