package hooks

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/beadsorch/orch/stophook"
	"github.com/beadsorch/orch/stophook/session"
)

// errBusy says that another stop of the same session is being counted, and takes too long.
var errBusy = errors.New("another stop of this session is being counted")

// lockPatience is how long a stop waits for others of its session.
const lockPatience = time.Second

// changeSession reads what is kept of a session, has it changed, and keeps that, with nobody in
// between: of many stops at a time each is counted. ok is false where nothing of this id is kept.
// It fails with errBusy when the lock is not had in time and was taken lately, and as reading, change and writing do;
// then nothing was kept.
func changeSession(ctx context.Context, path, id string, change func(s session.Session, ok bool) (session.Session, error)) error {
	if err := session.MakeFolder(filepath.Dir(path)); err != nil {
		return fmt.Errorf("keeping the session: %w", err)
	}
	wait, cancel := context.WithTimeout(ctx, lockPatience)
	defer cancel()
	lock := lockOf(path, id)
	if _, err := lock.TryLockContext(wait, 5*time.Millisecond); err != nil {
		if wait.Err() != nil {
			err = busy(lock.Path())
		}
		return fmt.Errorf("waiting for other stops to be counted: %w", err)
	}
	now := time.Now()
	if err := os.Chtimes(lock.Path(), now, now); err != nil { // for those that wait: taken now
		return errors.Join(fmt.Errorf("keeping the session: %w", err), lock.Unlock())
	}
	was, ok, err := session.Load(path, id)
	if err == nil {
		err = context.Cause(ctx) // one who is late says nothing, so that nothing is to be counted
	}
	if err == nil {
		var now session.Session
		if now, err = change(was, ok); err == nil && now != was {
			err = session.Save(path, now)
		}
	}
	return errors.Join(err, lock.Unlock())
}

// busy is errBusy where the lock was taken so lately that who has it may count still, and another error
// where it was not: a session must not be held time and again by stops that nobody counts.
func busy(lock string) error {
	info, err := os.Stat(lock)
	switch {
	case err != nil:
		return err
	case time.Since(info.ModTime()) > stophook.Timeout+overtime:
		return errors.New("who counts another stop of this session does not end")
	}
	return errBusy
}

// lockOf is the lock of one session, so that none waits for another's. That of a loop, which is in
// a folder of the project, is on the folder: no other file is left there.
func lockOf(path, id string) *flock.Flock {
	if id == "" {
		return flock.New(filepath.Dir(path), flock.SetFlag(os.O_RDONLY))
	}
	return flock.New(filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".lock"), flock.SetPermissions(0o600))
}
