package worktree

import (
	"context"
	"errors"
	"fmt"

	"github.com/beadsorch/orch/orchestrator/git"
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
// reference has one of their names, or a part of one, and when the files of references cannot be read.
func (s *Store) CheckRefs(ended bool) error {
	names := []string{s.attempts(), s.attic(), "refs/orch/" + s.epic + "/lease", "refs/orch/" + s.epic + "/tip"}
	if !ended {
		names = append(names, s.EpicBranch())
	}
	return s.repo.Free(names...)
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
