package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/beadsorch/orch/orchestrator/engine"
	"github.com/beadsorch/orch/orchestrator/git"
)

// Add makes the worktree of attempt n at task, with base checked out on a new branch. What
// a crash left of it is made anew; what an earlier attempt left is removed as [Store.Remove]
// does. It does nothing when the worktree is whole. It fails as git does, as Remove does, or
// when files cannot be written; then nothing of the worktree is left.
func (s *Store) Add(ctx context.Context, task string, n int, base git.Commit) error {
	names := s.Name(task, n)
	l := s.linked(names.Dir)
	err := s.locked(ctx, func() error {
		if s.Exists(task, n) {
			return nil
		}
		if err := s.clearPath(ctx, l, names, base); err != nil {
			return fmt.Errorf("clearing %s: %w", l.dir, err)
		}
		if err := s.startBranch(ctx, names, base); err != nil {
			return err
		}
		return errors.Join(l.register("ref: "+names.Branch, names.Branch), l.makeDir())
	})
	if err != nil || s.Exists(task, n) {
		return err
	}
	select {
	case s.checkoutSlots <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-s.checkoutSlots }()
	if err := l.checkOut(ctx, l.index(), base); err != nil {
		return errors.Join(err, s.discard(l))
	}
	return l.markOwned(names.Branch)
}

// startBranch puts the branch at base; where it was, if it was anywhere, is kept.
func (s *Store) startBranch(ctx context.Context, names engine.Names, base git.Commit) error {
	create := git.RefChange{Name: names.Branch, New: base}
	if err := s.repo.UpdateRefs(ctx, []git.RefChange{create}); !errors.Is(err, git.ErrRefMoved) {
		return err
	}
	was, err := s.tip(ctx, names.Branch)
	if err != nil || was == base {
		return err
	}
	kept, err := s.atticChanges(ctx, names, base, was)
	if err != nil {
		return err
	}
	create.Old = was
	return s.repo.UpdateRefs(ctx, append(kept, create))
}

// tip is what a reference points at, empty when there is none.
func (s *Store) tip(ctx context.Context, ref string) (git.Commit, error) {
	c, err := s.repo.Resolve(ctx, ref)
	if errors.Is(err, git.ErrNoSuchRef) {
		return "", nil
	}
	return c, err
}

// clearPath removes what stands where a worktree is to be made.
func (s *Store) clearPath(ctx context.Context, l linked, names engine.Names, base git.Commit) error {
	owner := l.owner()
	switch {
	case owner != "" && owner != names.Branch && !sameTask(owner, names.Branch):
		return fmt.Errorf("it is the worktree of %s", git.Short(owner)) // ids that differ in case, on a disk that does not
	case owner != "":
		return s.removeLocked(ctx, l, s.namesOf(owner))
	case l.hasAdmin():
		return s.discard(l) // never handed out
	}
	info, err := l.trees.Lstat(l.dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.IsDir():
		return errors.New("it is not a directory")
	}
	if err := l.register(string(base), names.Branch); err != nil {
		return err
	}
	return s.removeLocked(ctx, l, names)
}

// sameTask reports whether two attempt branches are of one task.
func sameTask(a, b string) bool {
	return a[:strings.LastIndex(a, "/")+1] == b[:strings.LastIndex(b, "/")+1]
}

// namesOf are the names that go with an attempt's branch.
func (s *Store) namesOf(branch string) engine.Names {
	rest := strings.TrimPrefix(branch, s.attempts())
	slug, _, _ := strings.Cut(rest, "/")
	return engine.Names{Dir: filepath.Join(s.root, dirPrefix+slug), Branch: branch, Attic: s.attic() + rest}
}

// attemptOf takes an attempt's branch apart; ok is false when it is none of this epic's.
func (s *Store) attemptOf(branch string) (slug string, n int, ok bool) {
	rest, ok := strings.CutPrefix(branch, s.attempts())
	slug, number, cut := strings.Cut(rest, "/")
	n, err := strconv.Atoi(number)
	return slug, n, ok && cut && err == nil
}
