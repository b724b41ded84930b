package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/beadsorch/orch/orchestrator/git"
	"github.com/beadsorch/orch/orchestrator/refname"
)

// CheckedOutError says that the epic branch is checked out in a work tree.
type CheckedOutError = git.CheckedOutError

// EnsureEpic makes the epic branch at base when it is missing, and returns its tip. It
// fails with a [*CheckedOutError] when some work tree has the branch checked out, which moving it would leave
// stale, with a [*git.UnsupportedError] in a partial clone that has not all of base, or as git does.
func (s *Store) EnsureEpic(ctx context.Context, base git.Commit) (git.Commit, error) {
	at, checkedOut, err := s.repo.CheckedOut(s.EpicBranch())
	if err != nil {
		return "", err
	}
	if checkedOut {
		return "", &CheckedOutError{Branch: s.EpicBranch(), Path: at.Path, Reason: at.Busy}
	}
	tip, err := s.repo.Resolve(ctx, s.EpicBranch())
	if !errors.Is(err, git.ErrNoSuchRef) {
		return tip, err
	}
	if err := checkComplete(ctx, s.repo, base); err != nil {
		return "", err
	}
	return base, s.repo.UpdateRefs(ctx, []git.RefChange{{Name: s.EpicBranch(), New: base}})
}

// CheckRefs reports whether the epic's branches and references can be made. Of an epic that has
// ended the branch is not needed any more. It fails with a [*git.InTheWayError] when somebody's
// reference has one of their names, or a part of one, and when the references cannot be read.
func (s *Store) CheckRefs(ctx context.Context, ended bool) error {
	names := []string{s.attempts(), s.attic(), refname.Epic(s.epic).Lease(), refname.Epic(s.epic).Tip()}
	if !ended {
		names = append(names, s.EpicBranch())
	}
	if err := s.repo.Free(names...); err != nil {
		return err
	}
	for _, prefix := range []string{s.attempts(), s.attic()} {
		refs, err := s.repo.Refs(ctx, prefix)
		if err != nil {
			return err
		}
		for _, r := range refs {
			if s.Misplaced(r.Name) {
				return &git.InTheWayError{Name: prefix, Other: r.Name}
			}
		}
	}
	return nil
}

// Misplaced reports whether a name is among those that only orch gives references of the epic's attempts, and is none
// that it gives: such a reference may be where that of an attempt is to be.
func (s *Store) Misplaced(ref string) bool {
	for _, prefix := range []string{s.attempts(), s.attic()} {
		if rest, ok := strings.CutPrefix(ref, prefix); ok {
			_, number, _ := strings.Cut(rest, "/")
			_, err := strconv.Atoi(number)
			return err != nil
		}
	}
	return false
}

// CheckFolder fails with a [*RootError] where the folder of the worktrees, or the one above it, is no folder any more.
func (s *Store) CheckFolder() error {
	for _, dir := range []string{filepath.Dir(s.root), s.root} {
		if info, err := os.Lstat(dir); err == nil && !info.IsDir() {
			return &RootError{Root: dir, Reason: "is no folder any more: something was put in its place after the run began"}
		}
	}
	return nil
}

// checkComplete fails when a partial clone lacks objects of base: a fetch would run what the
// repository's settings name, while agents can write them.
func checkComplete(ctx context.Context, repo *git.Repo, base git.Commit) error {
	n, err := repo.Missing(ctx, base)
	if err != nil || n == 0 {
		return err
	}
	const emptyTree = "$(git hash-object -t tree /dev/null)"
	return &git.UnsupportedError{Reason: fmt.Sprintf("this is a partial clone, and %d objects of %.12s are not here; orch never fetches", n, base),
		Fix: fmt.Sprintf("fetch them: git diff --shortstat %s %.12s", emptyTree, base)}
}
