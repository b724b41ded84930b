package cmd

import (
	"encoding/json"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/beadsorch/orch/cmd/internal/document"
	"github.com/beadsorch/orch/orchestrator/sandbox"
	"github.com/beadsorch/orch/orchestrator/sandbox/sandboxtest"
	"github.com/beadsorch/orch/worktree/worktreetest"
)

// levelsHere are the levels that this machine has; a test of another skips, and says so.
func levelsHere(t *testing.T) []sandbox.Level {
	t.Helper()
	dir, programs := t.TempDir(), bin(t)
	c := exec.CommandContext(t.Context(), filepath.Join(programs, "orch"), "doctor", "--sandbox", "--json")
	c.Dir, c.Env = dir, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + os.TempDir()}
	out, err := c.Output()
	require.NotNil(t, c.ProcessState, err)
	var doc document.Doctor
	require.NoError(t, json.Unmarshal(out, &doc), string(out))
	var here []sandbox.Level
	for _, l := range sandbox.Levels() {
		if slices.ContainsFunc(doc.Findings, func(f document.Finding) bool { return strings.HasPrefix(f.Says, string(l)+" stands") }) {
			here = append(here, l)
			continue
		}
		t.Run(string(l), func(t *testing.T) { sandboxtest.Skip(t, string(l), "orch doctor --sandbox says why") })
	}
	if len(here) == 0 {
		t.Skip("SKIPPED: this machine has no level of the sandbox")
	}
	return here
}

// TestDoctorSandbox: each promise of each level that this machine has is kept, and of the others is said why not. It needs no
// repository.
func TestDoctorSandbox(t *testing.T) {
	t.Parallel()
	here := levelsHere(t)
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
	if len(here) > 1 || here[0] != sandbox.Bubblewrap {
		require.Zero(t, code, said(doc))
	}
}

// TestSandboxTry: a command works on what is committed, with git, at each level; afterwards everything is as it was.
func TestSandboxTry(t *testing.T) {
	t.Parallel()
	levels := []string{"auto"}
	for _, l := range fewLevels(levelsHere(t)) {
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
	levelsHere(t)
	f := newFixture(t, "", "true")
	shared, temp := t.TempDir(), t.TempDir()
	f.env = append(f.env, "TMPDIR="+temp)
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

// TestSandboxTrySettings: what is tried has what the settings open, and the gate's bounds with --as gate, in which there is no client's folder.
func TestSandboxTrySettings(t *testing.T) {
	t.Parallel()
	levelsHere(t)
	f := newFixture(t, "", "true")
	f.settings("command, command: [sh,", "claude, command: [sh,")
	home := filepath.Dir(f.dir)
	f.write(filepath.Join(home, "models/one"), "a model\n")
	f.write(filepath.Join(home, "out/old"), "x")
	f.write(filepath.Join(home, ".claude/login"), "a login\n")
	f.env = append(f.env, "HOME="+home, "ORCH_SANDBOX_READ=~/models", "ORCH_SANDBOX_WRITE=~/out", "ORCH_SANDBOX_ENV=OF_MINE", "OF_MINE=seen")
	out, code := f.run(nil, "orch", "sandbox", "try", "--", "sh", "-c", `cat "$HOME/models/one" "$HOME/.claude/login" && echo "$OF_MINE" >"$HOME/out/new"`)
	require.Zero(t, code, out)
	require.Equal(t, "a model\na login\n", out)
	said, err := os.ReadFile(filepath.Join(home, "out/new"))
	require.NoError(t, err)
	require.Equal(t, "seen\n", string(said))
	out, code = f.run(nil, "orch", "sandbox", "try", "--as", "gate", "--", "sh", "-c", `cat "$HOME/models/one"; cat "$HOME/.claude/login" 2>/dev/null`)
	require.Equal(t, 1, code, out)
	require.Equal(t, "a model\n", out)
	out, code = f.run(nil, "orch", "sandbox", "try", "--as", "somebody", "--", "true")
	require.Equal(t, 2, code, out)
}

// TestSandboxTrySetup: what is tried finds what workflow.setup has fetched, in the worktree and in caches, as an agent and as the gate; where the setup does
// not run, or fails, that is said.
func TestSandboxTrySetup(t *testing.T) {
	t.Parallel()
	for _, l := range fewLevels(levelsHere(t)) {
		t.Run(string(l), func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, "", "true")
			f.env = append(f.env, "ORCH_SANDBOX_LEVEL="+string(l))
			require.NoError(t, os.MkdirAll(filepath.Join(filepath.Dir(f.dir), ".npm"), 0o700))
			setUp(f, `echo fetched >ready; mkdir -p "$HOME/.npm"; echo cached >"$HOME/.npm/package"`)
			for _, as := range []string{"agent", "gate"} {
				out, code := f.run(nil, "orch", "sandbox", "try", "--as", as, "--", "sh", "-c", `cat ready "$HOME/.npm/package"`)
				require.Zero(t, code, out)
				require.Equal(t, "fetched\ncached\n", out, as)
			}
			out, code := f.run(nil, "orch", "sandbox", "try", "--no-setup", "--", "test", "!", "-e", "ready")
			require.Zero(t, code, out)
			require.Empty(t, out)
			f.must("orch", "trust", "--revoke")
			out, code = f.run(nil, "orch", "sandbox", "try", "--", "test", "!", "-e", "ready")
			require.Zero(t, code, out)
			require.Contains(t, out, "workflow.setup did not run")
			require.Contains(t, out, "orch trust")
			f.write(filepath.Join(f.dir, "project.yaml"), strings.Replace(f.read("project.yaml"), "echo fetched >ready;", "echo error: no such package; exit 3;", 1))
			f.trust()
			out, code = f.run(nil, "orch", "sandbox", "try", "--", "true")
			require.Equal(t, 3, code, out)
			require.Contains(t, out, "SETUP_FAILED")
			require.Contains(t, out, "no such package\n")
		})
	}
}

// TestSandboxTryAsksNobody: what is tried is no attempt, and neither orch nor bd says there that orch has not run.
func TestSandboxTryAsksNobody(t *testing.T) {
	t.Parallel()
	for _, l := range fewLevels(levelsHere(t)) {
		t.Run(string(l), func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, "", "true")
			f.env = append(f.env, "ORCH_SANDBOX_LEVEL="+string(l))
			for _, asked := range [][]string{{"orch", "status"}, {"orch", "status", "e-1"}, {"bd", "list"}} {
				out, code := f.run(nil, "orch", append([]string{"sandbox", "try", "--"}, asked...)...)
				require.Equal(t, 5, code, out)
				require.Contains(t, out, "no run can be asked from here", asked)
			}
			out, code := f.run(nil, "orch", "status")
			require.Equal(t, 5, code, out)
			require.Contains(t, out, "orch has not run here yet")
		})
	}
}

// TestSandboxNotThere: a path that is not there is refused on a command line; of the settings it is told, and ends nothing.
func TestSandboxNotThere(t *testing.T) {
	t.Parallel()
	levelsHere(t)
	f := newFixture(t, "", "true")
	home := filepath.Dir(f.dir)
	for _, flag := range []string{"--read", "--write"} {
		out, code := f.run(nil, "orch", "sandbox", "try", flag, filepath.Join(home, "nothing"), "--", "true")
		require.Equal(t, 2, code, out)
		require.Contains(t, out, flag+" "+filepath.Join(home, "nothing")+": nothing is there")
	}
	require.NotContains(t, f.must("orch", "sandbox", "explain"), "nothing is there")
	f.env = append(f.env, "HOME="+home, "ORCH_SANDBOX_LEVEL=auto", "ORCH_SANDBOX_READ=~/nothing", "ORCH_SANDBOX_SHARE=/no/such/cache")
	for _, asked := range [][]string{{"sandbox", "explain"}, {"doctor"}, {"doctor", "--sandbox"}} {
		out, code := f.run(nil, "orch", asked...)
		require.Zero(t, code, out)
		require.Contains(t, out, "sandbox.read names ~/nothing, and nothing is there", asked)
		require.Contains(t, out, "sandbox.share names /no/such/cache, and nothing is there", asked)
	}
	out, code := f.run(nil, "orch", "sandbox", "try", "--", "true")
	require.Zero(t, code, out)
}

// TestSandboxOpened: docker's socket, and namespaces within, are there where a person says so, and not else.
func TestSandboxOpened(t *testing.T) {
	t.Parallel()
	levelsHere(t)
	f := newFixture(t, "", "true")
	top := filepath.Join("/tmp", filepath.Base(t.TempDir())+strconv.Itoa(os.Getpid())) // short, as a socket's path has to be
	require.NoError(t, os.Mkdir(top, 0o700))
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(top)) })
	socket := filepath.Join(top, "docker.sock")
	listener, err := net.Listen("unix", socket)
	require.NoError(t, err)
	defer listener.Close()
	f.env = append(f.env, "DOCKER_HOST=unix://"+socket)
	see := func() (out string) {
		t.Helper()
		out, _ = f.run(nil, "orch", "sandbox", "try", "--", "sh", "-c", `test -S "$1" && echo docker; unshare -U true 2>/dev/null && echo nested; exit 0`, "sh", socket)
		return out
	}
	require.Empty(t, see())
	f.env = append(f.env, "ORCH_SANDBOX_DOCKER=true", "ORCH_SANDBOX_USERNS=true")
	require.Equal(t, "docker\nnested\n", see())
}

// TestSandboxExplain: it says what is bound, how and why, of what would be and of what was, with what was refused there.
func TestSandboxExplain(t *testing.T) {
	t.Parallel()
	bounded(t, func(t *testing.T) *fixture {
		f := newFixture(t, `cd "$ORCH_WORKTREE"; echo x >work; git add -A; git commit -qm work; git branch mine; echo evil >`+f0+`/x; exit 0`, "true")
		return f
	}, func(t *testing.T, f *fixture, l sandbox.Level) {
		f.task("one")
		explain := func(args ...string) (doc document.Sandbox) {
			t.Helper()
			require.NoError(t, json.Unmarshal([]byte(f.must("orch", append([]string{"sandbox", "explain", "--json"}, args...)...)), &doc))
			return doc
		}
		home := filepath.Dir(f.dir)
		f.env = append(f.env, "HOME="+home, "ORCH_SANDBOX_READ=~/models")
		f.write(filepath.Join(home, "models/one"), "x")
		would := explain()
		require.Len(t, would.Cells, 2)
		for _, c := range would.Cells {
			require.Equal(t, string(l), c.Level)
			require.Contains(t, c.Paths, document.SandboxPath{At: filepath.Join(home, "models"), How: "read-only", Why: "sandbox.read"})
			require.Equal(t, l.Mounts(), slices.ContainsFunc(c.Paths, func(p document.SandboxPath) bool { return p.At == home && p.How == "private" }))
		}
		text := f.must("orch", "sandbox", "explain")
		require.Contains(t, text, "an agent: "+string(l)+"\n")
		require.Contains(t, text, "the gate: "+string(l)+"\n")
		require.Equal(t, text, f.must("orch", "sandbox", "explain"), "nothing is left that changes it")

		out, code := f.run(nil, "orch", "run", f.epic)
		require.Zero(t, code, out)
		was := explain("e-1.1").Cells
		require.Len(t, was, 1)
		require.Equal(t, string(l), was[0].Level)
		require.Equal(t, []string{"refs/heads/mine"}, was[0].Dropped)
		require.Equal(t, []document.SandboxMet{{Path: f0 + "/x", Says: map[bool]string{true: "Read-only file system", false: "Permission denied"}[l.Mounts()],
			Setting: map[bool]string{true: "sandbox.write", false: "sandbox.read or sandbox.write"}[l.Mounts()]}}, was[0].Met)
		text = f.must("orch", "sandbox", "explain", "e-1.1")
		require.Contains(t, text, "attempt 1 at e-1.1: "+string(l)+"\n")
		require.Contains(t, text, "dropped    refs/heads/mine")
		out, code = f.run(nil, "orch", "sandbox", "explain", "e-1.1", "--attempt", "2")
		require.Equal(t, 5, code, out)
	})
}

// f0 is a folder of the system that exists everywhere, and that a sandbox lets nobody write.
const f0 = "/usr"

// TestDoctorGate: what of the gate fails in the sandbox alone is a problem, with the setting that may help; what fails outside too is none.
func TestDoctorGate(t *testing.T) {
	t.Parallel()
	levelsHere(t)
	f := newFixture(t, "", "true")
	home := filepath.Dir(f.dir)
	f.write(filepath.Join(home, "needed"), "x")
	f.settings(`command: "true"`, `command: "cat `+filepath.Join(home, "needed")+`"`)
	out, code := f.run(nil, "orch", "doctor", "--sandbox")
	require.Equal(t, 4, code, out)
	require.Contains(t, out, "in the sandbox alone these fail: ")
	require.Contains(t, out, "sandbox.read")
	out, code = f.run([]string{"ORCH_SANDBOX_READ=" + filepath.Join(home, "needed")}, "orch", "doctor", "--sandbox")
	require.Zero(t, code, out)
	require.Contains(t, out, "green in the sandbox")
	require.NoError(t, os.Remove(filepath.Join(home, "needed")))
	out, code = f.run(nil, "orch", "doctor", "--sandbox")
	require.Zero(t, code, out)
	require.Contains(t, out, "in the sandbox and outside")
	f.must("orch", "trust", "--revoke")
	require.Contains(t, f.must("orch", "doctor", "--sandbox"), "nobody has allowed")
}
