package tamper_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWhoWaitsAtAPipeGoesOn: a git that was started while the pipe stood there is not left waiting for it.
func TestWhoWaitsAtAPipeGoesOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	g := w.guard()
	_, _, err := g.Begin(t.Context(), "", nil)
	require.NoError(t, err)
	pipe := filepath.Join(w.common, "objects/info/alternates")
	require.NoError(t, os.MkdirAll(filepath.Dir(pipe), 0o755))
	require.NoError(t, syscall.Mkfifo(pipe, 0o644))
	reader := exec.CommandContext(t.Context(), "cat", pipe)
	require.NoError(t, reader.Start())
	for !waitsToOpen(t, reader.Process.Pid) {
		runtime.Gosched()
	}
	_, err = g.Check(t.Context(), nil)
	require.NoError(t, err)
	require.NoError(t, reader.Wait())
}

// waitsToOpen reports whether a process sleeps in the opening of a file, as at a pipe that nobody writes to.
func waitsToOpen(t *testing.T, pid int) bool {
	call, err := os.ReadFile(fmt.Sprintf("/proc/%d/syscall", pid))
	if err != nil {
		t.Skip("SKIPPED: no kernel that tells what a process waits in: " + err.Error())
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	require.NoError(t, err)
	return strings.HasPrefix(string(call), fmt.Sprint(syscall.SYS_OPENAT, " ")) && strings.Contains(string(stat), ") S ")
}
