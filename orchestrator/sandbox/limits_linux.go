package sandbox

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

const (
	// tasksPerProcess is how many threads there may be for each process of the limit: to the kernel they are the same, and clients
	// have dozens each.
	tasksPerProcess = 4
	// firstToEnd is how much sooner the kernel ends a process here than others, when the machine has no memory left: of -1000 to 1000.
	firstToEnd = 500
)

// set has the kernel keep this process, and what it becomes, to what it can keep by itself, until who watches sees the rest. Address space is not bounded:
// runtimes such as those of JavaScript and Go reserve far more of it than they use. The number of processes is that of a user, so that it is bounded
// only where there are users of its own; root has none even there.
func (l limits) set(level Level) error {
	_ = os.WriteFile("/proc/self/oom_score_adj", fmt.Append(nil, firstToEnd), 0) // where it cannot be said, nothing is promised
	if l.Disk > 0 {
		if err := lower(unix.RLIMIT_FSIZE, uint64(l.Disk)); err != nil {
			return fmt.Errorf("bounding the size of a file: %w", err)
		}
	}
	if l.Processes > 0 && level.Mounts() {
		if err := lower(unix.RLIMIT_NPROC, tasksPerProcess*uint64(l.Processes)); err != nil {
			return fmt.Errorf("bounding the number of processes: %w", err)
		}
	}
	return nil
}

// lower sets a limit, unless there is a lower one.
func lower(resource int, to uint64) error {
	var now unix.Rlimit
	if err := unix.Getrlimit(resource, &now); err != nil {
		return err
	}
	to = min(to, now.Max)
	return unix.Setrlimit(resource, &unix.Rlimit{Cur: min(to, now.Cur), Max: to})
}
