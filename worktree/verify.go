package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/beadsorch/orch/orchestrator/engine"
	"github.com/beadsorch/orch/orchestrator/git"
)

const verifyOwner = "verify"

// VerifyDir is the worktree that the gate runs in. It need not be there before Checkout.
func (s *Store) VerifyDir() string { return filepath.Join(s.root, "verify") }

// Checkout makes the verify worktree exactly c: HEAD detached, every file as it is in c, nothing
// else, not even what is ignored. Its index is written from one that is kept elsewhere,
// so that no mark in it can hide an old file. A worktree that resists is made anew. One
// caller at a time; it fails as git does, or when files cannot be written.
func (s *Store) Checkout(ctx context.Context, c git.Commit) (dir string, err error) {
	l := s.linked(s.VerifyDir())
	if l.owner() == verifyOwner && l.hasDir() {
		if err := s.move(ctx, l, c); err == nil {
			return l.dir, nil
		}
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
	}
	err = s.locked(ctx, func() error {
		return errors.Join(s.discard(l), l.register(string(c), verifyOwner), l.makeDir())
	})
	if err == nil {
		err = s.move(ctx, l, c)
	}
	if err == nil {
		err = l.markOwned(verifyOwner)
	}
	return l.dir, err
}

// move makes the verify worktree exactly c, or fails.
func (s *Store) move(ctx context.Context, l linked, c git.Commit) error {
	if err := l.trees.WriteFile(filepath.Join(l.dir, ".git"), []byte(l.pointer())); err != nil {
		return err
	}
	for _, name := range []string{"index.lock", "HEAD.lock"} { // of a git that the gate has left or killed
		if err := l.common.Remove(filepath.Join(l.admin, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	if err := l.clearOperations(); err != nil {
		return err
	}
	index, err := l.repo.Own(filepath.Base(l.admin))
	if err != nil {
		return err
	}
	if _, err := l.unblock(); err != nil {
		return err
	}
	if err := l.checkOut(ctx, index, c); err != nil {
		return err
	}
	if _, err := l.git(ctx, index, nil, "clean", "-ffdxq"); err != nil {
		return fmt.Errorf("cleaning %s: %w", l.dir, err)
	}
	res, err := l.git(ctx, index, nil, "ls-files", "-z", "--others")
	if err == nil && len(res.Stdout) > 0 {
		err = fmt.Errorf("cleaning %s: %q is still there", l.dir, zeroSplit(res.Stdout)[0])
	}
	if err != nil {
		return err
	}
	if err := l.setHead(string(c), "", c, s.now()); err != nil {
		return err
	}
	return l.copyIndex(index, l.index())
}

// Close removes the verify worktree, waits until what was removed is deleted, and removes
// the folder of the epic's worktrees if it is empty then. It fails with a [*engine.LeftError] alone, when
// something could not be deleted.
func (s *Store) Close(ctx context.Context) error {
	l := s.linked(s.VerifyDir())
	var left []engine.Leftover
	if l.hasAdmin() || l.hasDir() {
		if err := s.locked(ctx, func() error { return s.discard(l) }); err != nil {
			left = append(left, leftOf(l.dir, err))
		}
	}
	if all, err := s.supplanted(); err == nil && len(all) > 0 { // what cannot be removed is found by the next Repair
		_ = s.locked(ctx, func() error { _, err := s.settleSupplanted(ctx); return err })
	}
	left = append(left, s.trash.wait()...)
	for _, dir := range []string{filepath.Join(s.root, trashDir), s.root} {
		if entries, err := s.files.ReadDir(dir); err == nil && len(entries) == 0 {
			if err := s.files.Remove(dir); err != nil && !errors.Is(err, os.ErrNotExist) {
				left = append(left, leftOf(dir, err))
			}
		}
	}
	if len(left) > 0 {
		return &engine.LeftError{Left: left}
	}
	return nil
}
