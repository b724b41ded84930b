package epicstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/epicdir"
	"github.com/beadsorch/orch/orchestrator/journal"
	"github.com/beadsorch/orch/orchestrator/private"
)

// Holder is the process that holds an epic.
type Holder struct {
	PID     int       `json:"pid"`     // of the process
	Host    string    `json:"host"`    // where it runs
	Started time.Time `json:"started"` // UTC
	Command string    `json:"command"` // run, next, land or iteration
}

// HeldError says that another orch holds the epic.
type HeldError struct {
	Epic   epic.TaskID // that is held
	Holder Holder      // zero when it could not be read
}

// Error names the holder.
func (e *HeldError) Error() string {
	if e.Holder.PID == 0 {
		return fmt.Sprintf("another orch holds epic %s", e.Epic)
	}
	return fmt.Sprintf("orch %s, process %d on %s, holds epic %s since %s",
		e.Holder.Command, e.Holder.PID, e.Holder.Host, e.Epic, e.Holder.Started.Local().Format(time.TimeOnly))
}

// FencedError says that this process held the epic and does so no longer: its lock or its journal
// was removed, replaced or changed by another. It has written nothing since.
type FencedError struct {
	Epic epic.TaskID // that it held
	Why  string      // in a clause
	Was  string      // the folder that was moved, with the epic's in it or being it; "" for none that was found
	Is   string      // where that is now
	Free bool        // nothing is at Was now
	Lost bool        // the epic's folder was removed, and not moved, with all that was in it
}

// Error says what was taken.
func (e *FencedError) Error() string {
	if e.Was != "" {
		return fmt.Sprintf("epic %s was taken away from this run: %s; %s was moved to %s", e.Epic, e.Why, e.Was, e.Is)
	}
	return fmt.Sprintf("epic %s was taken away from this run: %s", e.Epic, e.Why)
}

// lockTimeout is how long a lock is tried: one outlives its killed owner by as
// long as a child between fork and exec still holds the descriptor (82 ms at
// most in 200 kills), so less is a false alarm.
const lockTimeout = 3 * time.Second

const lockFile = "lock"

// Lock is the lock of an epic, held.
type Lock struct {
	file *flock.Flock
	epic epic.TaskID
}

// Unlock gives the epic free. It fails when the lock's file cannot be unlocked.
func (l *Lock) Unlock() error { return l.file.Unlock() }

// Waiting is how long to wait for the lock, and what is called with its holder.
type Waiting struct {
	Wait   time.Duration
	OnWait func(Holder) // may be nil
}

// Acquire takes the epic's lock. It waits for a short command as long as w says, and reports for
// whom; for a run that drives the epic it does not wait. It fails with *HeldError.
func Acquire(ctx context.Context, dir string, epicID epic.TaskID, w Waiting) (*Lock, error) {
	began, reported := time.Now(), Holder{}
	for {
		l, err := lockSoon(ctx, dir, epicID)
		var held *HeldError
		if !errors.As(err, &held) || held.Holder.Drives() || w.Wait == 0 || ctx.Err() != nil {
			return l, err
		}
		if w.OnWait != nil && held.Holder != reported {
			reported = held.Holder
			w.OnWait(reported)
		}
		if time.Since(began) >= w.Wait {
			return l, err
		}
	}
}

// Drives reports whether the process drives the epic to its end, as orch run does; others have done
// their part soon.
func (h Holder) Drives() bool { return h.Command == string(epic.ModeRun) }

// lockSoon takes the epic's lock, or fails with *HeldError after a moment.
func lockSoon(ctx context.Context, dir string, epicID epic.TaskID) (*Lock, error) {
	files, err := epicdir.Open(dir)
	if err != nil {
		return nil, err
	}
	defer files.Close()
	if err := files.Plain(filepath.Join(dir, lockFile)); err != nil {
		return nil, fmt.Errorf("making the epic's folder: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, lockTimeout)
	defer cancel()
	for {
		l := &Lock{file: newLock(dir), epic: epicID}
		ok, err := l.file.TryLockContext(ctx, 20*time.Millisecond)
		if !ok {
			if err != nil && !errors.Is(err, context.DeadlineExceeded) {
				return nil, fmt.Errorf("locking the epic: %w", err)
			}
			return nil, &HeldError{Epic: epicID, Holder: ReadHolder(dir)}
		}
		if l.Check() == nil {
			return l, nil
		}
		if err := l.Unlock(); err != nil { // the file was replaced while it was being locked
			return nil, fmt.Errorf("locking the epic: %w", err)
		}
	}
}

// Check reports whether the file that was locked is still the one of its name: when it is not,
// another process may hold a lock of that name too. It fails with *FencedError.
func (l *Lock) Check() error {
	mine, err := l.file.Stat()
	if err != nil {
		return fmt.Errorf("looking at the epic's lock: %w", err)
	}
	there, err := os.Lstat(l.file.Path())
	switch {
	case errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENOTDIR):
		return l.fenced("was removed", mine)
	case err != nil:
		return fmt.Errorf("looking at the epic's lock: %w", err)
	case !os.SameFile(mine, there):
		return l.fenced("was replaced", mine)
	}
	return nil
}

// fenced is the error for a lock that is not the file of its name any more. Where a folder above it was moved it says so,
// if the system tells where it is, or it is still beside its old name.
func (l *Lock) fenced(what string, mine os.FileInfo) error {
	e := &FencedError{Epic: l.epic, Why: l.file.Path() + " " + what}
	if e.Was, e.Is = moved(l.file.Path(), opened(mine)); e.Was == "" {
		e.findBeside(l.file.Path(), mine)
	}
	_, err := os.Lstat(e.Was)
	e.Free = e.Was != "" && errors.Is(err, os.ErrNotExist)
	_, err = os.Lstat(filepath.Join(filepath.Dir(l.file.Path()), journal.File))
	e.Lost = e.Was == "" && errors.Is(err, os.ErrNotExist)
	return e
}

// opened is where a file is that this process has open; "" where the system does not tell.
func opened(file os.FileInfo) string {
	const handles = "/proc/self/fd"
	entries, err := os.ReadDir(handles)
	if err != nil {
		return "" // not Linux
	}
	for _, entry := range entries {
		at := filepath.Join(handles, entry.Name())
		if info, err := os.Stat(at); err != nil || !os.SameFile(info, file) {
			continue
		}
		path, err := os.Readlink(at)
		if there, statErr := os.Lstat(path); err == nil && statErr == nil && os.SameFile(there, file) {
			return path
		}
	}
	return ""
}

// moved says which folder was moved where, when what was at one path is at another now; "" where none was, since it is
// the file itself.
func moved(was, is string) (from, to string) {
	if is == "" || was == is || filepath.Base(was) != filepath.Base(is) {
		return "", ""
	}
	from, to = was, is
	for filepath.Base(from) == filepath.Base(to) {
		from, to = filepath.Dir(from), filepath.Dir(to)
	}
	if filepath.Dir(from) == filepath.Dir(to) {
		return from, to // it has another name there
	}
	if _, err := os.Lstat(filepath.Join(filepath.Dir(is), journal.File)); err == nil {
		was, is = filepath.Dir(was), filepath.Dir(is) // with all of the epic, whatever has been made in its place since
	}
	for from, to = was, is; filepath.Base(from) == filepath.Base(to); from, to = filepath.Dir(from), filepath.Dir(to) {
		if _, err := os.Lstat(filepath.Dir(from)); err == nil {
			break // it was moved out of there
		}
	}
	return from, to
}

// findBeside looks for a folder above the file that was moved and is beside its old name.
func (e *FencedError) findBeside(path string, mine os.FileInfo) {
	dir, rest := filepath.Split(path)
	dir = filepath.Clean(dir)
	for range 5 { // the epic's folder, the one of all epics, orch's, git's, and the repository's
		parent := filepath.Dir(dir)
		entries, err := os.ReadDir(parent)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			break
		}
		for _, entry := range entries {
			is := filepath.Join(parent, entry.Name())
			if there, err := os.Lstat(filepath.Join(is, rest)); err == nil && is != dir && os.SameFile(mine, there) {
				e.Was, e.Is = dir, is
				return
			}
		}
		dir, rest = parent, filepath.Join(filepath.Base(dir), rest)
	}
}

const holderFile = "holder.json"

// WriteHolder says who holds the epic, for others to see.
func WriteHolder(dir string, me Holder) error {
	files, err := epicdir.Open(dir)
	if err != nil {
		return err
	}
	defer files.Close()
	b, err := json.Marshal(me)
	if err == nil {
		err = files.WriteFile(filepath.Join(dir, holderFile), b)
	}
	if err != nil {
		return fmt.Errorf("writing who holds the epic: %w", err)
	}
	return nil
}

// maxHolder bounds holder.json, in bytes.
const maxHolder = 64 << 10

// newLock is the epic's lock, which follows no link and waits at no FIFO.
func newLock(dir string) *flock.Flock {
	return flock.New(filepath.Join(dir, lockFile), flock.SetPermissions(0o600), flock.SetFlag(private.LockFlags))
}

// ReadHolder reads who holds the epic, or held it last; zero when that cannot be read.
func ReadHolder(dir string) (h Holder) {
	b, err := private.ReadFile(filepath.Join(dir, holderFile), maxHolder)
	if err != nil || json.Unmarshal(b, &h) != nil {
		return Holder{}
	}
	return h
}

// HeldBy reports who holds the epic whose folder dir is; ok is false when none
// does. It never waits and never takes the lock from anyone. A run whose lock file somebody
// has removed holds the journal still.
func HeldBy(dir string) (h Holder, ok bool, err error) {
	if journal.Held(dir) {
		return ReadHolder(dir), true, nil
	}
	if info, err := os.Lstat(filepath.Join(dir, lockFile)); err != nil || !info.Mode().IsRegular() {
		return Holder{}, false, nil
	}
	f := newLock(dir)
	free, err := f.TryRLock()
	if err != nil {
		return Holder{}, false, fmt.Errorf("asking for the epic's lock: %w", err)
	}
	if free {
		return Holder{}, false, f.Unlock()
	}
	return ReadHolder(dir), true, nil
}
