package orchestrator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/beadsorch/orch/orchestrator/core"
	"github.com/beadsorch/orch/orchestrator/private"
)

// Holder is the process that holds an epic.
type Holder struct {
	PID     int       `json:"pid"`     // of the process
	Host    string    `json:"host"`    // where it runs
	Started time.Time `json:"started"` // UTC
	Command string    `json:"command"` // run, next or land
}

// HeldError says that another orch holds the epic.
type HeldError struct {
	Epic   core.TaskID // that is held
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

// lockPatience is how long a lock is tried: one outlives its killed owner by as
// long as a child between fork and exec still holds the descriptor (82 ms at
// most in 200 kills), so less is a false alarm.
const lockPatience = 3 * time.Second

const lockFile = "lock"

// lock takes the epic's lock. It fails with *HeldError.
func lock(ctx context.Context, dir string, epic core.TaskID, me Holder) (*flock.Flock, error) {
	files, err := openFiles(dir)
	if err != nil {
		return nil, err
	}
	defer files.Close()
	if err := files.Plain(filepath.Join(dir, lockFile)); err != nil {
		return nil, fmt.Errorf("making the epic's folder: %w", err)
	}
	f := newLock(dir)
	ctx, cancel := context.WithTimeout(ctx, lockPatience)
	defer cancel()
	ok, err := f.TryLockContext(ctx, 20*time.Millisecond)
	if !ok {
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			return nil, fmt.Errorf("locking the epic: %w", err)
		}
		return nil, &HeldError{Epic: epic, Holder: readHolder(dir)}
	}
	b, err := json.Marshal(me)
	if err == nil {
		err = files.WriteFile(filepath.Join(dir, holderFile), b)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("writing who holds the epic: %w", err), f.Unlock())
	}
	return f, nil
}

const holderFile = "holder.json"

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
// does. It never waits and never takes the lock from anyone.
func HeldBy(dir string) (h Holder, ok bool, err error) {
	if _, err := os.Lstat(filepath.Join(dir, lockFile)); errors.Is(err, os.ErrNotExist) {
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
