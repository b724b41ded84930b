package worktree

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// trashDir is the folder in Root that what is to be deleted is renamed into.
const trashDir = ".trash"

// trash deletes trees in the background, one at a time.
type trash struct {
	deleting sync.Mutex
	pending  sync.WaitGroup
	mu       sync.Mutex
	failed   error
}

// delete begins to delete path.
func (t *trash) delete(path string) {
	t.pending.Go(func() {
		t.deleting.Lock()
		defer t.deleting.Unlock()
		if err := removeTree(path); err != nil {
			t.mu.Lock()
			t.failed = errors.Join(t.failed, err)
			t.mu.Unlock()
		}
	})
}

// wait ends when all is deleted, and says what was not since it was last asked.
func (t *trash) wait() error {
	t.pending.Wait()
	t.mu.Lock()
	defer t.mu.Unlock()
	err := t.failed
	t.failed = nil
	return err
}

// removeTree deletes path and what is below it, directories without write permission
// too (Go's module cache has them). It follows no symlink.
func removeTree(path string) error {
	if os.RemoveAll(path) == nil {
		return nil
	}
	err := filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
		if d == nil || !d.IsDir() || err != nil && !errors.Is(err, fs.ErrPermission) {
			return nil
		}
		return os.Chmod(p, 0o700) // before its entries are read, or again after that failed
	})
	return errors.Join(err, os.RemoveAll(path))
}

// discard takes a worktree away at once, whatever is in it; deleting it goes on in the background.
func (s *Store) discard(l linked) error {
	bin := filepath.Join(s.root, trashDir)
	if _, err := os.Lstat(l.dir); err == nil {
		if err := os.MkdirAll(bin, 0o700); err != nil {
			return err
		}
		aside, err := os.MkdirTemp(bin, "")
		if err == nil {
			err = os.Rename(l.dir, filepath.Join(aside, "tree"))
		}
		if err != nil {
			return fmt.Errorf("moving a worktree aside: %w", err)
		}
		s.trash.delete(aside)
	}
	if !l.hasAdmin() {
		return nil
	}
	aside, err := s.repo.Scratch("removed-")
	if err == nil {
		err = os.Rename(l.admin, filepath.Join(aside, "admin"))
	}
	if err != nil {
		return fmt.Errorf("removing a worktree's admin directory: %w", err)
	}
	return os.RemoveAll(aside)
}
