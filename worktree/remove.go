package worktree

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/beadsorch/orch/orchestrator/engine"
	"github.com/beadsorch/orch/orchestrator/git"
)

// Remove takes the worktree of attempt n at task away, with its branch. What is in it, what was
// ever committed in it, and keep (which may be empty) are made reachable from the attic first,
// unless another reference leads to them. Ignored files go with the worktree. It does nothing when there is
// nothing, so a call that was cut short may be repeated. It fails with an [*engine.UnsavedError], with
// [git.ErrRefMoved] when some process still commits there, or as git does.
func (s *Store) Remove(ctx context.Context, task string, n int, keep git.Commit) error {
	return s.remove(ctx, s.Name(task, n), keep)
}

// RemoveFound is Remove for an attempt that List names.
func (s *Store) RemoveFound(ctx context.Context, e engine.Found) error {
	return s.remove(ctx, s.namesOf(e.Branch), "")
}

func (s *Store) remove(ctx context.Context, names engine.Names, keep git.Commit) error {
	l := s.linked(names.Dir)
	if l.owner() != names.Branch {
		l = linked{repo: s.repo} // another attempt's, or none
	}
	branch, err := s.saveToAttic(ctx, l, names, keep)
	if err == nil && l.admin != "" {
		err = s.locked(ctx, func() error { return s.discard(l) })
	}
	if err != nil {
		return err
	}
	return s.dropBranch(ctx, names, branch)
}

// removeLocked is Remove for a caller that has the lock.
func (s *Store) removeLocked(ctx context.Context, l linked, names engine.Names) error {
	branch, err := s.saveToAttic(ctx, l, names, "")
	if err == nil && l.admin != "" {
		err = s.discard(l)
	}
	if err != nil {
		return err
	}
	return s.dropBranch(ctx, names, branch)
}

// saveToAttic makes everything of an attempt, and keep, reachable from elsewhere than its branch,
// which it returns the tip of.
func (s *Store) saveToAttic(ctx context.Context, l linked, names engine.Names, keep git.Commit) (branch git.Commit, err error) {
	v, err := s.readRefs(ctx, l, names)
	if err != nil {
		return "", err
	}
	tips := append(v.tips(), keep)
	if l.hasAdmin() && l.hasDir() {
		files, err := s.lastSnapshot(ctx, l, v)
		if err != nil {
			return "", err
		}
		tips = append([]git.Commit{files}, tips...)
	}
	changes, err := s.atticChanges(ctx, names, "", tips...)
	if err != nil || len(changes) == 0 {
		return v.branchRef, err
	}
	return v.branchRef, s.repo.UpdateRefs(ctx, changes)
}

func (s *Store) dropBranch(ctx context.Context, names engine.Names, tip git.Commit) error {
	if tip == "" {
		return nil
	}
	return s.repo.UpdateRefs(ctx, []git.RefChange{{Name: names.Branch, Old: tip}})
}

// lastSnapshot commits what is in the worktree and neither at its HEAD nor at the tip of its
// branch; empty when there is no such thing.
func (s *Store) lastSnapshot(ctx context.Context, l linked, v view) (c git.Commit, err error) {
	parent := v.head
	if parent == "" {
		parent = v.branch
	}
	snap, scratch, err := l.snapshot(ctx, parent)
	defer func() { err = errors.Join(err, l.drop(scratch)) }()
	if err != nil {
		return "", err
	}
	if err := l.checkSaved(ctx, snap); err != nil {
		return "", err
	}
	var parents []git.Commit
	for _, p := range []git.Commit{v.head, v.branch} {
		if p == "" {
			continue
		}
		tree, err := s.repo.Tree(ctx, p)
		if err != nil || tree == snap.tree {
			return "", err
		}
		parents = append(parents, p)
	}
	if len(parents) == 2 && parents[0] == parents[1] {
		parents = parents[:1]
	}
	return s.commit(ctx, snap.tree, "orch: keep what was not committed", parents...)
}

// checkSaved fails with an UnsavedError when something in the worktree is not in the snapshot.
func (l linked) checkSaved(ctx context.Context, snap snapshot) error {
	paths := l.content(snap.unread)
	for _, path := range snap.nested {
		unsaved, err := l.nestedUnsaved(ctx, path)
		if err != nil {
			return err
		}
		if unsaved {
			paths = append(paths, path)
		}
	}
	if len(paths) > 0 {
		return &engine.UnsavedError{Dir: l.dir, Paths: paths, Large: len(snap.large) > 0}
	}
	return nil
}

// content is those of the paths that may hold something: a FIFO, a socket or a device in the place of a file
// does not, and what git has of the file is in the snapshot.
func (l linked) content(paths []string) (all []string) {
	const special = fs.ModeNamedPipe | fs.ModeSocket | fs.ModeDevice
	for _, p := range paths {
		info, err := l.trees.Lstat(filepath.Join(l.dir, p))
		if err != nil || info.Mode()&special == 0 {
			all = append(all, p)
		}
	}
	return all
}
