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
		return "", &CheckedOutError{Branch: s.EpicBranch(), Path: at.Path}
	}
	tip, err := s.repo.Resolve(ctx, s.EpicBranch())
	if !errors.Is(err, git.ErrNoSuchRef) {
		return tip, err
	}
	if err := whole(ctx, s.repo, base); err != nil {
		return "", err
	}
	return base, s.repo.UpdateRefs(ctx, []git.RefChange{{Name: s.EpicBranch(), New: base}})
}

// CheckRepository says whether agents can work in a repository from base, a revision. A
// bare, shallow or sparse repository is fine, and so is a main checkout in any state.
// It fails with a [*git.UnsupportedError] when base is no commit (as HEAD before the first one),
// when a partial clone has not all of it, or when a branch has a name that the branches of orch need as a folder; else as git does.
func CheckRepository(ctx context.Context, repo *git.Repo, base string) error {
	c, err := repo.Resolve(ctx, base)
	if errors.Is(err, git.ErrNoSuchRef) {
		return &git.UnsupportedError{Reason: "there is no commit " + base + " to begin from", Fix: "git commit --allow-empty -m begin"}
	}
	if err != nil {
		return err
	}
	if err := whole(ctx, repo, c); err != nil {
		return err
	}
	for _, name := range []string{"orch", "epic"} {
		refs, err := repo.Refs(ctx, "refs/heads/"+name)
		if err != nil {
			return err
		}
		for _, r := range refs {
			if git.Short(r.Name) == name {
				return &git.UnsupportedError{Reason: fmt.Sprintf("the branch %s stands where orch keeps its branches %s/...", name, name),
					Fix: fmt.Sprintf("git branch -m %s %s-branch", name, name)}
			}
		}
	}
	return nil
}

// whole fails when a partial clone has left files of base at its remote: a fetch would run what
// the repository's settings name, while agents can write them.
func whole(ctx context.Context, repo *git.Repo, base git.Commit) error {
	n, err := repo.Missing(ctx, base)
	if err != nil || n == 0 {
		return err
	}
	const emptyTree = "$(git hash-object -t tree /dev/null)"
	return &git.UnsupportedError{Reason: fmt.Sprintf("this is a partial clone, and %d objects of %.12s are not here; orch never fetches", n, base),
		Fix: fmt.Sprintf("fetch them: git diff --shortstat %s %.12s", emptyTree, base)}
}
