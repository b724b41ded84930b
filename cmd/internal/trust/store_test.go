package trust

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/project"
	"github.com/beadsorch/orch/cmd/internal/trust/plan"
	"github.com/beadsorch/orch/orchestrator/redact"
)

func ask(t *testing.T, home, id, command string) *Question {
	t.Helper()
	app := &cli.Invocation{Process: cli.Process{Env: []string{"HOME=" + home, "USER=somebody"}, Now: time.Now}}
	q, err := newQuestion(app, id, filepath.Join(home, "repo"))
	require.NoError(t, err)
	q.Plan = plan.New(plan.Item{Part: plan.Settings, Kind: "gate command", Name: "x", Text: command})
	return q
}

func TestAnswersAreKept(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	require.Equal(t, Untrusted, ask(t, home, "one", "a").State())
	require.NoError(t, ask(t, home, "one", "a").Answer(true))
	require.Equal(t, Trusted, ask(t, home, "one", "a").State())
	require.Equal(t, Untrusted, ask(t, home, "one", "b").State(), "another plan")
	require.Equal(t, Untrusted, ask(t, home, "two", "a").State(), "another repository")
	require.NoError(t, ask(t, home, "one", "b").Answer(false))
	require.Equal(t, Denied, ask(t, home, "one", "b").State(), "a no is remembered")
	require.NoError(t, ask(t, home, "one", "a").Answer(false))
	require.Equal(t, Denied, ask(t, home, "one", "a").State(), "a no takes a yes back")
	require.NoError(t, ask(t, home, "one", "b").Answer(true))
	require.Equal(t, Trusted, ask(t, home, "one", "b").State())
	n, err := ask(t, home, "one", "b").Revoke()
	require.NoError(t, err)
	require.Equal(t, 2, n)
	require.Equal(t, Untrusted, ask(t, home, "one", "b").State())
}

func TestAnswersArePrivate(t *testing.T) {
	home := t.TempDir()
	q := ask(t, home, "one", "a")
	require.NoError(t, q.Answer(true))
	for dir := q.store.dir(); dir != filepath.Join(home, ".local", "state"); dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o700), info.Mode().Perm(), dir)
	}
	file := filepath.Join(q.store.dir(), fileOf(q.Plan.Digest()))
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())

	text, err := os.ReadFile(file)
	require.NoError(t, err)
	for what, plant := range map[string]func() error{
		"one that others may write": func() error { return os.Chmod(file, 0o666) },
		"a link": func() error {
			away := filepath.Join(home, "away")
			return firstError(os.WriteFile(away, text, 0o600), os.Remove(file), os.Symlink(away, file))
		},
		"a plan that the digest is not of": func() error {
			return os.WriteFile(file, []byte(string(text[:len(text)-4])+" }]}"), 0o600)
		},
		"another's name": func() error { return os.Rename(file, filepath.Join(filepath.Dir(file), "00.json")) },
		"no answer":      func() error { return os.WriteFile(file, []byte("{"), 0o600) },
	} {
		require.NoError(t, os.RemoveAll(q.store.dir()))
		require.NoError(t, q.Answer(true))
		require.NoError(t, plant(), what)
		if what == "a plan that the digest is not of" {
			continue // whether it parses or not, see below
		}
		require.Equal(t, Untrusted, ask(t, home, "one", "a").State(), what)
	}

	// A folder on the way that is a link, or that others may write, is an error: nothing there counts.
	require.NoError(t, os.RemoveAll(q.store.dir()))
	away := t.TempDir()
	require.NoError(t, os.Symlink(away, q.store.dir()))
	_, err = newQuestion(q.app, "one", home+"/repo")
	require.Error(t, err)
	require.Error(t, q.store.keep(record{Digest: q.Plan.Digest()}))
	left, err := os.ReadDir(away)
	require.NoError(t, err)
	require.Empty(t, left)
	require.NoError(t, os.Remove(q.store.dir()))
	require.NoError(t, os.Chmod(filepath.Dir(q.store.dir()), 0o777))
	_, err = newQuestion(q.app, "one", home+"/repo")
	require.Error(t, err)
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// A place that a repository could write does not count, whatever leads there.
func TestThePlaceIsOutside(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	repo := filepath.Join(home, "repo")
	require.NoError(t, os.MkdirAll(filepath.Join(repo, "state"), 0o700))
	require.NoError(t, os.Symlink(filepath.Join(repo, "state"), filepath.Join(home, "link")))
	for _, value := range []string{filepath.Join(repo, "state"), repo, filepath.Join(repo, "not", "there"), filepath.Join(home, "link"), filepath.Join(home, "link", "x"), "relative", home + "/x/../repo"} {
		p := cli.Process{Env: []string{"HOME=" + home, "XDG_STATE_HOME=" + value}}
		require.Equal(t, filepath.Join(home, ".local/state"), project.PersonDir(p, "XDG_STATE_HOME", ".local/state", repo), value)
	}
	elsewhere := filepath.Join(home, "elsewhere")
	require.Equal(t, elsewhere, project.PersonDir(cli.Process{Env: []string{"XDG_STATE_HOME=" + elsewhere}}, "XDG_STATE_HOME", ".local/state", repo))
	require.Empty(t, project.PersonDir(cli.Process{Env: []string{"HOME=" + repo}}, "XDG_STATE_HOME", ".local/state", repo))
}

// What is kept has no secrets, and is found again in an environment with them or without.
func TestSecretsAreNotKept(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	question := func(command string, env ...string) *Question {
		q := ask(t, home, "one", command)
		q.app.Redact = redact.New(redact.Options{Env: env})
		return q
	}
	q := question("push hunter2-canary", "DEPLOY_TOKEN=hunter2-canary")
	require.NoError(t, q.Answer(true))
	text, err := os.ReadFile(filepath.Join(q.store.dir(), fileOf(q.Plan.Digest())))
	require.NoError(t, err)
	require.NotContains(t, string(text), "canary")
	require.Contains(t, string(text), "[redacted DEPLOY_TOKEN]")
	require.Equal(t, Trusted, question("push hunter2-canary").State())
	require.Equal(t, Untrusted, question("push hunter3-canary").State())
	require.NoError(t, question("push hunter2-canary").Answer(false))
	require.Equal(t, Denied, question("push hunter2-canary").State())
}

func TestCommandsInClientFiles(t *testing.T) {
	t.Parallel()
	a := clientItem(".mcp.json", []byte(`{"mcpServers": {"x": {"command": "npx", "args": ["-y", "evil it"], "env": {}}, "y": {"url": "http://evil"}}}`))
	require.Equal(t, "mcpServers.x.command: npx -y 'evil it'\nmcpServers.y.url: http://evil", a.Text)
	require.Equal(t, a, clientItem(".mcp.json", []byte(`{"mcpServers":{"y":{"url":"http://evil"},"x":{"env":{},"args":["-y","evil it"],"command":"npx"}}}`+"\n")), "neither order nor spaces matter")
	require.NotEqual(t, a.Detail, clientItem(".mcp.json", []byte(`{"mcpServers":{}}`)).Detail)
	b := clientItem(".claude/settings.json", []byte(`{"apiKeyHelper": "h", "permissions": {"allow": ["Bash(*)"]}, "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "c"}]}]}}`))
	require.Equal(t, "apiKeyHelper: h\nhooks.Stop[0].hooks[0].command: c\nhooks.Stop[0].hooks[0].type: command\npermissions.allow: 'Bash(*)'", b.Text)
}

// Whatever may settle what a client runs is shown, and not only as a hash.
func TestSettingsOfClientsInFull(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, file, text, want string }{
		{"the environment", ".claude/settings.json", `{"env": {"LD_PRELOAD": "/evil.so", "API_TOKEN": "canary-1"}}`, "env.API_TOKEN: [redacted]\nenv.LD_PRELOAD: /evil.so"},
		{"keys of a client's own", ".gemini/settings.json", `{"tools": {"discoveryCommand": "evil 1"}, "toolCallCommand": "evil 2", "tools.sandbox": true}`,
			"toolCallCommand: evil 2\ntools.discoveryCommand: evil 1\n\"tools.sandbox\": true"},
		{"a line of status", ".claude/settings.local.json", `{"statusLine": {"type": "command", "command": "evil"}, "enabledPlugins": {"p@x": true}}`,
			"enabledPlugins.p@x: true\nstatusLine.command: evil\nstatusLine.type: command"},
		{"a list that is a command", "opencode.json", `{"formatter": {"f": {"command": ["evil", "a b"], "environment": {"PATH": "/evil"}}}, "lsp": {"l": {"command": ["evil"], "extensions": [".x"]}}}`,
			"formatter.f.command: evil 'a b'\nformatter.f.environment.PATH: /evil\nlsp.l.command: evil\nlsp.l.extensions: .x"},
		{"arguments that are no texts", ".mcp.json", `{"command": "a", "args": ["b", 1]}`, "args[0]: b\nargs[1]: 1\ncommand: a"},
		{"a document with comments", "opencode.jsonc", "{\n // why\n \"plugin\": [\"evil\"],\n}\n", "{\n // why\n \"plugin\": [\"evil\"],\n}"},
		{"JSON that is none", ".claude/settings.json", "{\"env\": {\"PATH\": \"/evil\"},}", "{\"env\": {\"PATH\": \"/evil\"},}"},
		{"a command over lines", ".codex/config.toml", "notify = [\n  \"evil\",\n]\n[shell_environment_policy.set]\nPATH = \"/evil\"\nAPI_TOKEN = \"canary-1\"\n",
			"notify = [\n  \"evil\",\n]\n[shell_environment_policy.set]\nPATH = \"/evil\"\nAPI_TOKEN = [redacted]"},
		{"a file of variables", ".gemini/.env", "LD_PRELOAD=/evil.so\nexport X_PASSWORD='canary-1'\n", "LD_PRELOAD=/evil.so\nexport X_PASSWORD= [redacted]"},
		{"a program", ".opencode/plugins/p.ts", "evil()", "a file of 6 bytes that the client may run; read it before you allow it"},
		{"no more than a text", ".mcp.json", `"x"`, "x"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			i := clientItem(tt.file, []byte(tt.text))
			require.Equal(t, tt.want, i.Text)
			require.NotEqual(t, i, clientItem(tt.file, []byte(tt.text+" x")), "the hash settles what is not shown")
		})
	}
}

// FuzzLeaves: no value of a document is left out.
func FuzzLeaves(f *testing.F) {
	f.Add("k", "v")
	f.Add("a.b\n", "x\ny")
	f.Fuzz(func(t *testing.T, key, value string) {
		for _, doc := range []any{map[string]any{key: value}, map[string]any{"command": value, "args": []any{"x"}}, []any{map[string]any{key: map[string]any{key: value}}}} {
			if (key == "" || !redact.LooksSecret(key)) && !strings.Contains(strings.Join(leaves(doc, ""), "\n"), value) {
				t.Fatalf("%q is not in %q", value, leaves(doc, ""))
			}
		}
	})
}
