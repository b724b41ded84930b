package cmd

import (
	"bufio"
	"bytes"
	"fmt"
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
