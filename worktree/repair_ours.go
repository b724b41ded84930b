package worktree

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/beadsorch/orch/orchestrator/engine"
	"github.com/beadsorch/orch/orchestrator/git"
	"github.com/beadsorch/orch/orchestrator/text"
)

// references removes locks on the epic's own references, then gives an empty one the
// value that its reflog has.
func (r *repair) references(ctx context.Context) error {
	var empty []string
	for _, prefix := range r.ours() {
		path := filepath.Join(r.common, filepath.FromSlash(strings.TrimSuffix(prefix, "/")))
		if err := r.lock(path + ".lock"); err != nil {
			return err
		}
		err := filepath.WalkDir(path, func(file string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) || err == nil && !d.Type().IsRegular() {
				return nil
			}
			if err != nil {
				return err
			}
			if strings.HasSuffix(file, ".lock") {
				return r.lock(file)
			}
			if info, err := d.Info(); err == nil && info.Size() == 0 {
				empty = append(empty, file)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	for _, file := range empty {
		if err := r.reference(ctx, file); err != nil {
			return err
		}
	}
	return nil
}

// lock removes a lock in the epic's namespace: whoever made it is dead, or is a git that
// can be seen.
func (r *repair) lock(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return nil
	}
	const what = "a lock of a git that was killed"
	if len(r.running) > 0 && r.now().Sub(info.ModTime()) < lockOld {
		r.report(path, what)
		return nil
	}
	return r.remove(path, what)
}

// reference mends an empty one.
func (r *repair) reference(ctx context.Context, file string) error {
	name, err := filepath.Rel(r.common, file)
	if err != nil {
		return err
	}
	ref := filepath.ToSlash(name)
	was, err := r.lastValid(ctx, ref)
	if err != nil {
		return err
	}
	found := engine.Leftover{Path: file, Ref: ref, What: "an empty reference", Fixed: true}
	if was == "" && ref == r.EpicBranch() { // made anew, it would lose what has landed
		found.Fixed, found.Fix = false, "find its tip with git fsck --lost-found, write it into the file"
		r.found = append(r.found, found)
		return nil
	}
	if err := os.Remove(file); err != nil {
		return err
	}
	r.found = append(r.found, found)
	if packed, err := r.tip(ctx, ref); err != nil || was == "" || packed == was {
		return err
	}
	return r.repo.UpdateRefs(ctx, []git.RefChange{{Name: ref, New: was, Old: git.AnyOld}})
}

// worktrees makes each worktree of the epic either whole or gone.
func (r *repair) worktrees(ctx context.Context) error {
	admins, err := r.admins()
	if err != nil {
		return err
	}
	for _, l := range admins {
		locks, err := filepath.Glob(filepath.Join(l.admin, "*.lock"))
		if err != nil {
			return err
		}
		for _, path := range locks {
			if err := r.lock(path); err != nil {
				return err
			}
		}
		if err := r.worktree(ctx, l); err != nil {
			return err
		}
	}
	return nil
}

func (r *repair) worktree(ctx context.Context, l linked) error {
	owner := l.owner()
	switch {
	case owner != "" && l.hasDir():
		return nil
	case owner == "":
		r.fixed(l.dir, "a worktree that was not finished")
	case owner == verifyOwner:
	default:
		r.fixed(l.dir, "a worktree whose directory is gone; what was committed there is kept")
		names := r.namesOf(owner)
		v, err := r.readRefs(ctx, l, names)
		if err != nil {
			return err
		}
		changes, err := r.atticChanges(ctx, names, v.branch, v.tips()...)
		if err == nil && len(changes) > 0 {
			err = r.repo.UpdateRefs(ctx, changes)
		}
		if err != nil {
			return err
		}
	}
	return r.discard(l)
}

// strays registers worktrees again whose admin directory was pruned.
func (r *repair) strays(ctx context.Context) error {
	dirs, err := filepath.Glob(filepath.Join(escapeGlob(r.root), dirPrefix+"*"))
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		l := r.linked(dir)
		if l.hasAdmin() || !l.hasDir() {
			continue
		}
		branch, err := r.lastAttempt(ctx, strings.TrimPrefix(filepath.Base(dir), dirPrefix))
		if err != nil {
			return err
		}
		if branch == "" {
			r.found = append(r.found, engine.Leftover{Path: dir, What: "a directory that belongs to no attempt", Fix: "rm -r " + text.Shell(dir)})
			continue
		}
		if err := l.register("ref: "+branch, branch); err != nil {
			return err
		}
		if _, err := l.git(ctx, l.index(), nil, "read-tree", "--reset", branch); err != nil {
			return err
		}
		if err := l.markOwned(branch); err != nil {
			return err
		}
		r.fixed(dir, "a worktree that git had forgotten")
	}
	return nil
}

// lastAttempt is the branch of a task's newest attempt.
func (r *repair) lastAttempt(ctx context.Context, slug string) (branch string, err error) {
	refs, err := r.repo.Refs(ctx, r.attempts()+slug+"/")
	last := 0
	for _, ref := range refs {
		if _, n, ok := r.attemptOf(ref.Name); ok && n > last {
			branch, last = ref.Name, n
		}
	}
	return branch, err
}

// escapeGlob is a path as a pattern that matches it alone.
func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}
