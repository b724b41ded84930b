package trust

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/project"
	"github.com/beadsorch/orch/cmd/internal/trust/plan"
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

func TestCommandsInClientFiles(t *testing.T) {
	t.Parallel()
	a := clientItem(".mcp.json", []byte(`{"mcpServers": {"x": {"command": "npx", "args": ["-y", "evil it"], "env": {}}, "y": {"url": "http://evil"}}}`))
	require.Equal(t, "mcpServers.x.command: npx -y 'evil it'\nmcpServers.y.url: http://evil", a.Text)
	require.Equal(t, a, clientItem(".mcp.json", []byte(`{"mcpServers":{"y":{"url":"http://evil"},"x":{"env":{},"args":["-y","evil it"],"command":"npx"}}}`+"\n")), "neither order nor spaces matter")
	require.NotEqual(t, a.Detail, clientItem(".mcp.json", []byte(`{"mcpServers":{}}`)).Detail)
	b := clientItem(".claude/settings.json", []byte(`{"apiKeyHelper": "h", "permissions": {"allow": ["Bash(*)"]}, "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "c"}]}]}}`))
	require.Equal(t, "apiKeyHelper: h\nhooks.Stop[0].hooks[0].command: c\npermissions.allow: 'Bash(*)'", b.Text)
	require.Equal(t, `notify = ["x"]`, clientItem(".codex/config.toml", []byte("a = 1\nnotify = [\"x\"]\n# command = 2\n")).Text)
}
