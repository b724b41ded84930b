package worktree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/beadsorch/orch/orchestrator/engine"
)

// List is every attempt of the epic that has a worktree or a branch, in order of task and
// number. It fails as git does, or when a directory cannot be read.
func (s *Store) List(ctx context.Context) ([]engine.Found, error) {
	refs, err := s.repo.Refs(ctx, s.attempts())
	if err != nil {
		return nil, err
	}
	found := map[string]engine.Found{}
	for _, r := range refs {
		if e, ok := s.entry(r.Name); ok {
			e.HasBranch, e.Head = true, r.Commit
			found[r.Name] = e
		}
	}
	admins, err := s.admins()
	if err != nil {
		return nil, err
	}
	for _, l := range admins {
		e, ok := s.entry(l.owner())
		if !ok || !l.hasDir() {
			continue
		}
		if old, both := found[l.owner()]; both {
			e = old
		}
		e.HasDir = true
		found[l.owner()] = e
	}
	var all []engine.Found
	for _, e := range found {
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b engine.Found) int {
		return cmp.Or(strings.Compare(a.Task, b.Task), cmp.Compare(a.Attempt, b.Attempt))
	})
	return all, nil
}

func (s *Store) entry(branch string) (engine.Found, bool) {
	slug, n, ok := s.attemptOf(branch)
	return engine.Found{Task: slug, Attempt: n, Branch: branch, Dir: filepath.Join(s.root, dirPrefix+slug)}, ok
}

// admins are the worktrees below Root, by their admin directories.
func (s *Store) admins() (all []linked, err error) {
	parent := filepath.Join(s.repo.CommonDir(), "worktrees")
	entries, err := os.ReadDir(parent)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("listing the worktrees: %w", err)
	}
	for _, e := range entries {
		at, err := s.admin.ReadFile(filepath.Join(parent, e.Name(), "gitdir"), maxPointer)
		if err != nil {
			continue // half-made, and not by us
		}
		l := s.linked(strings.TrimSuffix(strings.TrimSpace(string(at)), "/.git"))
		if filepath.Dir(l.dir) == s.root && filepath.Base(l.admin) == e.Name() {
			all = append(all, l)
		}
	}
	return all, nil
}

// maxEntries bounds how many files Fresh looks at.
const maxEntries = 20000

// ChangedSince reports whether anything in the worktree of attempt n at task has changed since: a file,
// a directory, the index or a commit. It looks at 20,000 entries at most, those near the
// top first, so it may miss a change deep in a large tree; it never invents one.
func (s *Store) ChangedSince(ctx context.Context, task string, n int, since time.Time) bool {
	l := s.linked(s.Name(task, n).Dir)
	for _, name := range []string{"index", "HEAD", "logs/HEAD"} {
		if info, err := os.Lstat(filepath.Join(l.admin, name)); err == nil && info.ModTime().After(since) {
			return true
		}
	}
	left := maxEntries
	for level := []string{l.dir}; len(level) > 0 && left > 0 && ctx.Err() == nil; {
		var below []string
		for _, dir := range level {
			fresh, dirs := changedBelow(dir, since, &left)
			if fresh {
				return true
			}
			below = append(below, dirs...)
		}
		level = below
	}
	return false
}

// changedBelow looks at the entries of one directory.
func changedBelow(dir string, since time.Time, left *int) (fresh bool, dirs []string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return false, nil
	}
	for _, e := range entries {
		if *left--; *left < 0 {
			break
		}
		info, err := e.Info()
		if err != nil {
			continue
		}
		if info.ModTime().After(since) {
			return true, nil
		}
		if info.Mode().Type() == fs.ModeDir && e.Name() != ".git" {
			dirs = append(dirs, filepath.Join(dir, e.Name()))
		}
	}
	return false, dirs
}
