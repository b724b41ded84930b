package proc

import (
	"io/fs"
	"path/filepath"
	"syscall"
	"time"

	"github.com/beadsorch/orch/orchestrator/command"
)

const (
	// lookInterval is the pause between two looks at what a command uses, and lookShare how many times as long as the look itself it is at
	// least: what watches must not be what uses the machine.
	lookInterval = 250 * time.Millisecond
	diskInterval = 2 * time.Second
	lookShare    = 30
)

// exceeded says when a command below a guard uses more than it may, once, until it is done.
func exceeded(guard int, l command.Limits, done <-chan struct{}) <-chan Cause {
	over := make(chan Cause, 2)
	if l.Processes > 0 || l.Memory > 0 {
		go lookOften(lookInterval, done, func() bool {
			processes, memory := usedBelow(guard, l.Memory > 0)
			switch {
			case l.Processes > 0 && processes > l.Processes:
				over <- OverProcesses
			case l.Memory > 0 && memory > l.Memory:
				over <- OverMemory
			default:
				return false
			}
			return true
		})
	}
	if l.Disk > 0 && len(l.Folders) > 0 {
		go lookOften(diskInterval, done, func() bool {
			if sizeOf(l.Folders, l.Disk) <= l.Disk {
				return false
			}
			over <- OverDisk
			return true
		})
	}
	return over
}

// lookOften looks until it has found what it looks for.
func lookOften(every time.Duration, done <-chan struct{}, look func() (found bool)) {
	timer := time.NewTimer(every)
	defer timer.Stop()
	for {
		select {
		case <-done:
			return
		case <-timer.C:
		}
		began := time.Now()
		if look() {
			return
		}
		timer.Reset(max(every, lookShare*time.Since(began)))
	}
}

// sizeOf is what the files below folders take on the disk; of more than enough it does not count the rest. What cannot be looked at counts for nothing.
func sizeOf(folders []string, enough int64) (total int64) {
	for _, folder := range folders {
		_ = filepath.WalkDir(folder, func(_ string, e fs.DirEntry, err error) error {
			if err != nil {
				return nil
			}
			if total > enough {
				return filepath.SkipAll
			}
			if info, err := e.Info(); err == nil {
				if st, ok := info.Sys().(*syscall.Stat_t); ok {
					total += st.Blocks * blockBytes
				}
			}
			return nil
		})
	}
	return total
}

// blockBytes is the unit of Stat_t.Blocks, stat(2).
const blockBytes = 512

// limitError is the error of a command that was ended for a limit; nil for any other cause.
func limitError(c command.Cmd, cause Cause) error {
	switch cause {
	case OverProcesses, OverMemory, OverDisk:
		return &command.LimitError{Argv: c.Argv, What: string(cause), Limits: c.Limits}
	}
	return nil
}
