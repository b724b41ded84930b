package land

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/beadsorch/orch/orchestrator/command"
	"github.com/beadsorch/orch/orchestrator/fault"
	"github.com/beadsorch/orch/orchestrator/git"
)

// CheckedOutError says that a branch is checked out where orch will not change the files.
type CheckedOutError = git.CheckedOutError

// Into lands an epic's tip on branch, which it fast-forwards where it can, and returns the
// branch's tip. Where branch is checked out the files are updated too, if nothing there is
// changed and no file is in the way. It fails with a [*CheckedOutError] where they are, with
// a [*ConflictError], with [git.ErrNoSuchRef] without such a branch, with [git.ErrRefMoved]
// when the branch moves meanwhile, or as git does.
func Into(ctx context.Context, repo *git.Repo, branch string, epicTip git.Commit, m Message) (git.Commit, error) {
	old, err := repo.Resolve(ctx, branch)
	if err != nil {
		return "", err
	}
	next, err := nextTip(ctx, repo, old, epicTip, m)
	if err != nil || next == old {
		return next, err
	}
	at, checkedOut, err := repo.CheckedOut(branch)
	if err != nil {
		return "", err
	}
	if !checkedOut {
		return next, Move(ctx, repo, Step{Branch: branch, From: old, To: next})
	}
	return next, moveCheckout(ctx, repo, at, Step{Branch: branch, From: old, To: next})
}

// nextTip is the next tip of branch: the epic's tip, a merge with it, or the present one.
func nextTip(ctx context.Context, repo *git.Repo, old, epicTip git.Commit, m Message) (git.Commit, error) {
	if done, err := repo.IsAncestor(ctx, epicTip, old); err != nil || done {
		return old, err
	}
	if forward, err := repo.IsAncestor(ctx, old, epicTip); err != nil || forward {
		return epicTip, err
	}
	c, err := Build(ctx, repo, old, epicTip, m)
	return c.Commit, err
}

// moveCheckout moves a branch with the files that are checked out from it. The files go
// first: when orch dies in between, they are a change that waits to be committed, not a
// revert of what has landed, and the next call finds them as they are to be.
func moveCheckout(ctx context.Context, repo *git.Repo, at git.Checkout, s Step) (err error) {
	refuse := func(reason string) error {
		return &CheckedOutError{Branch: s.Branch, Path: at.Path, Reason: reason}
	}
	if at.Path == "" {
		return refuse("is damaged")
	}
	if at.Busy != "" {
		return refuse(at.Busy)
	}
	for _, name := range []string{"MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply"} {
		if _, err := os.Lstat(filepath.Join(at.GitDir, name)); err == nil {
			return refuse("is in the middle of a merge or a rebase")
		}
	}
	there, err := repo.At(ctx, at)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, there.Close()) }()
	run := func(args ...string) (string, error) {
		res, err := there.Do(ctx, git.Call{Args: args, WorkTree: at.Path, Index: filepath.Join(at.GitDir, "index")})
		return string(res.Stdout), err
	}
	changed, err := run("status", "--porcelain", "-z", "--untracked-files=no", "--ignore-submodules=dirty")
	if err != nil {
		return err
	}
	if changed != "" {
		if _, err := run("diff-index", "--quiet", "--ignore-submodules=dirty", string(s.To), "--"); err != nil {
			return refuse("has changes that are not committed")
		}
		return Move(ctx, repo, s)
	}
	var exit *command.ExitError
	_, err = run("read-tree", "-m", "-u", "-n", string(s.From), string(s.To))
	if errors.As(err, &exit) && fault.Of(err) == nil {
		return refuse("has files in the way: " + exit.Error())
	}
	if err == nil {
		_, err = run("read-tree", "-m", "-u", string(s.From), string(s.To))
	}
	if err != nil {
		return err
	}
	if err := Move(ctx, repo, s); err != nil {
		_, back := run("read-tree", "-m", "-u", string(s.To), string(s.From))
		return errors.Join(err, back)
	}
	return nil
}
