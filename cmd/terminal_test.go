package cmd

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/orchestrator/epicstore"
)

// TestTerminalCloses: the run goes on, and ends before a viewer at another terminal.
func TestTerminalCloses(t *testing.T) {
	t.Parallel()
	f := patientFixture(t)
	run := f.sit(nil, "run", f.epic)
	run.until("start    e-1.1")
	f.waits("e-1.1")
	driver := f.holder()
	require.NotEqual(t, run.Process.Pid, driver.PID, "the viewer does not drive")
	gits, err := filepath.Glob(filepath.Join(f.dir, ".git", "orch", "tmp", "git-*"))
	require.NoError(t, err)
	require.Len(t, gits, 1, "the driver's alone")
	require.NoError(t, run.terminal.Close())
	_, code := run.end()
	require.Equal(t, cli.ExitHangup, code)
	require.NoError(t, syscall.Kill(driver.PID, syscall.SIGHUP)) // as from a system that hangs up on all
	require.Equal(t, driver, f.holder(), "the run goes on")

	again := f.sit(nil, "watch", f.epic)
	again.until("start    e-1.1") // what was before it came
	again.until("q leaves")
	f.letGo("e-1.1")
	again.until("start    e-1.2")
	f.letGo("e-1.2")
	out, code := again.end()
	require.Zero(t, code, out)
	require.Contains(t, out, "2 of 2 tasks closed")
	require.Contains(t, out, "<promise>LOOP_DONE</promise>")
	f.free()
	f.noProcesses()
	out, code = f.run(nil, "orch", "watch", f.epic) // once more, when all is over
	require.Zero(t, code, out)
	require.Contains(t, out, "run 1 ended")
	require.Contains(t, out, "<promise>LOOP_DONE</promise>")
}

// TestViewerIsKilled: the run goes on to its end, and says so to whoever asks.
func TestViewerIsKilled(t *testing.T) {
	t.Parallel()
	f := patientFixture(t)
	run := f.sit(nil, "run", f.epic)
	run.until("start    e-1.1")
	require.NoError(t, run.Process.Kill())
	run.end()
	f.letGo("e-1.1")
	f.letGo("e-1.2")
	f.free()
	out, code := f.run(nil, "orch", "watch", f.epic)
	require.Zero(t, code, out)
	require.Contains(t, out, "<promise>LOOP_DONE</promise>")
}

// TestViewerIsKilledEarly: at whatever moment of its start the viewer is killed, nothing is lost and
// nothing stays.
func TestViewerIsKilledEarly(t *testing.T) {
	t.Parallel()
	f := quickFixture(t, `echo x >"$ORCH_TASK"; git add -A; git commit -q -m x`, "true")
	for n := range 8 {
		f.task(fmt.Sprintf("task %d", n))
		run := f.sit(nil, "run", f.epic)
		time.AfterFunc(time.Duration(n)*40*time.Millisecond, func() { _ = run.Process.Kill() }) // it may have ended
		run.end()
	}
	require.Eventually(t, func() bool { // the drivers that were started may still be at it
		out, code := f.run(nil, "orch", "run", f.epic)
		require.Contains(t, []int{0, cli.ExitHeld}, code, out)
		return code == 0
	}, time.Minute, 10*time.Millisecond)
	require.Eventually(t, func() bool { // and those that came too late go, and leave no log; a viewer that was killed before it had one may
		left, err := filepath.Glob(filepath.Join(f.dir, ".git", "orch", "tmp", "driver-*"))
		return err == nil && len(left) <= 1
	}, time.Minute, 10*time.Millisecond)
	f.free()
	out, code := f.run(nil, "orch", "status", "--exit-status")
	require.Zero(t, code, out)
	landed := strings.Fields(f.must("git", "log", "--first-parent", "--format=%(trailers:key=Orch-Task,valueonly)", "main..epic/"+f.epic))
	require.Len(t, landed, 8, "each landed once")
	f.noProcesses()
}

// TestCtrlC: at the terminal that started it, it drains the run, and the second stops it; an
// other viewer ends with the same words and the same code.
func TestCtrlC(t *testing.T) {
	t.Parallel()
	t.Run("once", func(t *testing.T) {
		t.Parallel()
		f := patientFixture(t)
		run := f.sit(nil, "run", f.epic)
		run.until("ctrl-c stops after what runs now")
		f.waits("e-1.1")
		other := f.sit(nil, "attach", f.epic)
		other.until("q leaves")
		run.types("\x03")
		run.until("drain    ")
		other.until("draining")
		f.letGo("e-1.1")
		for _, s := range []*seat{run, other} {
			out, code := s.end()
			require.Equal(t, 130, code, out)
			require.Contains(t, out, "landed   e-1.1")
			require.NotContains(t, out, "start    e-1.2")
			require.Contains(t, out, "<promise>LOOP_CONTINUE</promise>")
		}
		f.goesOn()
	})
	t.Run("twice", func(t *testing.T) {
		t.Parallel()
		f := patientFixture(t)
		run := f.sit(nil, "run", f.epic)
		run.until("start    e-1.1")
		f.waits("e-1.1")
		run.types("\x03")
		run.until("drain    ")
		run.types("\x03")
		out, code := run.end()
		require.Equal(t, 130, code, out)
		require.Contains(t, out, "agents are interrupted; their work is kept")
		require.Contains(t, out, "<promise>LOOP_CONTINUE</promise>")
		require.Equal(t, "half", f.must("git", "show", "refs/orch/e-1/attic/e-1.1/1:e-1.1"), "its work is kept")
		f.noProcesses()
		f.goesOn()
	})
	t.Run("quit", func(t *testing.T) {
		t.Parallel()
		f := patientFixture(t)
		run := f.sit(nil, "run", f.epic)
		run.until("start    e-1.1")
		f.waits("e-1.1")
		run.types("\x1c")
		out, code := run.end()
		require.Equal(t, 131, code, out)
		require.NotContains(t, out, "goroutine")
		require.Contains(t, out, "agents are interrupted; their work is kept")
		f.noProcesses()
		f.goesOn()
	})
	t.Run("of a viewer that came later", func(t *testing.T) {
		t.Parallel()
		f := patientFixture(t)
		f.must("orch", "run", "-d", f.epic)
		for _, key := range []string{"q", "\x03"} {
			watch := f.sit(nil, "watch", f.epic)
			watch.until("q leaves")
			watch.types(key)
			out, code := watch.end()
			require.Zero(t, code, out)
			require.Contains(t, out, "e-1 goes on; orch watch e-1 shows it again")
		}
		require.NotContains(t, f.must("orch", "events"), "drain_started")
		f.letGo("e-1.1")
		f.letGo("e-1.2")
		f.free()
	})
}

// TestSecondRunAtATerminal: it is refused as ever, and told where to look.
func TestSecondRunAtATerminal(t *testing.T) {
	t.Parallel()
	f := patientFixture(t)
	run := f.sit(nil, "run", f.epic)
	run.until("start    e-1.1")
	driver := f.holder()
	for _, args := range [][]string{{"run", f.epic}, {"run", "-d", f.epic}} {
		out, code := f.sit(nil, args...).end()
		require.Equal(t, cli.ExitHeld, code, out)
		require.Contains(t, out, "[RUN_ACTIVE]")
		require.Contains(t, out, fmt.Sprintf("process %d", driver.PID))
		require.Contains(t, out, "orch watch e-1")
	}
	f.letGo("e-1.1")
	f.letGo("e-1.2")
	out, code := run.end()
	require.Zero(t, code, out)
	require.Contains(t, out, "<promise>LOOP_DONE</promise>")
	left, err := filepath.Glob(filepath.Join(f.dir, ".git", "orch", "tmp", "driver-*"))
	require.NoError(t, err)
	require.Empty(t, left, "logs of drivers that held nothing")
}

// TestErrorsAtATerminal: what keeps a run from its start is said as off a terminal, with the same code.
func TestErrorsAtATerminal(t *testing.T) {
	t.Parallel()
	for name, breaks := range map[string]struct {
		args []string
		do   func(*fixture)
	}{
		"no epic":   {[]string{"run", "e-2"}, func(*fixture) {}},
		"no base":   {[]string{"run", "e-1", "--base", "nowhere"}, func(*fixture) {}},
		"settings":  {[]string{"run", "e-1"}, func(f *fixture) { f.write(filepath.Join(f.dir, "project.yaml"), "workflow: {nonsense: 1}\n") }},
		"untrusted": {[]string{"run", "e-1", "--trust", "0123456789ab"}, func(*fixture) {}},
		"usage":     {[]string{"run", "e-1", "-j", "1000"}, func(*fixture) {}},
		"json":      {[]string{"run", "e-2", "--json"}, func(*fixture) {}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := quickFixture(t, "true", "true")
			breaks.do(f)
			want, exit := f.run(nil, "orch", breaks.args...)
			require.NotZero(t, exit)
			out, code := f.sit(nil, breaks.args...).end()
			require.Equal(t, exit, code, out)
			require.Equal(t, want, strings.ReplaceAll(out, "\r\n", "\n"))
			out, code = f.run(nil, "orch", append(breaks.args, "-d")...)
			require.Equal(t, exit, code, out)
			require.Equal(t, want, out)
		})
	}
}

// TestTrustAtATerminal: the person is asked once, before the driver starts.
func TestTrustAtATerminal(t *testing.T) {
	t.Parallel()
	f := quickFixture(t, "true", "true")
	f.must("orch", "trust", "--revoke")
	run := f.sit(nil, "run", f.epic)
	run.until("Trust these? [y/N] ")
	_, err := os.Lstat(filepath.Join(f.epicDir(), "lock"))
	require.ErrorIs(t, err, os.ErrNotExist, "nothing was started")
	run.types("n\n")
	out, code := run.end()
	require.Equal(t, cli.ExitNotReady, code, out)
	require.Contains(t, out, "[UNTRUSTED]")
	f.must("orch", "trust", "--revoke")
	run = f.sit(nil, "run", f.epic)
	run.until("Trust these? [y/N] ")
	run.types("y\n")
	out, code = run.end()
	require.Zero(t, code, out)
	require.Equal(t, 1, strings.Count(out, "Trust these?"))
	require.Contains(t, out, "<promise>LOOP_DONE</promise>")

	f.must("orch", "trust", "--revoke")
	run = f.sit(nil, "run", f.epic)
	run.until("Trust these? [y/N] ")
	settings := filepath.Join(f.dir, "project.yaml")
	text, err := os.ReadFile(settings)
	require.NoError(t, err)
	f.write(settings, strings.Replace(string(text), `command: "true"`, `command: "touch ran"`, 1)) // while they read
	run.types("y\n")
	out, code = run.end()
	require.Equal(t, cli.ExitNotReady, code, out)
	require.Contains(t, out, "[UNTRUSTED]")
	require.Contains(t, out, "touch ran")
	require.NoFileExists(t, filepath.Join(f.dir, "ran"))
}

// TestDriverKeepsNoTerminal: neither the driver nor its agents have the terminal open.
func TestDriverKeepsNoTerminal(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/fd"); err != nil {
		t.Skip("SKIPPED: there is no /proc here")
	}
	f := quickFixture(t, `ls -l /proc/self/fd >fds; ps -o tty= -p $$ >tty; git add -A; git commit -q -m x`+patientAgent, "true")
	f.task("first")
	inherited, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	require.NoError(t, err)
	defer inherited.Close()
	run := f.sit(nil, "run", f.epic)
	run.until("start    e-1.1")
	f.waits("e-1.1")
	driver := f.holder()
	links, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", driver.PID))
	if err != nil || len(links) == 0 {
		t.Skip("SKIPPED: only root may look at the driver's files")
	}
	for _, link := range links {
		file, err := os.Readlink(link)
		require.True(t, err == nil || errors.Is(err, os.ErrNotExist))
		require.NotContains(t, file, "/dev/pt", link)
		require.NotContains(t, file, "/dev/tty", link)
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", driver.PID))
	require.NoError(t, err)
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')'):]))
	require.Equal(t, strconv.Itoa(driver.PID), fields[4], "a session of its own")
	require.Equal(t, "0", fields[5], "no controlling terminal")
	f.letGo("e-1.1")
	out, code := run.end()
	require.Zero(t, code, out)
	require.NotContains(t, f.must("git", "show", "epic/e-1:fds"), "/dev/pt")
	require.Equal(t, "?", strings.TrimSpace(f.must("git", "show", "epic/e-1:tty")))
}

// TestDrivesItself: in CI, in a client's session and off a terminal the command is the driver.
func TestDrivesItself(t *testing.T) {
	t.Parallel()
	for _, where := range []string{"CI=true", "CLAUDECODE=1", "CODEX_SESSION_ID=s"} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			f := patientFixture(t)
			run := f.sit([]string{where}, "run", f.epic)
			run.until("start    e-1.1")
			f.waits("e-1.1")
			require.Equal(t, run.Process.Pid, f.holder().PID)
			f.letGo("e-1.1")
			run.until("start    e-1.2")
			f.letGo("e-1.2")
			out, code := run.end()
			require.Zero(t, code, out)
		})
	}
}

// TestDetached: the command returns when the epic is held, and the run goes on.
func TestDetached(t *testing.T) {
	t.Parallel()
	f := patientFixture(t)
	out := f.must("orch", "run", "-d", f.epic)
	require.Contains(t, out, "orch watch e-1")
	require.Contains(t, out, "orch stop e-1")
	driver := f.holder()
	require.Contains(t, out, fmt.Sprintf("process %d", driver.PID))
	all := f.start("events", "-f")
	events := f.start("watch", f.epic, "--json")
	events.until(`"attempt_started"`)
	f.waits("e-1.1")
	require.Contains(t, f.must("orch", "status"), fmt.Sprintf("process %d", driver.PID))
	f.must("orch", "stop", f.epic)
	f.letGo("e-1.1")
	out, code := events.end()
	require.Equal(t, 130, code, out)
	for line := range strings.Lines(out) {
		var doc struct {
			Seq   int64
			Event struct{ Kind string }
		}
		require.NoError(t, json.Unmarshal([]byte(line), &doc), line)
		require.Positive(t, doc.Seq)
	}
	require.Contains(t, out, `"run_ended"`)
	all.until(`"run_ended"`)
	all.signal(syscall.SIGTERM)
	followed, _ := all.end()
	require.Equal(t, out, followed, "the same events, each once")
	f.free()
	require.FileExists(t, filepath.Join(f.epicDir(), "driver.log"))
	require.NoFileExists(t, filepath.Join(f.epicDir(), "activity.json"))
	out, code = f.run(nil, "orch", "watch", f.epic)
	require.Equal(t, 130, code, out)
	require.Contains(t, out, "<promise>LOOP_CONTINUE</promise>")
	old := filepath.Join(f.dir, ".git", "orch", "tmp", "driver-OLD.log") // of a viewer that was killed
	f.write(old, "")
	require.NoError(t, os.Chtimes(old, time.Time{}, time.Now().Add(-48*time.Hour)))
	f.write(filepath.Join(filepath.Dir(f.dir), "free"), "")
	f.must("orch", "run", "-d", f.epic)
	require.NoFileExists(t, old)
	f.free()
	f.goesOn()
}

// TestPlantedOutcome: a file that says that all is done is not believed against the journal.
func TestPlantedOutcome(t *testing.T) {
	t.Parallel()
	f := quickFixture(t, "true", "true") // an agent that does nothing
	f.settings("", "  run: {attempts: 1}\n")
	f.task("first")
	want, exit := f.run(nil, "orch", "run", f.epic)
	require.Equal(t, cli.ExitNeedsYou, exit, want)
	out, code := f.run(nil, "orch", "watch")
	require.Equal(t, exit, code, out)
	f.write(filepath.Join(f.epicDir(), "outcome.json"), `{"run":1,"exit":0,"text":"<promise>LOOP_DONE</promise>\n"}`)
	out, code = f.run(nil, "orch", "watch")
	require.Equal(t, exit, code, out)
	require.NotContains(t, out, "LOOP_DONE")
	require.Contains(t, out, "run 1 of e-1 has ended: LOOP_BLOCKED")
}

// TestJSONAtATerminal: the document is what it is off a terminal, and what goes on beside it.
func TestJSONAtATerminal(t *testing.T) {
	t.Parallel()
	f := quickFixture(t, `echo x >"$ORCH_TASK"; git add -A; git commit -q -m x`, "true")
	f.task("first")
	out, code := f.sit(nil, "run", f.epic, "--json").end()
	require.Zero(t, code, out)
	require.Contains(t, out, "start    e-1.1")
	require.NotContains(t, out, "<promise>")
	var doc struct {
		Schema string
		Run    struct{ Promise string }
	}
	require.NoError(t, json.Unmarshal([]byte(out[strings.Index(out, "{\r\n"):]), &doc), out)
	require.Equal(t, "orch.status/1", doc.Schema)
	require.Equal(t, "LOOP_DONE", doc.Run.Promise)
	f.task("second")
	var started struct {
		Schema, Epic string
		Run, PID     int
		Log          string
	}
	require.NoError(t, json.Unmarshal([]byte(f.must("orch", "run", "-d", f.epic, "--json")), &started))
	require.Equal(t, "orch.started/1", started.Schema)
	require.Equal(t, 2, started.Run)
	require.Positive(t, started.PID)
	require.FileExists(t, started.Log)
	f.free()
}

// TestNobodyReads: output that is stuck delays what is shown, and not the run.
func TestNobodyReads(t *testing.T) {
	t.Parallel()
	done := func(f *fixture) func() bool {
		return func() bool {
			_, code := f.run(nil, "orch", "status", "--exit-status")
			_, held, err := epicstore.HeldBy(f.epicDir())
			return code == 0 && !held && err == nil
		}
	}
	t.Run("a full pipe", func(t *testing.T) {
		t.Parallel()
		f := quickFixture(t, `echo x >"$ORCH_TASK"; git add -A; git commit -q -m x`, "true")
		f.task("first")
		f.task("second", ".1")
		read, write, err := os.Pipe()
		require.NoError(t, err)
		require.NoError(t, write.SetWriteDeadline(time.Now().Add(100*time.Millisecond)))
		_, err = write.Write(make([]byte, 4<<20))
		require.ErrorIs(t, err, os.ErrDeadlineExceeded, "the pipe is full")
		c := exec.CommandContext(t.Context(), filepath.Join(f.bin, "orch"), "run", f.epic)
		c.Dir, c.Env, c.Stdout = f.dir, f.env, write
		require.NoError(t, c.Start())
		require.NoError(t, write.Close())
		require.Eventually(t, done(f), time.Minute, 50*time.Millisecond)
		var out bytes.Buffer
		_, err = out.ReadFrom(read)
		require.NoError(t, err)
		require.NoError(t, c.Wait())
		require.Contains(t, out.String(), "ev=attempt_started task=e-1.1")
		require.Contains(t, out.String(), "<promise>LOOP_DONE</promise>")
	})
	t.Run("a pipe without a reader", func(t *testing.T) {
		t.Parallel()
		f := quickFixture(t, `echo x >"$ORCH_TASK"; git add -A; git commit -q -m x`, "true")
		f.task("first")
		read, write, err := os.Pipe()
		require.NoError(t, err)
		require.NoError(t, read.Close())
		c := exec.CommandContext(t.Context(), filepath.Join(f.bin, "orch"), "run", f.epic)
		c.Dir, c.Env, c.Stdout = f.dir, f.env, write
		require.NoError(t, c.Start())
		require.NoError(t, write.Close())
		require.Error(t, c.Wait(), "nobody has read what was asked for")
		require.True(t, done(f)())
	})
	t.Run("ctrl-s", func(t *testing.T) {
		t.Parallel()
		f := patientFixture(t)
		run := f.sit(nil, "run", f.epic)
		run.until("start    e-1.1")
		run.types("\x13")
		f.letGo("e-1.1")
		f.letGo("e-1.2")
		require.Eventually(t, done(f), time.Minute, 50*time.Millisecond)
		run.types("\x11")
		out, code := run.end()
		require.Zero(t, code, out)
		require.Contains(t, out, "<promise>LOOP_DONE</promise>")
	})
}

// TestTmux: the run outlives the server of its window.
func TestTmux(t *testing.T) {
	t.Parallel()
	tmux, err := exec.LookPath("tmux")
	if err != nil {
		t.Skip("SKIPPED: there is no tmux here")
	}
	f := patientFixture(t)
	socket := filepath.Join(t.TempDir(), "tmux")
	f.must(tmux, "-S", socket, "-f", "/dev/null", "new-session", "-d", "-x", "120", "-y", "40", filepath.Join(f.bin, "orch")+" run "+f.epic)
	t.Cleanup(func() { _ = exec.Command(tmux, "-S", socket, "kill-server").Run() }) // of this test alone; it may be gone
	f.waits("e-1.1")
	driver := f.holder()
	require.Eventually(t, func() bool {
		screen, _ := f.run(nil, tmux, "-S", socket, "capture-pane", "-p")
		return strings.Contains(screen, "ctrl-c stops after what runs now")
	}, time.Minute, 50*time.Millisecond)
	f.must(tmux, "-S", socket, "kill-server")
	f.letGo("e-1.1")
	require.Equal(t, driver, f.holder())
	f.letGo("e-1.2")
	f.free()
	require.Contains(t, f.must("orch", "watch"), "<promise>LOOP_DONE</promise>")
}
