package worktree

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/beadsorch/orch/orchestrator/private"
)

// nestedUnsaved reports whether the repository in path, below the worktree, has anything that
// its remotes have not: a commit, or a file that differs from its HEAD. Only its references and
// commits are read, and nothing of its configuration; its files are compared through an index
// and objects of ours.
func (l linked) nestedUnsaved(ctx context.Context, path string) (unsaved bool, err error) {
	dir := filepath.Join(l.dir, path)
	gitDir, err := nestedGitDir(dir)
	if err != nil || gitDir == "" {
		return false, err
	}
	inner := l.repo.Foreign(gitDir)
	defer func() { err = errors.Join(err, inner.Close()) }()
	tree, err := inner.Out(ctx, "rev-parse", "--verify", "--quiet", "HEAD^{tree}")
	if err != nil {
		return true, ctx.Err() // no commit, or none that can be read: what it holds is nowhere else
	}
	ahead, err := inner.Out(ctx, "rev-list", "--max-count=1", "HEAD", "--all", "--not", "--remotes")
	if err != nil || ahead != "" {
		return true, ctx.Err()
	}
	files, err := linked{repo: l.repo, dir: dir, admin: l.admin, trees: l.trees, common: l.common, limits: l.limits}.files(ctx)
	return files.tree != tree || len(files.nested)+len(files.unread) > 0, err
}

// files is a snapshot of the files alone, as if nothing of them were in an index.
func (l linked) files(ctx context.Context) (snap snapshot, err error) {
	scratch, err := l.repo.Scratch("index-")
	if err != nil {
		return snap, err
	}
	defer func() { err = errors.Join(err, l.drop(scratch)) }()
	return snap, l.stage(ctx, filepath.Join(scratch, "index"), entries{}, &snap)
}

// nestedGitDir is the git directory of the repository in dir, empty when there is none.
func nestedGitDir(dir string) (string, error) {
	dot := filepath.Join(dir, ".git")
	info, err := os.Lstat(dot)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return "", nil
	case err != nil || info.IsDir():
		return dot, err
	}
	content, err := private.ReadFile(dot, maxPointer)
	if err != nil {
		return "", err
	}
	target := strings.TrimSpace(strings.TrimPrefix(string(content), "gitdir:"))
	if !filepath.IsAbs(target) {
		target = filepath.Join(dir, target)
	}
	return target, nil
}
