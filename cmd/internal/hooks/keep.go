package hooks

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/beadsorch/orch/stophook/session"
)

// changeSession reads what is kept of a session, has it changed, and keeps that, with nobody in
// between: of many stops at a time each is counted. ok is false where nothing of this id is kept.
// The lock is on the folder, so that no other file is left in it. It fails when the lock is not
// had before ctx ends, and as reading, change and writing do; then nothing was kept.
func changeSession(ctx context.Context, path, id string, change func(s session.Session, ok bool) (session.Session, error)) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("keeping the session: %w", err)
	}
	lock := flock.New(dir, flock.SetFlag(os.O_RDONLY))
	if _, err := lock.TryLockContext(ctx, 5*time.Millisecond); err != nil {
		return fmt.Errorf("waiting for other stops to be counted: %w", err)
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
