package proc_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/command"
	"github.com/beadsorch/orch/orchestrator/proc"
)

func TestStartToTheEnd(t *testing.T) {
	t.Parallel()
	s, _ := system(t, 0)
	log := logFile(t)
	p, tr := start(t, s, proc.Spec{Log: log}, "say", "hello")
	require.Positive(t, p.PID())
	exit := p.Wait()
	require.Positive(t, exit.Took)
	exit.Took = 0
	require.Equal(t, proc.Exit{Cause: proc.Ended, StdoutBytes: 5}, exit)
	require.Equal(t, "hello", tr.String())
	require.Equal(t, "hello", string(readFile(t, log)))
	require.NoFileExists(t, log+".tail")
	info, err := os.Stat(log)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode())
	require.Equal(t, p.Wait().Code, exit.Code, "Wait may be called again")
	p.Stop(proc.Killed)
}

func TestStartReportsTheCommandsOwnEnd(t *testing.T) {
	t.Parallel()
	s, _ := system(t, 0)
	p, _ := start(t, s, proc.Spec{Log: logFile(t)}, "complain", "3", "no")
	exit := p.Wait()
	require.Equal(t, 3, exit.Code)
	require.Zero(t, exit.StdoutBytes)
	require.Equal(t, proc.Ended, exit.Cause)

	p, _ = start(t, s, proc.Spec{}, "die", "9")
	exit = p.Wait()
	require.Equal(t, 137, exit.Code)
	require.Equal(t, "SIGKILL", exit.Signal)
	require.Equal(t, proc.Ended, exit.Cause)
}

func TestStartSaysWhyItDidNot(t *testing.T) {
	t.Parallel()
	s, _ := system(t, 0)
	_, err := s.Start(t.Context(), proc.Spec{Cmd: command.Cmd{Argv: []string{"no-such-agent"}}})
	require.ErrorIs(t, err, exec.ErrNotFound)
	_, err = s.Start(t.Context(), proc.Spec{Cmd: command.Cmd{Argv: []string{"/no/such/agent"}}})
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = s.Start(t.Context(), proc.Spec{Cmd: command.Cmd{Argv: self(t, "say")}, Log: "/no/such/dir/log"})
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = proc.New(proc.Options{}).Start(t.Context(), proc.Spec{Cmd: command.Cmd{Argv: self(t, "say")}})
	require.ErrorIs(t, err, proc.ErrNoGuard)
}

func TestStopInterruptsFirst(t *testing.T) {
	t.Parallel()
	s, _ := system(t, patience)
	p, tr := start(t, s, proc.Spec{}, "obey")
	tr.ready(t, 1)
	p.Stop(proc.Interrupted)
	p.Stop(proc.Timeout)
	exit := p.Wait()
	require.Equal(t, proc.Interrupted, exit.Cause, "the first cause counts")
	require.Zero(t, exit.Code)
	require.Contains(t, tr.String(), "got interrupt\n")
	require.Equal(t, 1, strings.Count(tr.String(), "got"))
}

func TestStopKillsAfterTheGrace(t *testing.T) {
	t.Parallel()
	s, _ := system(t, 300*time.Millisecond)
	p, tr := start(t, s, proc.Spec{}, "ignore")
	pids := tr.ready(t, 1)
	require.Equal(t, p.PID(), pids[0])
	p.Stop(proc.Interrupted)
	exit := p.Wait()
	require.Equal(t, proc.Interrupted, exit.Cause)
	require.Equal(t, "SIGKILL", exit.Signal)
	require.Equal(t, 137, exit.Code)
	require.Empty(t, exit.Survivors)
	requireDead(t, pids)
}

func TestKilledShortensTheGrace(t *testing.T) {
	t.Parallel()
	s, _ := system(t, time.Hour)
	p, tr := start(t, s, proc.Spec{}, "ignore")
	tr.ready(t, 1)
	p.Stop(proc.Interrupted)
	p.Stop(proc.Killed)
	exit := p.Wait()
	require.Equal(t, proc.Interrupted, exit.Cause)
	require.Equal(t, "SIGKILL", exit.Signal)

	p, tr = start(t, s, proc.Spec{}, "ignore")
	tr.ready(t, 1)
	p.Stop(proc.Killed)
	require.Equal(t, proc.Killed, p.Wait().Cause)
}

func TestContextInterrupts(t *testing.T) {
	t.Parallel()
	s, _ := system(t, patience)
	ctx, cancel := context.WithCancel(t.Context())
	tr := &transcript{}
	p, err := s.Start(ctx, proc.Spec{Cmd: command.Cmd{Argv: self(t, "obey")}, Output: tr.take})
	require.NoError(t, err)
	tr.ready(t, 1)
	cancel()
	require.Equal(t, proc.Interrupted, p.Wait().Cause)
	require.Contains(t, tr.String(), "got interrupt\n")
	_, err = s.Start(ctx, proc.Spec{Cmd: command.Cmd{Argv: self(t, "say")}})
	require.ErrorIs(t, err, context.Canceled)
}

func TestTimeout(t *testing.T) {
	t.Parallel()
	s, _ := system(t, 100*time.Millisecond)
	p, _ := start(t, s, proc.Spec{Timeout: 300 * time.Millisecond}, "spin")
	exit := p.Wait()
	require.Equal(t, proc.Timeout, exit.Cause)
	require.GreaterOrEqual(t, exit.Took, 300*time.Millisecond)
}

func TestIdle(t *testing.T) {
	t.Parallel()
	s, _ := system(t, 100*time.Millisecond)
	p, tr := start(t, s, proc.Spec{Idle: 400 * time.Millisecond}, "hang")
	tr.ready(t, 1)
	require.Equal(t, proc.Idle, p.Wait().Cause)
}

func TestBusyIsNotIdle(t *testing.T) {
	t.Parallel()
	s, _ := system(t, 100*time.Millisecond)
	p, _ := start(t, s, proc.Spec{Idle: 500 * time.Millisecond, Timeout: 2 * time.Second}, "spin")
	require.Equal(t, proc.Timeout, p.Wait().Cause, "processor time is life")
}

func TestMovedIsNotIdle(t *testing.T) {
	t.Parallel()
	s, _ := system(t, 100*time.Millisecond)
	var asked atomic.Int64
	moved := func() bool { return asked.Add(1) <= 3 }
	p, _ := start(t, s, proc.Spec{Idle: 100 * time.Millisecond, Moved: moved}, "hang")
	exit := p.Wait()
	require.Equal(t, proc.Idle, exit.Cause)
	require.EqualValues(t, 4, asked.Load())
	require.GreaterOrEqual(t, exit.Took, 400*time.Millisecond)
}

func TestStopFromACallback(t *testing.T) {
	t.Parallel()
	s, _ := system(t, 100*time.Millisecond)
	var p atomic.Pointer[proc.Process]
	moved := func() bool {
		if p := p.Load(); p != nil {
			p.Stop(proc.Killed)
		}
		return true
	}
	started, _ := start(t, s, proc.Spec{Idle: 100 * time.Millisecond, Moved: moved}, "hang")
	p.Store(started)
	require.Equal(t, proc.Killed, started.Wait().Cause)
}

func TestLogKeepsBothEnds(t *testing.T) {
	t.Parallel()
	s, _ := system(t, 0)
	log := logFile(t)
	p, _ := start(t, s, proc.Spec{Log: log, LogMaxBytes: 1 << 20}, "flood", "5000000")
	exit := p.Wait()
	require.NoError(t, exit.LogErr)
	require.EqualValues(t, 5_000_000, exit.StdoutBytes)
	require.EqualValues(t, 5_000_000-1<<20, exit.DroppedBytes)
	got := readFile(t, log)
	require.Len(t, got, 1<<20+len("\n... 3951424 bytes dropped ...\n"))
	require.Contains(t, string(got), "\n... 3951424 bytes dropped ...\n")
	require.True(t, bytes.HasPrefix(got, []byte{'x', 0xff, 0x00, 'x', 0xff, 0x00}), "bytes stay as they are")
}

func TestManyStartsLeaveNothing(t *testing.T) {
	s, _ := system(t, 0)
	before := openFiles(t)
	for range 30 {
		p, err := s.Start(t.Context(), proc.Spec{Cmd: command.Cmd{Argv: self(t, "say", "x"), Env: quickRace(), Stdin: []byte("y")}})
		require.NoError(t, err)
		require.Zero(t, p.Wait().Code)
	}
	require.LessOrEqual(t, openFiles(t), before+2, "descriptors are left open")
	var status syscall.WaitStatus
	_, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
	require.ErrorIs(t, err, syscall.ECHILD, "zombies are left")
}

func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("SKIPPED: no /proc on this system to count descriptors in")
	}
	return len(entries)
}
