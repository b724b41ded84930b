package worktree

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/beadsorch/orch/orchestrator/engine"
	"github.com/beadsorch/orch/orchestrator/slug"
)

// Below the epic's folder only orch makes worktrees. An agent that makes one there too gives git an entry of its own for
// it, which stays when orch puts a worktree of its own in that place, or removes the folder; git prunes none that is locked.

// supplanted lists the entries that git has of worktrees below the epic's folder, that orch has not made, and whose files
// are gone or another's. One whose files are there is in use.
func (s *Store) supplanted() (all []linked, err error) {
	parent := filepath.Join(s.repo.CommonDir(), "worktrees")
	entries, err := os.ReadDir(parent)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range entries {
		admin := filepath.Join(parent, e.Name())
		at, err := s.admin.ReadFile(filepath.Join(admin, "gitdir"), maxPointer)
		if err != nil {
			continue // none, or half-made
		}
		l := s.linked(strings.TrimSuffix(strings.TrimSpace(string(at)), "/.git"))
		if filepath.Dir(l.dir) != s.root || l.admin == admin || leadsTo(l.dir) == admin || s.isBegun(admin) {
			continue
		}
		l.admin = admin
		all = append(all, l)
	}
	return all, nil
}

// isBegun reports whether a git may be making the worktree of an entry now.
func (s *Store) isBegun(admin string) bool {
	info, err := s.admin.Lstat(admin)
	if err != nil || s.now().Sub(info.ModTime()) > lockOld {
		return false
	}
	why, err := s.admin.ReadFile(filepath.Join(admin, "locked"), maxPointer)
	return err == nil && strings.TrimSpace(string(why)) == "initializing" // until it is whole
}

// settleSupplanted removes those entries, once what only they lead to is kept in the attic. The caller has the lock.
func (s *Store) settleSupplanted(ctx context.Context) (found []engine.Leftover, err error) {
	all, err := s.supplanted()
	if err != nil {
		return nil, err
	}
	for _, l := range all {
		of := slug.Of(strings.TrimPrefix(filepath.Base(l.dir), dirPrefix)) + "/0" // no attempt has the number
		names := engine.Names{Branch: s.attempts() + of, Attic: s.attic() + of}
		saved := l
		saved.dir = "" // its files are gone, or another's
		if _, err := s.saveToAttic(ctx, saved, names, ""); err != nil {
			return found, err
		}
		if err := s.discardAdmin(l); err != nil {
			return found, err
		}
		found = append(found, engine.Leftover{Path: l.admin, What: "the entry of a worktree that orch has not made, in its folder " + s.root + ", without its files", Fixed: true})
	}
	return found, nil
}

// sweepSupplanted settles those entries, or only lists them.
func (s *Store) sweepSupplanted(ctx context.Context, dry bool) (paths []string, err error) {
	if dry {
		all, err := s.supplanted()
		for _, l := range all {
			paths = append(paths, l.admin)
		}
		return paths, err
	}
	found, err := s.settleSupplanted(ctx)
	for _, l := range found {
		paths = append(paths, l.Path)
	}
	return paths, err
}
