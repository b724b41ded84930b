package cmd

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/cmd/internal/cli"
)

// patientAgent writes its file, then waits until it is let go on, or is told to
// end.
const patientAgent = `
echo half >"$ORCH_TASK"
mkfifo "$ORCH_ATTEMPT_DIR/go" 2>/dev/null
if [ -e "$(dirname "$0")/free" ]; then :; else read -r _ <"$ORCH_ATTEMPT_DIR/go"; fi
echo done >"$ORCH_TASK"
git add -A && git commit -q -m "work on $ORCH_TASK"
`

// going is an orch run in the background, with its output so far.
type going struct {
	*exec.Cmd
	t     *testing.T
	lines *bufio.Scanner
	text  bytes.Buffer
}

func (f *fixture) start(args ...string) *going {
	f.t.Helper()
	c := exec.CommandContext(f.t.Context(), filepath.Join(f.bin, "orch"), args...)
	c.Dir, c.Env = f.dir, f.env
	out, err := c.StdoutPipe()
	require.NoError(f.t, err)
	require.NoError(f.t, c.Start())
	return &going{Cmd: c, t: f.t, lines: bufio.NewScanner(out)}
}

// until reads the output up to the line with the words in it.
func (g *going) until(words string) {
	g.t.Helper()
	for g.lines.Scan() {
		g.text.Write(append(g.lines.Bytes(), '\n'))
		if strings.Contains(g.lines.Text(), words) {
			return
		}
	}
	g.t.Fatalf("never said %q:\n%s", words, g.text.String())
}

// end waits for the end, and gives all of the output and the exit code.
func (g *going) end() (string, int) {
	g.t.Helper()
	for g.lines.Scan() {
		g.text.Write(append(g.lines.Bytes(), '\n'))
	}
	err := g.Wait()
	if g.ProcessState == nil {
		g.t.Fatal(err)
	}
	return g.text.String(), g.ProcessState.ExitCode()
}

func (g *going) signal(s syscall.Signal) { require.NoError(g.t, g.Process.Signal(s)) }

// waits is when the agent of a task's first attempt waits to be let go on; it
// gives what to write to.
func (f *fixture) waits(task string) string {
	f.t.Helper()
	fifo := filepath.Join(f.epicDir(), "attempts", task, "1", "go")
	f.must("sh", "-c", "until [ -p "+fifo+" ]; do sleep 0.01; done")
	return fifo
}

// letGo tells it to.
func (f *fixture) letGo(task string) {
	f.t.Helper()
	f.must("sh", "-c", "echo go >"+f.waits(task))
}

func patientFixture(t *testing.T) *fixture {
	f := newFixture(t, patientAgent, "true")
	f.task("first")
	f.task("second", ".1")
	return f
}

// TestFirstInterruptDrains: what runs may finish and lands, nothing more starts,
// and the next run does the rest.
func TestFirstInterruptDrains(t *testing.T) {
	t.Parallel()
	f := patientFixture(t)
	run := f.start("run", f.epic)
	run.until("start: first")
	run.signal(syscall.SIGINT)
	run.until("drain")
	f.letGo("e-1.1")
	out, code := run.end()
	require.Equal(t, 130, code, out)
	require.Contains(t, out, "ev=task_landed task=e-1.1")
	require.NotContains(t, out, "start: second")
	require.Contains(t, out, "<promise>LOOP_CONTINUE</promise>")
	f.goesOn()
}

// TestSecondInterruptStopsAgents: they are interrupted at once, what they wrote is
// kept, and the next run does it all.
func TestSecondInterruptStopsAgents(t *testing.T) {
	t.Parallel()
	f := patientFixture(t)
	run := f.start("run", f.epic)
	run.until("start: first")
	f.waits("e-1.1")
	run.signal(syscall.SIGTERM)
	run.until("drain")
	run.signal(syscall.SIGTERM)
	out, code := run.end()
	require.Equal(t, 143, code, out)
	require.Contains(t, out, "<promise>LOOP_CONTINUE</promise>")
	require.Equal(t, "half", f.must("git", "show", "refs/orch/e-1/attic/e-1.1/1:e-1.1"), "its work is kept")
	require.Contains(t, f.must("orch", "tasks", "show", "e-1.1"), "open", "nobody has it")
	f.noProcesses()
	f.goesOn()
}

// TestQuitStopsAgents: one SIGQUIT stops a run at once, as two interrupts do, and says nothing of orch's own insides.
func TestQuitStopsAgents(t *testing.T) {
	t.Parallel()
	f := patientFixture(t)
	run := f.start("run", f.epic)
	run.until("start: first")
	f.waits("e-1.1")
	run.signal(syscall.SIGQUIT)
	out, code := run.end()
	require.Equal(t, 131, code, out)
	require.NotContains(t, out, "goroutine")
	require.Contains(t, out, "<promise>LOOP_CONTINUE</promise>")
	require.Equal(t, "half", f.must("git", "show", "refs/orch/e-1/attic/e-1.1/1:e-1.1"), "its work is kept")
	f.noProcesses()
	f.goesOn()
}

// goesOn: the next run does what is left, as if nothing had happened.
func (f *fixture) goesOn() {
	f.t.Helper()
	f.write(filepath.Join(filepath.Dir(f.dir), "free"), "")
	out, code := f.run(nil, "orch", "run", f.epic)
	require.Zero(f.t, code, out)
	require.Equal(f.t, "done", f.must("git", "show", "epic/e-1:e-1.1"))
	require.Equal(f.t, "done", f.must("git", "show", "epic/e-1:e-1.2"))
}

// TestSecondRunIsToldWhoHoldsIt: two runs of one epic at a time are one too many.
func TestSecondRunIsToldWhoHoldsIt(t *testing.T) {
	t.Parallel()
	f := patientFixture(t)
	run := f.start("run", f.epic)
	run.until("start: first")
	out, code := f.run(nil, "orch", "run", f.epic)
	require.Equal(t, cli.ExitHeld, code, out)
	require.Regexp(t, `process \d+`, out)
	f.letGo("e-1.1")
	run.until("start: second")
	f.letGo("e-1.2")
	out, code = run.end()
	require.Zero(t, code, out)
}

// TestPause: while a run is paused what runs goes on to its end and lands, and nothing more
// starts; then it goes on.
func TestPause(t *testing.T) {
	t.Parallel()
	f := patientFixture(t)
	_, code := f.run(nil, "orch", "pause")
	require.Equal(t, cli.ExitNotFound, code, "there is no run")
	run := f.start("run", f.epic)
	run.until("start: first")
	require.Contains(t, f.must("orch", "pause"), "is paused")
	run.until("paused: asked by orch pause")
	require.Contains(t, f.must("orch", "status"), "paused; orch continue goes on")
	f.letGo("e-1.1")
	run.until("ev=task_landed task=e-1.1")
	require.NotContains(t, run.text.String(), "start: second")
	f.must("orch", "continue")
	run.until("go on: asked by orch continue")
	run.until("start: second")
	f.letGo("e-1.2")
	out, code := run.end()
	require.Zero(t, code, out)
}

// TestStoppedForAWhile: orch is stopped while an agent goes on to its end. When it goes on too, all is as
// if nothing had been.
func TestStoppedForAWhile(t *testing.T) {
	t.Parallel()
	f := newFixture(t, patientAgent, "true")
	f.task("first")
	run := f.start("run", f.epic)
	run.until("start: first")
	f.waits("e-1.1")
	run.signal(syscall.SIGSTOP)
	f.must("sh", "-c", fmt.Sprintf("until grep -q 'State:.*T' /proc/%d/status; do sleep 0.01; done", run.Process.Pid))
	f.letGo("e-1.1")
	f.must("sh", "-c", "until git -C "+f.dir+".worktrees/e-1/agent-e-1.1 cat-file -e HEAD:e-1.1 2>/dev/null; do sleep 0.01; done")
	run.signal(syscall.SIGCONT)
	out, code := run.end()
	require.Zero(t, code, out)
	require.Contains(t, out, "ev=task_landed task=e-1.1")
}

// signallingGit is a git that interrupts the orch which has started it, the n-th time, and goes on
// once that has let go of its repository.
const signallingGit = `#!/bin/sh
here=$(dirname "$0")
echo x >>"$here/calls"
if [ "$(wc -l <"$here/calls")" -eq "$(cat "$here/at")" ]; then
	kill -INT $PPID
	until [ -n "$GIT_DIR" ] && [ ! -e "$GIT_DIR" ]; do
		kill -0 $PPID || exit 1
		[ -e "$(dirname "$here")/driven" ] && break
		sleep 0.01
	done
fi
exec %s "$@"
`

// TestInterruptedAtOnce: however early somebody interrupts orch run, nothing is told but that.
func TestInterruptedAtOnce(t *testing.T) {
	t.Parallel()
	git, err := exec.LookPath("git")
	require.NoError(t, err)
	for _, place := range []string{"terminal", "pipe"} {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, `touch "$(dirname "$0")/driven"; echo x >"$ORCH_TASK"; git add -A; git commit -q -m x`, "true")
			f.task("first")
			here := filepath.Join(filepath.Dir(f.dir), "git")
			f.write(filepath.Join(here, "git"), fmt.Sprintf(signallingGit, git))
			require.NoError(t, os.Chmod(filepath.Join(here, "git"), 0o700))
			env := []string{"PATH=" + here + ":" + f.bin + ":" + os.Getenv("PATH")}
			for n := 1; n <= 12; n++ {
				f.write(filepath.Join(here, "calls"), "")
				f.write(filepath.Join(here, "at"), fmt.Sprint(n))
				var out string
				var code int
				if place == "terminal" {
					out, code = f.sit(env, "run", f.epic).end()
				} else {
					c := exec.CommandContext(t.Context(), filepath.Join(f.bin, "orch"), "run", f.epic)
					c.Dir, c.Env = f.dir, append(append([]string{}, f.env...), env...)
					said, _ := c.CombinedOutput()
					out, code = string(said), (&seat{Cmd: c}).code()
				}
				require.NotContains(t, out, "UNEXPECTED", "git %d", n)
				require.NotContains(t, out, "error:", "git %d", n)
				require.Contains(t, []int{0, 130}, code, "git %d: %s", n, out)
			}
		})
	}
}
