package cell_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/beadsorch/orch/orchestrator/command"
	"github.com/beadsorch/orch/orchestrator/engine"
	"github.com/beadsorch/orch/orchestrator/git"
	"github.com/beadsorch/orch/orchestrator/proc"
	"github.com/beadsorch/orch/orchestrator/sandbox"
	"github.com/beadsorch/orch/orchestrator/sandbox/cell"
)

// errand is what the test binary does as a process that is killed: one turn of an agent.
type errand struct {
	Box    sandbox.Box
	Place  sandbox.Place
	Stay   engine.Stay
	Env    []string
	Marker string
	Script string
}

const errandWord = "one-turn"

// doErrand does it, and says on stdout how far it is.
func doErrand(args []string) (code int, ok bool) {
	if len(args) != 3 || args[1] != errandWord {
		return 0, false
	}
	var e errand
	err := json.Unmarshal([]byte(args[2]), &e)
	if err == nil {
		err = e.do(context.Background())
	}
	if err != nil {
		fmt.Println(err)
		return 1, true
	}
	return 0, true
}

func (e errand) do(ctx context.Context) error {
	p := proc.New(proc.Options{Guard: []string{e.Box.Self, "guard"}, Children: proc.NewChildren(), Marker: e.Marker})
	repo, err := git.Open(ctx, p.Run, e.Stay.Dir, e.Env)
	if err != nil {
		return err
	}
	cells := cell.New(cell.Options{Repo: repo, Box: e.Box, Place: e.Place, Unbounded: p.RunGuarded, Getenv: func(string) string { return "" }})
	c, err := cells.Enter(ctx, e.Stay)
	if err != nil {
		return err
	}
	fmt.Println("entered")
	cmd, err := c.Wrap(command.Cmd{Dir: e.Stay.Dir, Argv: []string{"sh", "-c", e.Script}, Env: e.Env})
	if err != nil {
		return err
	}
	if _, err := p.RunGuarded(ctx, cmd); err != nil {
		fmt.Println("ended:", err)
	}
	fmt.Println("ended")
	if _, err := c.Leave(ctx); err != nil {
		return err
	}
	return repo.Close()
}

// going is an errand under way.
type going struct {
	*exec.Cmd
	lines *bufio.Scanner
	line  *os.File // whose other side only the agent and what it starts have
}

// send starts an errand whose agent commits and starts a process that leaves its session, with a cleared environment where orch is not to look
// for it by that.
func (w *world) send(marker string) *going {
	w.T.Helper()
	path := filepath.Join(w.stay.Dir, "line")
	_ = os.Remove(path)
	require.NoError(w.T, unix.Mkfifo(path, 0o600))
	held, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	require.NoError(w.T, err)
	clear := "env -i"
	if !w.cells.Box.Level.Mounts() {
		clear = ""
	}
	script := `exec 9>line; echo x >>file; git commit -qam killed; ` + clear + ` setsid sleep 1000 & echo ready >&9; wait`
	told, err := json.Marshal(errand{Box: w.cells.Box, Place: w.cells.Place, Stay: w.stay, Env: w.Env, Marker: marker, Script: script})
	require.NoError(w.T, err)
	g := &going{Cmd: exec.CommandContext(w.T.Context(), w.cells.Box.Self, errandWord, string(told)), line: held}
	out, err := g.StdoutPipe()
	require.NoError(w.T, err)
	require.NoError(w.T, g.Start())
	g.lines = bufio.NewScanner(out)
	w.T.Cleanup(func() { _, _ = held.Close(), g.Process.Kill() })
	return g
}

// ready waits until the agent works, and gives the guard.
func (w *world) ready(g *going) (guard int) {
	w.T.Helper()
	said := make([]byte, 64)
	require.True(w.T, g.lines.Scan(), "the errand ended")
	require.Equal(w.T, "entered", g.lines.Text())
	require.Eventually(w.T, func() bool { n, _ := g.line.Read(said); return n > 0 }, time.Minute, time.Millisecond)
	return w.childOf(g.Process.Pid)
}

// childOf is the only child of a process.
func (w *world) childOf(pid int) int {
	w.T.Helper()
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	require.NoError(w.T, err)
	var found []string
	for _, list := range lists {
		text, _ := os.ReadFile(list) // a thread that has ended
		found = append(found, strings.Fields(string(text))...)
	}
	require.Len(w.T, found, 1)
	child, err := strconv.Atoi(found[0])
	require.NoError(w.T, err)
	return child
}

// nothing waits until what the agent started is gone, does what the next run does, and looks that nothing is left.
func (w *world) nothing(g *going, marker, mounts string) {
	w.T.Helper()
	_, err := proc.Reap(w.T.Context(), marker, 10*time.Second, time.Second)
	require.NoError(w.T, err)
	require.Eventually(w.T, func() bool {
		n, err := g.line.Read(make([]byte, 64))
		return n == 0 && err == io.EOF
	}, time.Minute, time.Millisecond, "a process of the agent is left")
	_, err = w.cells.Recover(w.T.Context(), w.stay.Folder)
	require.NoError(w.T, err)
	_, left, err := w.cells.Repo.Sweep(time.Now())
	require.NoError(w.T, err)
	require.Empty(w.T, left)
	for _, pattern := range []string{filepath.Join(w.stay.Folder, "cell*"), filepath.Join(w.Dir, ".git/orch/tmp/*-*")} {
		found, err := filepath.Glob(pattern)
		require.NoError(w.T, err)
		found = slices.DeleteFunc(found, func(path string) bool { return strings.Contains(path, fmt.Sprintf("-%d-", os.Getpid())) }) // of this process
		require.Empty(w.T, found)
	}
	require.Equal(w.T, mounts, mountsHere(w.T))
	require.Equal(w.T, "gitdir: "+filepath.Join(w.Dir, ".git/worktrees", filepath.Base(w.stay.Dir))+"\n", w.content(filepath.Join(w.stay.Dir, ".git")))
	w.Git("-C", w.stay.Dir, "fsck", "--connectivity-only")
}

// mountsHere are the mounts below folders of tests, as this process sees them: those of others come and go.
func mountsHere(t testing.TB) string {
	t.Helper()
	all, err := os.ReadFile("/proc/self/mountinfo")
	require.NoError(t, err)
	var mine []string
	for line := range strings.Lines(string(all)) {
		if strings.Contains(line, t.Name()) || strings.Contains(line, " overlay ") && strings.Contains(line, ".layer-") {
			mine = append(mine, line)
		}
	}
	return strings.Join(mine, "")
}

// TestKilled: whoever of the processes of a turn is killed, and at whichever step, nothing of it is left after the next run, and what was
// committed before is there where the turn had begun.
func TestKilled(t *testing.T) {
	t.Parallel()
	eachLevel(t, func(t *testing.T, w *world) {
		marker := "ORCH_TEST_KILLED=" + filepath.Base(w.Dir) + strconv.Itoa(os.Getpid()) + string(w.cells.Box.Level)
		cache := filepath.Join(w.home, ".cache", "x")
		require.NoError(t, os.MkdirAll(cache, 0o700))
		w.cells.Place.Caches = append(w.cells.Place.Caches, cache)
		mounts := mountsHere(t)
		at := func(name string) string { return filepath.Join(w.stay.Folder, "cell", name) }
		there := func(name string) func() bool {
			return func() bool { _, err := os.Lstat(at(name)); return err == nil }
		}
		for step, until := range map[string]func() bool{"the folder": there(""), "the shadow": there("shadow"), "its packed references": there("shadow/packed-refs"), "its record": there("shadow.json"), "a layer": func() bool {
			found, _ := filepath.Glob(at("tmp/.layer-*"))
			return len(found) > 0 || !w.cells.Box.Level.Mounts()
		}} {
			g := w.send(marker)
			require.Eventually(t, until, time.Minute, 20*time.Microsecond, step)
			require.NoError(t, g.Process.Kill())
			require.Error(t, g.Wait())
			w.nothing(g, marker, mounts)
		}
		for _, whom := range []string{"orch", "guard", "command", "first process", "guard and orch"} {
			if whom == "first process" && !w.cells.Box.Level.Mounts() {
				continue // there is none
			}
			before := w.Git("rev-list", "--count", branch)
			g := w.send(marker)
			guard := w.ready(g)
			victims := []int{guard}
			switch whom {
			case "orch":
				victims = []int{g.Process.Pid}
			case "guard and orch":
				victims = append(victims, g.Process.Pid)
			case "command":
				victims = []int{w.childOf(guard)}
			case "first process":
				victims = []int{w.childOf(w.childOf(guard))}
			}
			for _, pid := range victims {
				require.NoError(t, unix.Kill(pid, unix.SIGKILL), whom)
			}
			for g.lines.Scan() { // until orch ends
			}
			_ = g.Wait()
			w.nothing(g, marker, mounts)
			require.NotEqual(t, before, w.Git("rev-list", "--count", branch), "what was committed when %s was killed", whom)
		}
		for _, line := range []string{"entered", "ended"} {
			g := w.send(marker)
			if line == "ended" {
				guard := w.ready(g)
				require.NoError(t, unix.Kill(w.childOf(guard), unix.SIGKILL))
			}
			for g.lines.Scan() && g.lines.Text() != line {
			} // which is said, or the end
			_ = g.Process.Kill()
			_ = g.Wait()
			w.nothing(g, marker, mounts)
		}
	})
}
