package worktree

import (
	"fmt"
	"path/filepath"
	"sync"

	"github.com/beadsorch/orch/orchestrator/engine"
	"github.com/beadsorch/orch/orchestrator/private"
)

// trashDir is the folder in Root that what is to be deleted is renamed into.
const trashDir = ".trash"

// trash deletes trees in the background, one at a time.
type trash struct {
	files    *private.Dir
	deleting sync.Mutex
	pending  sync.WaitGroup
	mu       sync.Mutex // guards what follows
	left     []engine.Leftover
	at       map[string]bool // what is being deleted, or waits for it
}

// delete begins to delete path.
func (t *trash) delete(path string) {
	t.mark(path, true)
	t.pending.Go(func() {
		defer t.mark(path, false)
		t.deleting.Lock()
		defer t.deleting.Unlock()
		if err := t.files.RemoveAll(path); err != nil {
			t.leave(leftOf(path, err))
		}
	})
}

// leave notes what could not be removed.
func (t *trash) leave(l engine.Leftover) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.left = append(t.left, l)
}

func (t *trash) mark(path string, deletes bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.at == nil {
		t.at = map[string]bool{}
	}
	if !deletes {
		delete(t.at, path)
		return
	}
	t.at[path] = true
}

// isDeleting reports whether path is being deleted.
func (t *trash) isDeleting(path string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.at[path]
}

// wait ends when all is deleted, and says what was not since it was last asked.
func (t *trash) wait() (left []engine.Leftover) {
	t.pending.Wait()
	t.mu.Lock()
	defer t.mu.Unlock()
	left, t.left = t.left, nil
	return left
}

// discard takes a worktree away at once, whatever is in it; deleting it goes on in the background.
func (s *Store) discard(l linked) error {
	if _, err := s.files.Lstat(l.dir); err == nil {
		aside, err := s.files.MkdirTemp(filepath.Join(s.root, trashDir), "")
		if err == nil {
			err = s.files.Rename(l.dir, filepath.Join(aside, "tree"))
		}
		if err != nil {
			return fmt.Errorf("moving a worktree aside: %w", err)
		}
		s.trash.delete(aside)
	}
	return s.discardAdmin(l)
}

// discardAdmin takes away what git knows of a worktree.
func (s *Store) discardAdmin(l linked) error {
	if _, err := s.admin.Lstat(l.admin); err != nil {
		return nil
	}
	aside, err := s.repo.Scratch("removed-") // whose name tells the next run that nobody needs it
	if err == nil {
		err = s.admin.Rename(l.admin, filepath.Join(aside, "admin"))
	}
	if err != nil {
		return fmt.Errorf("removing a worktree's admin directory: %w", err)
	}
	if err := s.admin.RemoveAll(aside); err != nil {
		s.trash.leave(leftOf(aside, err)) // the worktree is gone; the next run tries again
	}
	return nil
}
