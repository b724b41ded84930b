package journal

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// How long another holder is waited for: a child between fork and exec keeps the descriptor
// of a killed parent for a moment.
const (
	lockTimeout = 3 * time.Second
	holdEvery   = 20 * time.Millisecond
)

// lockFile locks the file itself, so that no process that reached it by another lock file writes
// it too. It fails with ErrHeld.
func lockFile(f *os.File) error {
	for until := time.Now().Add(lockTimeout); ; time.Sleep(holdEvery) {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR):
			return &fs.PathError{Op: "flock", Path: f.Name(), Err: err}
		case time.Now().After(until):
			return ErrHeld
		}
	}
}

// isHeld reports whether some process has the file open for append.
func isHeld(f *os.File) bool {
	return errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}
