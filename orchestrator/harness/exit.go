package harness

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// DescribeExit says how a process ended: "exit 3", or "ended by SIGKILL" for 128+9.
func DescribeExit(exitCode int) string {
	if name := unix.SignalName(syscall.Signal(exitCode - 128)); exitCode > 128 && name != "" {
		return "ended by " + name
	}
	return fmt.Sprintf("exit %d", exitCode)
}
