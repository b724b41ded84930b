// Package fault tells faults of the machine (no space, no memory, no processes, no files,
// errors of input and output, references that cannot be locked) from failures of the work.
// It only looks at errors and at text.
package fault

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/beadsorch/orch/orchestrator/command"
)

// Machine reports whether err is a fault of the machine, and says which in a clause: its own
// words, not orch's. It knows the errors of system calls, and those that a program which was
// started has printed with its exit.
func Machine(err error) (why string, ok bool) {
	if err == nil {
		return "", false
	}
	for _, known := range append(errnos(), command.ErrGuard, command.ErrGone) { // which are orch itself, so that no work is to blame
		if errors.Is(err, known) {
			return err.Error(), true
		}
	}
	var quiet *command.QuietError
	if errors.As(err, &quiet) {
		return quiet.Error(), true
	}
	var exit *command.ExitError
	if errors.As(err, &exit) {
		if why, ok := Said(exit.Stderr); ok {
			return why, true
		}
		if exit.Signal == "SIGXFSZ" {
			return err.Error(), true
		}
	}
	return "", false
}

// Of is err where it is a fault of the machine, else nil.
func Of(err error) error {
	if _, ok := Machine(err); ok {
		return err
	}
	return nil
}

// Said finds the line in which a program that runs with LC_ALL=C tells of a fault of the
// machine; ok is false where there is none.
func Said(text string) (line string, ok bool) {
	for line := range strings.Lines(text) {
		for _, words := range phrases() {
			if strings.Contains(line, words) {
				return strings.TrimSpace(line), true
			}
		}
	}
	return "", false
}

// errnos are the errors of system calls that say nothing of the work (errno(3)).
func errnos() []error {
	return []error{syscall.EMFILE, syscall.ENFILE, syscall.EAGAIN, syscall.ENOMEM, syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG,
		syscall.EIO, syscall.EROFS, syscall.ENOLCK, syscall.ESTALE,
		syscall.EBADF} // dup3(2) at the limit of open files, as where a process is started
}

// phrases are the texts of errnos in the C locale, and git's own for a lock that another
// process holds (refs/files-backend.c and lockfile.c of git 2.39).
func phrases() []string {
	return []string{
		"Too many open files", "Resource temporarily unavailable", "Cannot allocate memory", "No space left on device",
		"Disk quota exceeded", "File too large", "Input/output error", "Read-only file system", "No locks available", "Stale file handle",
		"cannot lock ref", ".lock': File exists", "Out of diskspace", "unable to write file", "unable to write new index file", "unable to create directory for", "unable to create thread", "out of memory", "couldn't write '",
	}
}

// leastBytes and leastFiles are what a disk has to have left to count as one that is not full.
const (
	leastBytes = 1 << 20
	leastFiles = 16
)

// DiskFull reports whether the file system that holds dir, or would hold it, has no room left, and
// says so in a clause. One that cannot be asked has.
func DiskFull(dir string) (why string, ok bool) {
	var s unix.Statfs_t
	for err := unix.Statfs(dir, &s); err != nil; err = unix.Statfs(dir, &s) {
		up := filepath.Dir(dir)
		if !errors.Is(err, syscall.ENOENT) || up == dir {
			return "", false
		}
		dir = up
	}
	free := s.Bavail * uint64(s.Bsize)
	switch {
	case free < leastBytes:
		return fmt.Sprintf("no space left on device: %d bytes are free at %s", free, dir), true
	case s.Files > 0 && s.Ffree < leastFiles:
		return fmt.Sprintf("no space left on device: %d files can be made at %s", s.Ffree, dir), true
	}
	return "", false
}

// NoRoom reports whether there is no room left where a program works that is started with env: in
// one of the folders, or in its folder for temporary files. It says so in a clause.
func NoRoom(env []string, dirs ...string) (why string, ok bool) {
	for _, e := range env {
		if tmp, is := strings.CutPrefix(e, "TMPDIR="); is && filepath.IsAbs(tmp) {
			dirs = append(dirs, tmp)
		}
	}
	for _, dir := range dirs {
		if why, ok := DiskFull(dir); ok {
			return why, true
		}
	}
	return "", false
}
