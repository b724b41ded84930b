package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/gofrs/flock"

	"github.com/beadsorch/orch/orchestrator/private"
)

// Store keeps the hooks of all tasks in one file, locked while it is changed.
type Store struct {
	Path string // of the file; its folder is made with the first write
}

// levels is how deep the file is below the git directory: orch/hooks.json.
const levels = 2

// maxFile bounds the file, in bytes.
const maxFile = 64 << 20

// ErrNotFound says that no hook, or no task with hooks, has the id.
var ErrNotFound = errors.New("no such hook")

// lockTime is how long another's change is waited for.
const lockTime = 5 * time.Second

// All lists the hooks of a task in the order of their registration, or all with "". It
// fails when the file cannot be read.
func (s Store) All(task string) ([]Hook, error) {
	hooks, err := s.read()
	return slices.DeleteFunc(hooks, func(h Hook) bool { return task != "" && h.TaskID != task }), err
}

func (s Store) read() (hooks []Hook, err error) {
	b, err := private.ReadFile(s.Path, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &hooks)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the hooks: %w", err)
	}
	return hooks, nil
}

// Change replaces the hooks by what change makes of them, under the lock. A file that
// cannot be read is never replaced.
func (s Store) Change(ctx context.Context, change func([]Hook) ([]Hook, error)) error {
	files, err := private.OpenAbove(s.Path, levels)
	if err == nil {
		err = errors.Join(files.Plain(s.Path+".lock"), files.Close())
	}
	if err != nil {
		return fmt.Errorf("keeping the hooks: %w", err)
	}
	lock := flock.New(s.Path+".lock", flock.SetPermissions(0o600), flock.SetFlag(private.LockFlags))
	ctx, cancel := context.WithTimeout(ctx, lockTime)
	defer cancel()
	if _, err := lock.TryLockContext(ctx, 10*time.Millisecond); err != nil {
		return fmt.Errorf("locking the hooks: %w", err)
	}
	err = s.changeLocked(change)
	return errors.Join(err, lock.Unlock())
}

func (s Store) changeLocked(change func([]Hook) ([]Hook, error)) error {
	hooks, err := s.read()
	if err != nil {
		return err
	}
	if hooks, err = change(hooks); err != nil {
		return err
	}
	b, err := json.MarshalIndent(hooks, "", "  ")
	if err != nil {
		return fmt.Errorf("keeping the hooks: %w", err)
	}
	files, err := private.OpenAbove(s.Path, levels)
	if err == nil {
		err = errors.Join(files.WriteFile(s.Path, append(b, '\n')), files.Close())
	}
	if err != nil {
		return fmt.Errorf("keeping the hooks: %w", err)
	}
	return nil
}

// Keep puts back hooks that were evaluated, with their counts; one that is gone by now
// stays gone.
func (s Store) Keep(ctx context.Context, evaluated []Hook) error {
	return s.Change(ctx, func(hooks []Hook) ([]Hook, error) {
		for n, h := range hooks {
			if i := slices.IndexFunc(evaluated, func(e Hook) bool { return e.ID == h.ID }); i >= 0 {
				hooks[n].Metrics = evaluated[i].Metrics
			}
		}
		return hooks, nil
	})
}
