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
// stale, or as git does.
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
	return base, s.repo.UpdateRefs(ctx, []git.RefChange{{Name: s.EpicBranch(), New: base}})
}

// CheckRepository says whether agents can work in a repository from base, a revision. A
// bare, shallow, partial or sparse repository is fine, and so is a main checkout in any state.
// It fails with a [*git.UnsupportedError] when base is no commit (as HEAD before the first one), or when a
// branch has a name that the branches of orch need as a folder; else as git does.
func CheckRepository(ctx context.Context, repo *git.Repo, base string) error {
	_, err := repo.Resolve(ctx, base)
	if errors.Is(err, git.ErrNoSuchRef) {
		return &git.UnsupportedError{Reason: "there is no commit " + base + " to begin from", Fix: "git commit --allow-empty -m begin"}
	}
	if err != nil {
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
