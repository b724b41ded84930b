package cmd

import (
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/beadsorch/orch/cmd/internal/document"
	"github.com/beadsorch/orch/orchestrator/sandbox"
	"github.com/beadsorch/orch/worktree/worktreetest"
)

// needsSandbox skips a test where no level can be had for certain, and says so; under ORCH_TEST_STRICT it fails.
func needsSandbox(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("bwrap"); err != nil && sandbox.ABI() == 0 {
		skipSandbox(t, "this machine has no level of the sandbox")
	}
}

// skipSandbox skips a test that needs a level that cannot be had, and says so; under ORCH_TEST_STRICT it fails.
func skipSandbox(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("ORCH_TEST_STRICT") != "" {
		t.Fatalf("not tried, and nothing may be skipped: %s", why)
	}
	t.Skipf("SKIPPED: not tried: %s", why)
}

// TestDoctorSandbox: each promise of each level that this machine has is kept, and of the others is said why not. It needs no
// repository.
func TestDoctorSandbox(t *testing.T) {
	t.Parallel()
	needsSandbox(t)
	dir, programs := t.TempDir(), bin(t)
	doctor := func(path string) (document.Doctor, int) {
		c := exec.CommandContext(t.Context(), filepath.Join(programs, "orch"), "doctor", "--sandbox", "--json")
		c.Dir, c.Env = dir, []string{"PATH=" + programs + string(os.PathListSeparator) + path, "HOME=" + dir, "TMPDIR=" + os.TempDir()}
		out, err := c.Output()
		if c.ProcessState == nil {
			require.NoError(t, err)
		}
		var doc document.Doctor
		require.NoError(t, json.Unmarshal(out, &doc), string(out))
		return doc, c.ProcessState.ExitCode()
	}
	said := func(doc document.Doctor) (text string) {
		for _, f := range doc.Findings {
			text += f.What + ": " + f.Says + " (" + f.Fix + ")\n"
		}
		return text
	}
	doc, code := doctor(os.Getenv("PATH"))
	require.Zero(t, code, said(doc))
	require.Zero(t, doc.Problems)
	for _, p := range sandbox.Promises() {
		require.True(t, slices.ContainsFunc(doc.Findings, func(f document.Finding) bool { return f.What == string(p.Threat) && f.OK }), p.Threat)
	}

	doc, code = doctor("/no/such/folder")
	require.Contains(t, said(doc), "bubblewrap cannot be had: the program bwrap is not installed (install bubblewrap")
	require.NotContains(t, said(doc), "bubblewrap: stopped")
	if sandbox.ABI() > 0 {
		require.Zero(t, code, said(doc))
	}
}

// TestSandboxTry: a command works on what is committed, with git, at each level; afterwards everything is as it was.
func TestSandboxTry(t *testing.T) {
	t.Parallel()
	needsSandbox(t)
	levels := []string{"auto"}
	for _, l := range sandbox.Levels() {
		levels = append(levels, string(l))
	}
	for _, level := range levels {
		t.Run(level, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, "", "true")
			home := filepath.Dir(f.dir)
			f.write(filepath.Join(home, "secret"), "a secret")
			f.write(filepath.Join(f.dir, "uncommitted"), "x")
			before := worktreetest.Snapshot(t, f.dir)
			script := `set -e; git log -1 --format=%s; test ! -e uncommitted; echo new >new; git add new; git commit -qm two; git log -1 --format=%s; git config a.b c; git tag t
				if cat "$1" 2>/dev/null; then exit 1; fi; echo x >"$HOME/x"; echo x >"$2" 2>/dev/null || true; echo said >&2; exit 7`
			out, code := f.run(nil, "orch", "sandbox", "try", "--level", level, "--", "sh", "-c", script, "sh", filepath.Join(home, "secret"), filepath.Join(f.dir, "uncommitted"))
			if code == 4 && level != "auto" && strings.Contains(out, "NO_SANDBOX") {
				skipSandbox(t, out)
			}
			require.Equal(t, 7, code, out)
			require.Contains(t, out, "base\ntwo\n")
			require.Contains(t, out, "said\n")
			require.NotContains(t, out, "a secret")
			require.Equal(t, before, worktreetest.Snapshot(t, f.dir))
			require.NotContains(t, f.must("git", "worktree", "list"), "trees", "no worktree is left")
			require.NoFileExists(t, filepath.Join(home, "x"))

			out, code = f.run(nil, "orch", "sandbox", "try", "--level", level, "--show")
			require.Zero(t, code, out)
			require.Contains(t, out, "hidden    ")
			out, code = f.run(nil, "orch", "sandbox", "try", "--read", home, "--", "true")
			require.Equal(t, 2, code, out)
			require.Contains(t, out, "is to be hidden")
		})
	}
}

// TestSandboxTryKilled: what a killed one has left ends with it, and the next one removes the rest.
func TestSandboxTryKilled(t *testing.T) {
	t.Parallel()
	needsSandbox(t)
	f := newFixture(t, "", "true")
	shared, temp := t.TempDir(), t.TempDir()
	f.env = append(f.env, "TMPDIR="+temp)
	if out, code := f.run(nil, "orch", "sandbox", "try", "--", "true"); code != 0 {
		skipSandbox(t, out)
	}
	line := filepath.Join(shared, "line")
	require.NoError(t, unix.Mkfifo(line, 0o600))
	c := exec.CommandContext(t.Context(), filepath.Join(f.bin, "orch"), "sandbox", "try", "--write", shared, "--", "sh", "-c", `exec 9>"$1"; echo ready >&9; sleep 1000`, "sh", line)
	c.Dir, c.Env = f.dir, f.env
	require.NoError(t, c.Start())
	held, err := os.OpenFile(line, os.O_RDONLY, 0) // waits for the command
	require.NoError(t, err)
	defer held.Close()
	said := make([]byte, len("ready\n"))
	_, err = io.ReadFull(held, said)
	require.NoError(t, err)
	require.NoError(t, c.Process.Kill())
	require.Error(t, c.Wait())
	said, err = io.ReadAll(held) // ends with all that holds the other side
	require.NoError(t, err)
	require.Empty(t, said)
	require.Contains(t, f.must("git", "worktree", "list"), "trees")

	out, code := f.run(nil, "orch", "sandbox", "try", "--", "true")
	require.Zero(t, code, out)
	require.NotContains(t, f.must("git", "worktree", "list"), "trees")
	left, err := filepath.Glob(filepath.Join(temp, "orch-try-*"))
	require.NoError(t, err)
	require.Empty(t, left)
}
