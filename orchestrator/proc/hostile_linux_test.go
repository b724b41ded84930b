package proc_test

import (
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/command"
	"github.com/beadsorch/orch/orchestrator/proc"
)

// The agents here do what agents in the field have done, on purpose.

func TestRunDoesNotWaitForADaemonWithItsPipes(t *testing.T) {
	t.Parallel()
	s, _ := system(t, 0)
	got, err := s.Run(t.Context(), command.Cmd{Argv: self(t, "leave")})
	require.NoError(t, err, "an orphan is no business of Run")
	pids := readyPIDs(string(got.Stdout))
	require.NotEmpty(t, pids)
	require.NoError(t, syscall.Kill(pids[0], syscall.SIGKILL), "the daemon should have been left alone")
}

func TestRunGuardedEndsDaemons(t *testing.T) {
	t.Parallel()
	s, _ := system(t, 0)
	got, err := s.RunGuarded(t.Context(), command.Cmd{Argv: self(t, "daemons", "3")})
	require.NoError(t, err)
	pids := readyPIDs(string(got.Stdout))
	require.GreaterOrEqual(t, len(pids), 3)
	requireDead(t, pids)
}

func TestDaemonsEndSoonAfterTheirAgent(t *testing.T) {
	t.Parallel()
	s, _ := system(t, 0)
	p, tr := start(t, s, proc.Spec{}, "daemons", "3")
	exit := p.Wait()
	require.Equal(t, proc.Ended, exit.Cause)
	require.Zero(t, exit.Code)
	require.Empty(t, exit.Survivors)
	require.Less(t, exit.Took, patience)
	pids := readyPIDs(tr.String())
	require.GreaterOrEqual(t, len(pids), 3)
	requireDead(t, pids)
}

func TestDaemonsEndWithAStop(t *testing.T) {
	t.Parallel()
	s, _ := system(t, 200*time.Millisecond)
	p, tr := start(t, s, proc.Spec{}, "daemons-and-stay", "3")
	pids := tr.ready(t, 3)
	p.Stop(proc.Interrupted)
	require.Empty(t, p.Wait().Survivors)
	requireDead(t, append(pids, p.PID()))
}

func TestAThousandOrphansAreReaped(t *testing.T) {
	t.Parallel()
	count := 1000
	if testing.Short() || os.Getenv("ORCH_TEST_STRICT") == "" {
		count = 200
	}
	s, _ := system(t, 0)
	p, _ := start(t, s, proc.Spec{}, "children", strconv.Itoa(count))
	exit := p.Wait()
	require.Equal(t, proc.Ended, exit.Cause)
	require.Zero(t, exit.Code)
}

func TestAgentKillsItsGuard(t *testing.T) {
	t.Parallel()
	s, _ := system(t, 0)
	p, tr := start(t, s, proc.Spec{}, "kill-guard")
	exit := p.Wait()
	require.Equal(t, proc.Ended, exit.Cause)
	require.Equal(t, "SIGKILL", exit.Signal)
	require.Empty(t, exit.Survivors)
	pids := readyPIDs(tr.String())
	require.Len(t, pids, 2)
	requireDead(t, pids)
}

func TestAgentStopsItsGuard(t *testing.T) {
	t.Parallel()
	s, _ := system(t, 100*time.Millisecond)
	p, tr := start(t, s, proc.Spec{}, "stop-guard")
	pids := tr.ready(t, 1)
	p.Stop(proc.Interrupted)
	exit := p.Wait()
	require.Equal(t, proc.Interrupted, exit.Cause)
	require.Empty(t, exit.Survivors)
	requireDead(t, pids)
}

func TestGuardIsToldToEnd(t *testing.T) {
	t.Parallel()
	s, marker := system(t, time.Hour)
	p, tr := start(t, s, proc.Spec{}, "daemons-and-stay", "1")
	pids := tr.ready(t, 1)
	found, err := proc.Survivors(marker)
	require.NoError(t, err)
	for _, pid := range found {
		if pid != p.PID() {
			require.NoError(t, syscall.Kill(pid, syscall.SIGTERM))
		}
	}
	exit := p.Wait()
	require.Equal(t, "SIGKILL", exit.Signal)
	require.Empty(t, exit.Survivors)
	requireDead(t, pids)
}

// TestStarterIsKilled is the promise that no agent runs unsupervised.
func TestStarterIsKilled(t *testing.T) {
	t.Parallel()
	for _, agent := range []string{"ignore", "daemons-and-stay 2", "hang"} {
		t.Run(agent, func(t *testing.T) {
			t.Parallel()
			_, marker := system(t, 0)
			cmd, tr := killedStarter(t, marker, agent)
			pids := tr.ready(t, 1)
			require.NoError(t, cmd.Process.Kill())
			require.Error(t, cmd.Wait())
			require.Eventually(t, func() bool {
				left, err := proc.Survivors(marker)
				return err == nil && len(left) == 0
			}, patience, 20*time.Millisecond, "the guard does not end the tree")
			requireDead(t, pids)
		})
	}
}

func killedStarter(t *testing.T, marker, agent string) (*exec.Cmd, *transcript) {
	t.Helper()
	argv := self(t, append([]string{"run-start", marker}, strings.Fields(agent)...)...)
	cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	tr := &transcript{}
	cmd.Stdout, cmd.Env = writer(tr.take), []string{}
	cmd.WaitDelay = time.Second
	require.NoError(t, cmd.Start())
	return cmd, tr
}

type writer func([]byte)

func (w writer) Write(p []byte) (int, error) {
	w(p)
	return len(p), nil
}

// TestFloodDoesNotGrowMemory writes 256 MB, and 1 GB where ORCH_TEST_FLOOD=1 is set.
// It runs alone, because memory is the whole process's.
func TestFloodDoesNotGrowMemory(t *testing.T) {
	bytes := 256 << 20
	if os.Getenv("ORCH_TEST_FLOOD") == "1" {
		bytes = 1 << 30
	}
	if testing.Short() {
		bytes = 64 << 20
	}
	s, _ := system(t, 0)
	log := logFile(t)
	before := memory()
	p, err := s.Start(t.Context(), proc.Spec{
		Cmd: command.Cmd{Argv: self(t, "flood", strconv.Itoa(bytes))}, Log: log, LogMaxBytes: 1 << 20,
		Output: func([]byte) {},
	})
	require.NoError(t, err)
	exit := p.Wait()
	require.EqualValues(t, bytes, exit.StdoutBytes)
	require.Less(t, memory()-before, int64(16<<20))
	info, err := os.Stat(log)
	require.NoError(t, err)
	require.Less(t, info.Size(), int64(1<<20+100))
}

// memory is what the runtime took from the system, which never shrinks: so it holds the peak.
func memory() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys)
}

func TestSurvivors(t *testing.T) {
	t.Parallel()
	s, marker := system(t, 0)
	p, tr := start(t, s, proc.Spec{}, "hang")
	pids := tr.ready(t, 1)
	got, err := proc.Survivors(marker)
	require.NoError(t, err)
	require.Contains(t, got, pids[0])
	require.Len(t, got, 2, "the agent and its guard")
	other, err := proc.Survivors(marker + "x")
	require.NoError(t, err)
	require.Empty(t, other)
	for _, bad := range []string{"", "=", "NAME", "NAME=", "=value"} {
		_, err := proc.Survivors(bad)
		require.ErrorIs(t, err, proc.ErrMarker)
	}
	p.Stop(proc.Killed)
	p.Wait()
}

// unguarded starts a process with the marker that no guard looks after.
func unguarded(t *testing.T, marker, agent string) int {
	t.Helper()
	argv := self(t, agent)
	cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	tr := &transcript{}
	cmd.Stdout, cmd.Env = writer(tr.take), []string{marker}
	require.NoError(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() { <-ended })
	return tr.ready(t, 1)[0]
}

func TestReapWaitsThenEnds(t *testing.T) {
	t.Parallel()
	_, marker := system(t, 0)
	unguarded(t, marker, "obey")
	unguarded(t, marker, "ignore")
	began := time.Now()
	left, err := proc.Reap(t.Context(), marker, 200*time.Millisecond, 200*time.Millisecond)
	require.NoError(t, err)
	require.Empty(t, left)
	require.GreaterOrEqual(t, time.Since(began), 400*time.Millisecond)

	left, err = proc.Reap(t.Context(), marker, time.Hour, time.Hour)
	require.NoError(t, err, "nothing is left to wait for")
	require.Empty(t, left)
	_, err = proc.Reap(t.Context(), "", 0, 0)
	require.ErrorIs(t, err, proc.ErrMarker)
}

func TestReapLeavesTheYoungTime(t *testing.T) {
	t.Parallel()
	_, marker := system(t, 0)
	pid := unguarded(t, marker, "obey")
	timer := time.AfterFunc(200*time.Millisecond, func() { syscall.Kill(pid, syscall.SIGINT) })
	defer timer.Stop()
	left, err := proc.Reap(t.Context(), marker, patience, 0)
	require.NoError(t, err)
	require.Empty(t, left)
}
