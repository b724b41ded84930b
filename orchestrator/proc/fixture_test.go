package proc_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/proc"
)

// patience is for events that come soon on an idle machine; this one may be busy.
const patience = 2 * time.Minute

// self is the argv of this test binary as an agent.
func self(t testing.TB, args ...string) []string {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	return append([]string{exe, "agent"}, args...)
}

// quickRace is an environment in which a race-tested process does not sleep a second at its exit.
func quickRace() []string { return []string{"GORACE=atexit_sleep_ms=0"} }

// system is a System with a marker of its own; at the end of the test nothing may carry it.
func system(t testing.TB, grace time.Duration) (*proc.System, string) {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	marker := "ORCH_TEST_RUN=" + rand.Text()
	t.Cleanup(func() {
		left, err := proc.Survivors(marker)
		require.NoError(t, err)
		require.Empty(t, left, "processes are left")
	})
	return proc.New(proc.Options{Marker: marker, Guard: []string{exe, "guard"}, Grace: grace}), marker
}

// transcript is an Output that can be waited on.
type transcript struct {
	mu  sync.Mutex
	got bytes.Buffer
}

func (tr *transcript) take(p []byte) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.got.Write(p)
}

func (tr *transcript) String() string {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return tr.got.String()
}

// ready waits for n agents that say so, and gives their pids.
func (tr *transcript) ready(t testing.TB, n int) []int {
	t.Helper()
	var pids []int
	require.Eventually(t, func() bool {
		pids = readyPIDs(tr.String())
		return len(pids) >= n
	}, patience, 5*time.Millisecond, "agents are not ready")
	return pids
}

func readyPIDs(output string) []int {
	var pids []int
	for line := range strings.Lines(output) {
		if word, ok := strings.CutPrefix(line, "ready "); ok && strings.HasSuffix(word, "\n") {
			if pid, err := strconv.Atoi(strings.TrimSpace(word)); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// start starts an agent below a guard.
func start(t testing.TB, s *proc.System, sp proc.Spec, args ...string) (*proc.Process, *transcript) {
	t.Helper()
	tr := &transcript{}
	sp.Argv, sp.Env, sp.Output = self(t, args...), quickRace(), tr.take
	p, err := s.Start(t.Context(), sp)
	require.NoError(t, err)
	return p, tr
}

// requireDead wants processes gone, at once. One whose memory is gone is as good as gone: it is
// a zombie that init has yet to reap, or will be one.
func requireDead(t testing.TB, pids []int) {
	t.Helper()
	for _, pid := range pids {
		if syscall.Kill(pid, 0) == nil {
			require.Empty(t, commandLine(pid), "process %d lives", pid)
		}
	}
}

func commandLine(pid int) string {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return "" // it ended meanwhile
	}
	return string(bytes.ReplaceAll(line, []byte{0}, []byte{' '}))
}

func logFile(t testing.TB) string { return filepath.Join(t.TempDir(), "agent.log") }

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	return content
}

// starter is a program that starts an agent and then waits to be killed.
func starter(args []string) {
	exe, err := os.Executable()
	if err != nil {
		panic(err)
	}
	s := proc.New(proc.Options{Marker: args[0], Guard: []string{exe, "guard"}})
	sp := proc.Spec{Output: func(p []byte) { os.Stdout.Write(p) }}
	sp.Argv = append([]string{exe, "agent"}, args[1:]...)
	p, err := s.Start(context.Background(), sp)
	if err != nil {
		panic(err)
	}
	p.Wait()
}
