package cmd

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// naiveHook is the hook that people copy: it asks bd twice, in line.
const naiveHook = `bd ready --json >ready.json; bd list --status in_progress --json >/dev/null; [ "$(cat ready.json)" = "[]" ] || exit 1`

// pair times two commands, one after the other, each through a shell as clients do, and
// reports how much longer the first takes.
func pair(b *testing.B, dir string, env []string, metric, command, than string) {
	b.Helper()
	took := func(text string) time.Duration {
		c := exec.CommandContext(b.Context(), "sh", "-c", text)
		c.Dir, c.Env = dir, env
		began := time.Now()
		_ = c.Run() // the naive hook ends with 1
		return time.Since(began)
	}
	var a, z time.Duration
	for b.Loop() {
		a += took(command)
		z += took(than)
	}
	b.ReportMetric(a.Seconds()/z.Seconds(), metric)
}

// BenchmarkStopHook prints what a stop costs: of an unbound session, beside git
// --version; of a bound one, beside one reading of the tracker; and of the naive script.
func BenchmarkStopHook(b *testing.B) {
	if _, err := exec.LookPath("bd"); err != nil {
		b.Skip("SKIPPED: no bd on PATH")
	}
	top := b.TempDir()
	dir, orch := filepath.Join(top, "r"), filepath.Join(top, "bin", "orch")
	env := []string{"PATH=" + filepath.Dir(orch) + ":" + os.Getenv("PATH"), "HOME=" + top, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=T", "GIT_AUTHOR_EMAIL=t@localhost",
		"GIT_COMMITTER_NAME=T", "GIT_COMMITTER_EMAIL=t@localhost", "BD_NON_INTERACTIVE=1", "BD_DISABLE_METRICS=1", "DOLT_METRICS_DISABLED=1"}
	require.NoError(b, errors.Join(os.MkdirAll(dir, 0o700), os.MkdirAll(filepath.Dir(orch), 0o700)))
	do := func(in string, args ...string) string {
		c := exec.CommandContext(b.Context(), args[0], args[1:]...)
		c.Dir, c.Env = in, env
		out, err := c.Output()
		require.NoError(b, err, "%v", args)
		return strings.TrimSpace(string(out))
	}
	here, err := os.Getwd()
	require.NoError(b, err)
	build := exec.CommandContext(b.Context(), "go", "build", "-o", filepath.Dir(orch)+"/", "./orch", "./orch-stop-hook")
	build.Dir = here
	require.NoError(b, build.Run())
	do(dir, "git", "init", "-q")
	do(dir, "bd", "init", "--prefix", "t", "--stealth", "--skip-hooks", "--skip-agents", "--quiet")
	epic := do(dir, "bd", "create", "epic", "--type", "epic", "--silent")
	for range 20 {
		do(dir, "bd", "create", "task", "--parent", epic, "--silent")
	}
	do(dir, orch, "session", "bind", epic, "--session", "bound")
	for _, id := range []string{"bound", "other"} {
		require.NoError(b, os.WriteFile(filepath.Join(dir, id+".json"), []byte(`{"session_id":"`+id+`","hook_event_name":"Stop"}`), 0o600))
	}
	const read = "bd list --all --limit 0 --json >/dev/null"
	b.Run("unbound", func(b *testing.B) {
		pair(b, dir, env, "x-git-version", "orch-stop-hook <other.json", "git --version >/dev/null")
	})
	b.Run("unbound, by orch itself", func(b *testing.B) {
		pair(b, dir, env, "x-git-version", "orch stop-hook <other.json", "git --version >/dev/null")
	})
	b.Run("bound", func(b *testing.B) {
		pair(b, dir, env, "x-one-read", "orch-stop-hook --explain <bound.json >/dev/null", read)
	})
	b.Run("naive", func(b *testing.B) { pair(b, dir, env, "x-one-read", naiveHook, read) })
}
