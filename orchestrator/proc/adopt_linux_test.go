package proc_test

import (
	"context"
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

	"github.com/beadsorch/orch/orchestrator/command"
	"github.com/beadsorch/orch/orchestrator/proc"
)

// program starts this binary as a program of its own, which is killed at the end of the test.
func program(t *testing.T, args ...string) (*exec.Cmd, *transcript) {
	t.Helper()
	argv := self(t, args...)
	cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	tr := &transcript{}
	cmd.Stdout, cmd.Stderr, cmd.Env = writer(tr.take), os.Stderr, quickRace()
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		_, err := proc.Reap(context.WithoutCancel(t.Context()), args[1], patience, 0)
		require.NoError(t, err)
	})
	return cmd, tr
}

// says waits for a line that a program prints.
func (tr *transcript) says(t *testing.T, text string) {
	t.Helper()
	require.Eventually(t, func() bool { return strings.Contains(tr.String(), text) }, patience, 5e6, "it does not say %q", text)
}

// childrenOf are the processes whose parent is pid.
func childrenOf(t *testing.T, pid int) (found []string) {
	t.Helper()
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	require.NoError(t, err)
	for _, list := range lists {
		found = append(found, strings.Fields(string(readFile(t, list)))...)
	}
	return found
}

// TestADeadGuardLeavesNothing: whatever an agent has started before it killed its guard is
// gone when the attempt is reported as ended.
func TestADeadGuardLeavesNothing(t *testing.T) {
	t.Parallel()
	for _, agent := range []string{"betray 1", "betray 40", "kill-guard"} {
		t.Run(agent, func(t *testing.T) {
			t.Parallel()
			_, marker := system(t, 0)
			cmd, tr := program(t, "run-adopting", marker, agent)
			tr.says(t, "ended 0 SIGKILL []")
			requireDead(t, readyPIDs(tr.String()))
			require.Empty(t, childrenOf(t, cmd.Process.Pid), "neither alive nor waited for")
		})
	}
}

// TestTheInnocentSurvive: what other attempts run is not touched when guards die.
func TestTheInnocentSurvive(t *testing.T) {
	t.Parallel()
	_, marker := system(t, 0)
	_, tr := program(t, "run-adopting", marker, "daemons-and-stay 2 / hang / betray 5 / betray 5")
	tr.says(t, "ended 2 SIGKILL []")
	tr.says(t, "ended 3 SIGKILL []")
	require.NotContains(t, tr.String(), "ended 0")
	require.NotContains(t, tr.String(), "ended 1")
	alive := map[int]bool{}
	require.Eventually(t, func() bool {
		clear(alive)
		for _, pid := range readyPIDs(tr.String()) {
			if commandLine(pid) != "" {
				alive[pid] = true
			}
		}
		return len(alive) == 3
	}, patience, 5e6, "two daemons, and the agent that waits")
}

// TestAGuardDiesWhileItsStarterIsStopped: what is left is ended when it goes on.
func TestAGuardDiesWhileItsStarterIsStopped(t *testing.T) {
	t.Parallel()
	_, marker := system(t, 0)
	cmd, tr := program(t, "run-adopting", marker, "daemons-and-stay 3")
	pids := tr.ready(t, 3)
	guard, err := strconv.Atoi(childrenOf(t, cmd.Process.Pid)[0])
	require.NoError(t, err)
	require.NoError(t, cmd.Process.Signal(syscall.SIGSTOP))
	require.NoError(t, syscall.Kill(guard, syscall.SIGKILL))
	require.Eventually(t, func() bool { return commandLine(guard) == "" }, patience, 5e6)
	require.NoError(t, cmd.Process.Signal(syscall.SIGCONT))
	tr.says(t, "ended 0 SIGKILL []")
	requireDead(t, pids)
}

// TestATimeLimitEndsAStoppedGuard: an agent gains no time by stopping who watches it.
func TestATimeLimitEndsAStoppedGuard(t *testing.T) {
	t.Parallel()
	s, _ := system(t, 100*time.Millisecond)
	p, tr := start(t, s, proc.Spec{Timeout: time.Second}, "stop-guard")
	exit := p.Wait()
	require.Equal(t, proc.Timeout, exit.Cause)
	require.Empty(t, exit.Survivors)
	requireDead(t, readyPIDs(tr.String()))
}

// TestGuardsAbove: a process below a guard cannot be talked out of it, whatever its parents did.
func TestGuardsAbove(t *testing.T) {
	t.Parallel()
	s, marker := system(t, 0)
	for _, agent := range []string{"who", "double-who"} {
		tr := &transcript{}
		p, err := s.Start(t.Context(), proc.Spec{Cmd: command.Cmd{Argv: self(t, agent), Env: append(quickRace(), "TASK=t-1")}, Output: tr.take})
		require.NoError(t, err)
		tr.says(t, "above ["+marker+"]")
		p.Stop(proc.Killed)
		p.Wait()
	}
	require.Empty(t, proc.GuardsAbove("guard"))
}

// TestADaemonOfOurOwnIsNoStranger: what the tracker leaves running is not an agent's.
func TestADaemonOfOurOwnIsNoStranger(t *testing.T) {
	t.Parallel()
	_, marker := system(t, 0)
	_, tr := program(t, "run-leaving", marker)
	tr.says(t, "ended 0 SIGKILL []")
	_, after, ok := strings.Cut(tr.String(), "left ")
	require.True(t, ok)
	word, _, _ := strings.Cut(after, "\n")
	daemon, err := strconv.Atoi(word)
	require.NoError(t, err)
	require.Contains(t, commandLine(daemon), "ignore")
	require.NoError(t, syscall.Kill(daemon, syscall.SIGKILL))
}

// TestConceal: neither the environment nor the memory of a concealed program can be read, by
// another user nor by its own.
func TestConceal(t *testing.T) {
	t.Parallel()
	argv := self(t, "run-concealed")
	if os.Getuid() == 0 { // the program and who looks at it are then the same other user
		argv[0] = copied(t, argv[0])
	}
	cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	tr := &transcript{}
	cmd.Stdout, cmd.Stderr = writer(tr.take), os.Stderr
	cmd.Env = append(quickRace(), "SECRET=canary-of-the-environment", "KEPT=yes")
	cmd.SysProcAttr = nobody()
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	pid := strconv.Itoa(tr.ready(t, 1)[0])
	require.Contains(t, tr.String(), "secret canary-of-the-environment", "the program itself has what it was given")
	for _, file := range []string{"environ", "mem", "maps", "fd/0"} {
		look := exec.CommandContext(t.Context(), "cat", "/proc/"+pid+"/"+file)
		look.SysProcAttr = nobody()
		out, err := look.CombinedOutput()
		require.Error(t, err, "%s can be read", file)
		require.Contains(t, string(out), "denied")
	}
	if os.Getuid() == 0 {
		seen := string(readFile(t, "/proc/"+pid+"/environ"))
		require.NotContains(t, seen, "canary")
		require.Contains(t, seen, "KEPT=yes\x00")
	}
}

// nobody is a user without rights, where the test has those of root; else the same user.
func nobody() *syscall.SysProcAttr {
	if os.Getuid() != 0 {
		return nil
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
}

// copied is a copy of a program that any user may start.
func copied(t *testing.T, exe string) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "concealed-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	require.NoError(t, os.Chmod(dir, 0o755))
	path := filepath.Join(dir, "program")
	content := readFile(t, exe)
	syscall.ForkLock.RLock() // what another test starts meanwhile would hold the file open, and it could not be started
	err = os.WriteFile(path, content, 0o755)
	syscall.ForkLock.RUnlock()
	require.NoError(t, err)
	return path
}
