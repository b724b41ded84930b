package main_test

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestAnswersAsOrchDoes: the two programs give the same answer to the same question, and
// this one gives it without orch to an unbound session.
func TestAnswersAsOrchDoes(t *testing.T) {
	t.Parallel()
	bin, dir := t.TempDir(), t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", bin+"/", ".", "../orch")
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))
	env := []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_GLOBAL=/dev/null"}
	run := func(env []string, in io.Reader, args ...string) (stdout, stderr string) {
		c := exec.CommandContext(t.Context(), args[0], args[1:]...)
		var so, se bytes.Buffer
		c.Dir, c.Env, c.Stdin, c.Stdout, c.Stderr = dir, env, in, &so, &se
		require.NoError(t, c.Run(), "%v: %s", args, &se) // whatever happens: exit 0
		return so.String(), se.String()
	}
	quick := filepath.Join(bin, "orch-stop-hook")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "project.yaml"), []byte("workflow: {tracker: {kind: file}}\n"), 0o600))
	for _, args := range [][]string{{"git", "init", "-q"}, {"orch", "tasks", "create", "E", "--type", "epic", "--id", "e"}, {"orch", "tasks", "create", "one", "--parent", "e"},
		{"orch", "session", "bind", "e", "--session", "mine"}} {
		if args[0] == "orch" {
			args[0] = filepath.Join(bin, "orch")
		}
		run(env, nil, args...)
	}
	stdout, _ := run(env, strings.NewReader(`{"session_id":"mine"}`), quick)
	require.True(t, strings.HasPrefix(stdout, `{"decision":"block","reason":"You are running /run-tasks for epic e.`), stdout)
	stdout, _ = run(env, strings.NewReader(`{"session_id":"mine","cwd":"`+dir+`"} and more`), quick, "--client", "gemini")
	require.Contains(t, stdout, `"clearContext":true`)
	stdout, _ = run(env, strings.NewReader(`{"session_id":"mine"}`), quick, "--explain")
	require.Contains(t, stdout, "session mine is sent back to work")
	for _, in := range []string{"", "rubbish", "null"} {
		stdout, stderr := run(env, strings.NewReader(in), quick)
		require.Empty(t, stdout)
		require.Contains(t, stderr, "the session may end")
	}

	// Without orch beside it or on PATH: for an unbound session it needs none.
	require.NoError(t, os.Remove(filepath.Join(bin, "orch")))
	alone := []string{"PATH=/nowhere", "HOME=" + dir}
	stdout, stderr := run(alone, strings.NewReader(`{"session_id":"other"}`), quick)
	require.Empty(t, stdout+stderr)
	stdout, stderr = run(alone, strings.NewReader(`{"session_id":"mine"}`), quick)
	require.Empty(t, stdout)
	require.Contains(t, stderr, "orch is not on PATH; the session may end")

	// A client that says nothing is not waited for.
	r, w, err := os.Pipe()
	require.NoError(t, err)
	began := time.Now()
	_, stderr = run(alone, r, quick)
	require.Contains(t, stderr, "the client says nothing")
	require.Less(t, time.Since(began), time.Minute)
	require.NoError(t, w.Close())

	// A criteria loop applies to every session in its project.
	require.NoError(t, os.MkdirAll(filepath.Join(dir, ".loop"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, ".loop", "state.json"), []byte(`{}`), 0o600))
	_, stderr = run(alone, strings.NewReader(`{"session_id":"other"}`), quick)
	require.Contains(t, stderr, "orch is not on PATH")
}
