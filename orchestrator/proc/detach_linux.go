package proc

import (
	"math"

	"golang.org/x/sys/unix"
)

// closeOthersOnExec keeps what this process has inherited, such as a terminal of its shell's, from
// the programs that it starts. Standard input, output and error are theirs to be given.
func closeOthersOnExec() error {
	err := unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
	if err == unix.ENOSYS || err == unix.EINVAL { // a kernel before 5.11
		return nil
	}
	return err
}
