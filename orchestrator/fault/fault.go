// Package fault tells faults of the machine (no space, no memory, no processes, no files,
// errors of input and output, references that cannot be locked, a git that was killed, shared files of
// a repository that git cannot read) from failures of the work.
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
	"github.com/beadsorch/orch/orchestrator/private"
	"github.com/beadsorch/orch/orchestrator/text"
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
	var closed *ClosedError
	if errors.As(err, &closed) {
		return closed.Error(), true
	}
	var gone *private.GoneError
	if errors.As(err, &gone) {
		return gone.Error(), true
	}
	var refused *private.RefusedError
	if errors.As(err, &refused) {
		return refused.Error(), true
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
		if exit.Signal == "SIGXFSZ" || killed(exit) {
			return err.Error(), true
		}
		if isGit(exit) {
			return quoted(exit, append(sharedDamage(), closedLocks()...))
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
func Said(said string) (line string, ok bool) {
	return find(said, phrases())
}

// NoProcess reports whether a program has said, in its own words, that it could start no process, while few are
// left to the user. The words alone are a matter of the work: it may have made too many itself, or tell of it.
func NoProcess(said string) (why string, ok bool) {
	line, ok := find(said, []string{"Cannot fork", "fork: retry", "Resource temporarily unavailable", "can't start new thread", "pthread_create failed"})
	if !ok {
		return "", false
	}
	why, ok = crowded()
	return text.Clause(line, maxQuote) + ": " + why, ok
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
		"insufficient permission for adding an object", "unable to create temporary file",
	}
}

// leastBytes and leastFiles are what a disk has to have left to count as one that is not full.
const (
	leastBytes = 1 << 20
	leastFiles = 16
)

// diskFull reports whether the file system that holds dir, or would hold it, has no room left, and
// says so in a clause. One that cannot be asked has.
func diskFull(dir string) (why string, ok bool) {
	var s unix.Statfs_t
	for err := unix.Statfs(dir, &s); err != nil; err = unix.Statfs(dir, &s) {
		up := filepath.Dir(dir)
		if !errors.Is(err, syscall.ENOENT) || up == dir {
			return "", false
		}
		dir = up
	}
	free := uint64(s.Bavail) * uint64(s.Bsize) // signed on FreeBSD
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
		if why, ok := diskFull(dir); ok {
			return why, true
		}
	}
	return "", false
}
