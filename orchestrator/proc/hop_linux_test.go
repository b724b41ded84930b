package proc_test

import (
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// hop goes on as another process in a session of its own, so many times; then it says so and ends. Nobody has
// to end it. What forks so cannot use anything of Go but system calls.
//
//go:norace
//go:nosplit
func hop(times int, over []byte) {
	for range times {
		pid, _, _ := syscall.RawSyscall6(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0)
		if pid != 0 {
			syscall.RawSyscall(syscall.SYS_EXIT_GROUP, 0, 0, 0)
		}
		syscall.RawSyscall(syscall.SYS_SETSID, 0, 0, 0)
	}
	syscall.RawSyscall(syscall.SYS_WRITE, 1, uintptr(unsafe.Pointer(&over[0])), uintptr(len(over)))
	syscall.RawSyscall(syscall.SYS_EXIT_GROUP, 0, 0, 0)
}

// hops is what a test can stand: a few seconds, should nobody catch them.
const hops = "3000"

// TestASwarmThatHopsIsCaught: daemons that are another process each moment, in a session of its own,
// without a mark, are ended before they end by themselves: by the guard when their agent has
// ended, by its starter when the agent has killed the guard.
func TestASwarmThatHopsIsCaught(t *testing.T) { // not in parallel, as it takes all processors for a moment
	for agent, want := range map[string]string{
		"betray-hopping 20 " + hops: "ended 0 SIGKILL []",
		"leave-hopping 4 8000":      "ended 0  []",
	} {
		t.Run(agent, func(t *testing.T) {
			_, marker := system(t, 0)
			cmd, tr := program(t, "run-adopting", marker, agent)
			tr.says(t, want)
			require.NotContains(t, tr.String(), "hopped")
			require.Empty(t, childrenOf(t, cmd.Process.Pid), "neither alive nor waited for")
		})
	}
}
