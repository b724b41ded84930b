package worktree

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/beadsorch/orch/orchestrator/engine"
	"github.com/beadsorch/orch/orchestrator/private"
	"github.com/beadsorch/orch/orchestrator/text"
)

// A repository may be moved, with the folder of its worktrees or without, and be copied. The entries that git has of
// worktrees say where these were then. Git prunes none of them, since orch's are locked, and counts their branches as
// checked out.

// relocated is a worktree of the epic whose entry says that it is somewhere else than where orch has it now.
type relocated struct {
	linked
	// owner is the branch of its attempt, or verifyOwner.
	owner string
	// abandoned says that the files at dir belong to this entry, and that nothing leads from there to any repository.
	abandoned bool
	// now is the worktree's new place, where it has been moved to; zero for none.
	now linked
}

// relocated lists the entries that are out of date. What is in use where an earlier setting had it is none of them.
func (s *Store) relocated() (all []relocated, err error) {
	parent := filepath.Join(s.repo.CommonDir(), "worktrees")
	entries, err := os.ReadDir(parent)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range entries {
		if l, ok := s.relocatedAt(filepath.Join(parent, e.Name())); ok {
			all = append(all, l)
		}
	}
	return all, nil
}

// relocatedAt is one entry; ok is false where orch has not made it for this epic, or where it is right.
func (s *Store) relocatedAt(admin string) (r relocated, ok bool) {
	at, err := s.admin.ReadFile(filepath.Join(admin, "gitdir"), maxPointer)
	if err != nil {
		return r, false
	}
	why, err := s.admin.ReadFile(filepath.Join(admin, "locked"), maxPointer)
	if err != nil {
		return r, false
	}
	r.linked = s.linked(strings.TrimSuffix(strings.TrimSpace(string(at)), "/.git"))
	r.owner, ok = strings.CutPrefix(strings.TrimSpace(string(why)), lockedPrefix)
	root := filepath.Dir(r.dir)
	if !ok || r.admin != admin || !filepath.IsAbs(r.dir) || root == s.root {
		return r, false
	}
	if _, _, attempt := s.attemptOf(r.owner); !attempt && (r.owner != verifyOwner || filepath.Base(root) != filepath.Base(s.root)) {
		return r, false
	}
	leads := leadsTo(r.dir)
	if leads == admin {
		return r, false
	}
	now := s.linked(filepath.Join(s.root, filepath.Base(r.dir)))
	if filepath.Base(leadsTo(now.dir)) == filepath.Base(admin) && !now.hasAdmin() {
		r.now = now
	}
	if _, err := os.Lstat(leads); filepath.Base(leads) == filepath.Base(admin) && errors.Is(err, fs.ErrNotExist) {
		r.abandoned = true
	}
	return r, true
}

// leadsTo is the admin directory that the .git file of a worktree names; "" where there is none.
func leadsTo(dir string) string {
	files, err := private.Open(filepath.Dir(dir))
	if err != nil {
		return ""
	}
	defer files.Close()
	pointer, err := files.ReadFile(filepath.Join(dir, ".git"), maxPointer)
	if err != nil {
		return ""
	}
	admin, _ := strings.CutPrefix(strings.TrimSpace(string(pointer)), "gitdir: ")
	return admin
}

// settleRelocated makes the entries right: a worktree that was moved too goes on at its new place; of another its
// commits, and what is in its folder, are kept in the attic, and the entry is removed. Folders that are not below the
// epic's own stay, and are reported.
func (s *Store) settleRelocated(ctx context.Context) (found []engine.Leftover, err error) {
	all, err := s.relocated()
	if err != nil {
		return nil, err
	}
	for _, r := range all {
		if r.now.dir != "" {
			err = s.admin.Rename(r.admin, r.now.admin)
			found = append(found, engine.Leftover{Path: r.now.dir, What: "a worktree that was moved, with the repository or without", Fixed: true})
		} else {
			var more []engine.Leftover
			more, err = s.dropRelocated(ctx, r)
			found = append(found, more...)
		}
		if err != nil {
			return found, err
		}
	}
	return found, s.mendRelocated()
}

// mendRelocated makes the pointers of worktrees right that have just been moved, now or by a run that was killed then.
func (s *Store) mendRelocated() error {
	dirs, err := filepath.Glob(filepath.Join(escapeGlob(s.root), "*"))
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		l := s.linked(dir)
		at, readErr := l.common.ReadFile(filepath.Join(l.admin, "gitdir"), maxPointer)
		if readErr != nil || string(at) == l.pointsBack() {
			continue
		}
		for _, p := range l.wrongPointers() {
			err = errors.Join(err, p.mend())
		}
	}
	return err
}

// dropRelocated removes an entry, once what only it leads to is kept.
func (s *Store) dropRelocated(ctx context.Context, r relocated) (found []engine.Leftover, err error) {
	what := "a worktree of a repository that was moved since"
	if r.abandoned {
		files, err := private.Open(filepath.Dir(filepath.Dir(r.dir)))
		if err != nil {
			return nil, err
		}
		defer files.Close()
		r.trees = files
		found = []engine.Leftover{{Path: r.dir, What: what + ", which is not removed; all in it but what git ignores is kept", Fix: "rm -r " + text.Shell(r.dir)}}
	}
	if r.owner != verifyOwner {
		saved := r.linked
		if !r.abandoned || saved.owner() == "" {
			saved.dir = "" // another repository's, or what no agent has worked in
		}
		_, err = s.saveToAttic(ctx, saved, s.namesOf(r.owner), "")
		var unsaved *engine.UnsavedError
		if errors.As(err, &unsaved) {
			found[0].What, err = what+", which is not removed: "+unsaved.Error(), nil
		}
		if err != nil {
			return nil, err
		}
	}
	return append(found, engine.Leftover{Path: r.admin, What: "the entry of " + what + ": it says " + r.dir, Fixed: true}), s.discardAdmin(r.linked)
}
