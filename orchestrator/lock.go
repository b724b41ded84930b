package orchestrator

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
// was removed, replaced or changed by somebody else. It has written nothing since.
type FencedError struct {
	Epic epic.TaskID // that it held
	Why  string      // in a clause
}

// Error says what was taken.
func (e *FencedError) Error() string {
	return fmt.Sprintf("epic %s was taken away from this run: %s", e.Epic, e.Why)
}

// lockPatience is how long a lock is tried: one outlives its killed owner by as
// long as a child between fork and exec still holds the descriptor (82 ms at
// most in 200 kills), so less is a false alarm.
const lockPatience = 3 * time.Second

const lockFile = "lock"

// epicLock is the lock of an epic, held.
type epicLock struct {
	*flock.Flock
	epic epic.TaskID
}

// waiting is how long one waits for the lock, and who is told for whom.
type waiting struct {
	wait time.Duration
	told func(Holder) // may be nil
}

// lock takes the epic's lock. It waits for a short command as long as it is told, and tells for
// whom; for a run that drives the epic it does not wait. It fails with *HeldError.
func lock(ctx context.Context, dir string, epicID epic.TaskID, w waiting) (*epicLock, error) {
	began, told := time.Now(), Holder{}
	for {
		l, err := lockSoon(ctx, dir, epicID)
		var held *HeldError
		if !errors.As(err, &held) || held.Holder.Drives() || w.wait == 0 || ctx.Err() != nil {
			return l, err
		}
		if w.told != nil && held.Holder != told {
			told = held.Holder
			w.told(told)
		}
		if time.Since(began) >= w.wait {
			return l, err
		}
	}
}

// Drives reports whether the process drives the epic to its end, as orch run does; others have done
// their part soon.
func (h Holder) Drives() bool { return h.Command == string(epic.ModeRun) }

// lockSoon takes the epic's lock, or fails with *HeldError after a moment.
func lockSoon(ctx context.Context, dir string, epicID epic.TaskID) (*epicLock, error) {
	files, err := epicdir.Open(dir)
	if err != nil {
		return nil, err
	}
	defer files.Close()
	if err := files.Plain(filepath.Join(dir, lockFile)); err != nil {
		return nil, fmt.Errorf("making the epic's folder: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, lockPatience)
	defer cancel()
	for {
		l := &epicLock{newLock(dir), epicID}
		ok, err := l.TryLockContext(ctx, 20*time.Millisecond)
		if !ok {
			if err != nil && !errors.Is(err, context.DeadlineExceeded) {
				return nil, fmt.Errorf("locking the epic: %w", err)
			}
			return nil, &HeldError{Epic: epicID, Holder: readHolder(dir)}
		}
		if l.check() == nil {
			return l, nil
		}
		if err := l.Unlock(); err != nil { // the file was replaced while it was being locked
			return nil, fmt.Errorf("locking the epic: %w", err)
		}
	}
}

// check reports whether the file that was locked is still the one of its name: when it is not,
// another process may hold a lock of that name too. It fails with *FencedError.
func (l *epicLock) check() error {
	mine, err := l.Stat()
	if err != nil {
		return fmt.Errorf("looking at the epic's lock: %w", err)
	}
	there, err := os.Lstat(l.Path())
	switch {
	case errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENOTDIR):
		return &FencedError{Epic: l.epic, Why: l.Path() + " was removed"}
	case err != nil:
		return fmt.Errorf("looking at the epic's lock: %w", err)
	case !os.SameFile(mine, there):
		return &FencedError{Epic: l.epic, Why: l.Path() + " was replaced"}
	}
	return nil
}

const holderFile = "holder.json"

// writeHolder says who holds the epic, for others to see.
func writeHolder(dir string, me Holder) error {
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

func readHolder(dir string) (h Holder) {
	b, err := private.ReadFile(filepath.Join(dir, holderFile), maxHolder)
	if err != nil || json.Unmarshal(b, &h) != nil {
		return Holder{}
	}
	return h
}

// HeldBy tells who holds the epic whose folder dir is; ok is false when nobody
// does. It never waits and never takes the lock from anyone. A run whose lock file somebody
// has removed holds the journal still.
func HeldBy(dir string) (h Holder, ok bool, err error) {
	if journal.Held(dir) {
		return readHolder(dir), true, nil
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
	return readHolder(dir), true, nil
}
