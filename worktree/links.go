package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/beadsorch/orch/orchestrator/engine"
	"github.com/beadsorch/orch/orchestrator/git"
)

// gitlink is the mode of an entry of a tree that names a commit of another repository.
const gitlink = "160000"

// findEmbedded finds the repositories below the worktree that keep the work from being taken: those that Head links to, with a
// commit that no other repository is known to have; or where nothing has changed, those with what is saved nowhere. Beside
// changes it notes the latter, unless they are submodules.
func (h *harvest) findEmbedded(ctx context.Context, snap snapshot) error {
	changes, err := h.s.repo.ChangedFiles(ctx, h.base, h.work.Head)
	if err != nil {
		return err
	}
	if len(changes) == 0 {
		h.work.Embedded, err = h.l.allUnsaved(ctx, snap.nested)
		return err
	}
	if h.work.Apart, err = h.l.allUnsaved(ctx, snap.apart); err != nil {
		return err
	}
	links := slices.DeleteFunc(changes, func(c git.FileChange) bool { return c.NewMode != gitlink })
	if len(links) == 0 {
		return nil
	}
	modules, err := h.submodules(ctx)
	if err != nil {
		return err
	}
	for _, c := range links {
		known := slices.Contains(modules, c.Path)
		if known {
			if known, err = h.l.publishes(ctx, c.Path, c.New); err != nil {
				return err
			}
		}
		if !known {
			h.work.Embedded = append(h.work.Embedded, c.Path)
		}
	}
	return nil
}

// allUnsaved are those of the repositories below the worktree that have what is saved nowhere.
func (l linked) allUnsaved(ctx context.Context, repos []string) (unsaved []string, err error) {
	for _, path := range repos {
		has, err := l.nestedUnsaved(ctx, path)
		if err != nil {
			return nil, err
		}
		if has {
			unsaved = append(unsaved, path)
		}
	}
	return unsaved, nil
}

// submodules are the paths that .gitmodules of Head names.
func (h *harvest) submodules(ctx context.Context) (paths []string, err error) {
	res, err := h.s.repo.Do(ctx, git.Call{Args: []string{"config", "--blob", string(h.work.Head) + ":.gitmodules", "--null", "--get-regexp", `^submodule\..*\.path$`}})
	if exitCode(err) > 0 { // no such file, nothing in it, or none that git can read
		return nil, ctx.Err()
	}
	for _, entry := range zeroSplit(res.Stdout) {
		_, path, _ := strings.Cut(entry, "\n")
		paths = append(paths, path)
	}
	return paths, err
}

// publishes reports whether the submodule in path has from a remote the commit that is linked to. One that is
// not checked out is taken at its word: nothing was committed there.
func (l linked) publishes(ctx context.Context, path, commit string) (known bool, err error) {
	gitDir, err := nestedGitDir(filepath.Join(l.dir, path))
	if err != nil || gitDir == "" {
		return err == nil, err
	}
	inner := l.repo.Foreign(gitDir)
	defer func() { err = errors.Join(err, inner.Close()) }()
	ahead, err := inner.Out(ctx, "rev-list", "--max-count=1", commit, "--not", "--remotes")
	if err != nil {
		return false, ctx.Err()
	}
	return ahead == "", nil
}

// KeptPrefix is what the name of a folder begins with, beside the worktrees, that has what SetAside has moved.
const KeptPrefix = "kept-"

// SetAside moves what Remove has refused to lose, paths below the worktree of attempt n at task, into a folder
// beside it, which it returns. The git directory of a submodule goes with it, since it is in that of the worktree.
// It fails as the file system does.
func (s *Store) SetAside(task string, n int, unsaved *engine.UnsavedError) (dir string, err error) {
	names := s.Name(task, n)
	if dir, err = s.files.MkdirTemp(s.root, KeptPrefix+filepath.Base(names.Dir)+"-"); err != nil {
		return "", err
	}
	for _, path := range unsaved.Paths {
		if err := s.setAside(s.linked(names.Dir), path, filepath.Join(dir, path)); err != nil {
			return dir, errors.Join(unsaved, err)
		}
	}
	return dir, nil
}

// setAside moves what is in path below the worktree.
func (s *Store) setAside(l linked, path, to string) error {
	from := filepath.Join(l.dir, path)
	gitDir, err := nestedGitDir(from)
	if err != nil {
		return err
	}
	if err := errors.Join(s.files.MkdirAll(filepath.Dir(to)), s.files.Rename(from, to)); err != nil {
		return err
	}
	if rel, err := filepath.Rel(l.admin, gitDir); err != nil || !filepath.IsLocal(rel) {
		return nil
	}
	moved := filepath.Join(to, ".git")
	if err := errors.Join(s.files.Remove(moved), os.Rename(gitDir, moved)); err != nil {
		return err
	}
	config := filepath.Join(moved, "config")
	content, err := s.files.ReadFile(config, maxPointer)
	if err != nil {
		return err
	}
	return s.files.WriteFile(config, fmt.Appendf(content, "\n[core]\n\tworktree = %q\n", to)) // the last one counts
}
