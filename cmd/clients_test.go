package cmd

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/harness/modeltest"
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
		"GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=T", "GIT_AUTHOR_EMAIL=t@localhost", "GIT_COMMITTER_NAME=T", "GIT_COMMITTER_EMAIL=t@localhost"}, model.Env(t, name, t.TempDir())...)
	f.write(filepath.Join(f.dir, "project.yaml"), `workflow:
  tracker: {kind: file}
  gate: [{name: gate, type: command, command: "! grep -Hn wrong *.txt"}]
  agent: {harness: `+name+`, `+agent+`}
`)
	return f, model
}

// client is the path of the fixture's client.
func (f *fixture) client(name string) string {
	return filepath.Join(strings.Split(strings.TrimPrefix(f.env[0], "PATH="), ":")[1], name)
}

// TestClientsLand: each client lands an epic of two tasks. Its model writes something wrong
// at first: the gate's words have to reach the same conversation.
func TestClientsLand(t *testing.T) {
	t.Parallel()
	for name, agent := range map[string]string{
		"codex":    "permission_mode: danger-full-access",
		"gemini":   "permission_mode: yolo, model: scripted",
		"copilot":  "permission_mode: allow-all-tools",
		"opencode": "permission_mode: auto",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, model := clientFixture(t, name, agent, func(r modeltest.Request) modeltest.Reply {
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
			})
			f.task("task one")
			f.task("task two")
			out, code := f.run(nil, "orch", "run", f.epic)
			require.Zero(t, code, "%s\n%s", out, f.must("orch", "logs", "e-1.1"))
			require.Equal(t, "right", f.must("git", "show", "epic/e-1:one.txt"))
			require.Equal(t, "right", f.must("git", "show", "epic/e-1:two.txt"))
			require.Contains(t, out, "gate red")
			resumed := false
			for _, r := range model.Requests() {
				resumed = resumed || r.Turn() > 0 && strings.Contains(r.All(), "task two") && strings.Contains(r.Last(), "two.txt:1:wrong")
			}
			require.True(t, resumed, "the gate's output reached the same conversation")
			if name != "copilot" { // which does not say
				require.Regexp(t, `"tokens":[1-9]`, f.must("orch", "events", f.epic))
			}
			require.NoDirExists(t, f.dir+".worktrees")
			require.Empty(t, f.must("git", "status", "--porcelain"))
		})
	}
}
