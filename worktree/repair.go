package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/beadsorch/orch/orchestrator/engine"
	"github.com/beadsorch/orch/orchestrator/fault"
	"github.com/beadsorch/orch/orchestrator/git"
	"github.com/beadsorch/orch/orchestrator/private"
	"github.com/beadsorch/orch/orchestrator/text"
)

// How long ago something has to have been touched to count as left behind.
const (
	lockIdle = 3 * time.Second  // what others use too, while no git runs here
	lockOld  = 60 * time.Second // whatever runs: no lock is held so long
)

// Repair mends what a crash of orch or of git left: worktrees that were not finished, that lost
// their directory or their admin directory; locks and empty references in the epic's
// namespaces; and what would block the whole repository, an admin directory that git half made
// (moved to <common>/orch/damaged) and locks of packed-refs. Of the rest it only reports the locks. The
// caller holds the epic's run lock, and no process of an earlier run is alive. It fails as git
// does, or when a file cannot be read or removed.
func (s *Store) Repair(ctx context.Context) ([]engine.Leftover, error) {
	r := repair{Store: s, common: s.repo.CommonDir()}
	err := s.locked(ctx, func() error {
		var err error
		r.running, r.known, err = git.Running(r.common, s.root, s.repo.WorkTree())
		if err != nil {
			return fmt.Errorf("looking for running gits: %w", err)
		}
		for _, step := range []func(context.Context) error{
			r.folders, r.damaged, r.packedRefs, r.references, r.moved, r.worktrees, r.strays, r.scratch, r.halfObjects, r.foreign,
		} {
			if err := step(ctx); err != nil {
				return err
			}
		}
		return nil
	})
	return r.found, err
}

// repair is one call of Repair. Its steps are in the order that each needs: an admin
// directory without content makes every later git fail.
type repair struct {
	*Store
	common  string
	running []int // gits at work in the repository
	known   bool  // running is all of them
	found   []engine.Leftover
}

func (r *repair) fixed(path, what string) {
	r.found = append(r.found, engine.Leftover{Path: path, What: what, Fixed: true})
}

// remove deletes a file, and reports it.
func (r *repair) remove(path, what string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	r.fixed(path, what)
	return nil
}

// abandoned reports whether no process needs the shared file that was touched at this time. A
// fresh one is watched until it is old enough, while no git runs that could need it.
func (r *repair) abandoned(ctx context.Context, touched time.Time) (bool, error) {
	age := r.now().Sub(touched)
	if age >= lockOld {
		return true, nil
	}
	if !r.known || len(r.running) > 0 || age < 0 {
		return false, nil
	}
	select {
	case <-time.After(lockIdle - age):
		return true, nil
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
}

// folders fails with a [*private.UnsafeError] where what git goes through is no folder: it would say so by halves, and
// of others; and with a [*fault.ClosedError] where no objects can be written. A link to a folder is as good where only git goes through it; the worktrees' own orch reads too.
func (r *repair) folders(context.Context) error {
	for _, name := range []string{"worktrees", "logs", "objects"} {
		path := filepath.Join(r.common, name)
		info, err := os.Lstat(path)
		if err == nil && info.Mode()&fs.ModeSymlink != 0 && name != "worktrees" {
			info, err = os.Stat(path)
		}
		switch {
		case errors.Is(err, fs.ErrNotExist) && info == nil:
			continue
		case err != nil:
			return err
		case info.Mode()&fs.ModeSymlink != 0:
			return &private.UnsafeError{Path: path, What: "is a symbolic link, and has to be a folder"}
		case !info.IsDir():
			return &private.UnsafeError{Path: path, What: "is no folder, and has to be one"}
		}
	}
	return fault.ClosedObjects(filepath.Join(r.common, "objects"))
}

// damaged moves half-made admin directories of git aside, orch's or not: one is
// enough to make git branch and git worktree list fail everywhere in the repository.
func (r *repair) damaged(ctx context.Context) error {
	parent := filepath.Join(r.common, "worktrees")
	entries, err := os.ReadDir(parent)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		admin := filepath.Join(parent, e.Name())
		lacks, touched := missingFile(admin)
		if lacks == "" {
			continue
		}
		what := "a worktree that git made by half: it has no " + lacks
		gone, err := r.abandoned(ctx, touched)
		if err != nil {
			return err
		}
		if now, again := missingFile(admin); now == "" || !again.Equal(touched) {
			continue // it was being made
		}
		if !gone {
			r.found = append(r.found, engine.Leftover{Path: admin, What: what, Fix: "when no git runs: rm -r " + text.Shell(admin)})
			continue
		}
		if err := r.moveAside(admin); err != nil {
			return err
		}
		r.fixed(admin, what)
	}
	return nil
}

// missingFile is a required file that an admin directory lacks, and when the directory was
// touched last; name is empty when all are there.
func missingFile(admin string) (name string, touched time.Time) {
	for _, file := range []string{"commondir", "gitdir", "HEAD"} {
		info, err := os.Stat(filepath.Join(admin, file))
		if err == nil && info.Size() == 0 || errors.Is(err, fs.ErrNotExist) {
			name = file
		}
		if err == nil && info.ModTime().After(touched) {
			touched = info.ModTime()
		}
	}
	info, err := os.Stat(admin)
	if err != nil || !info.IsDir() {
		return "", touched
	}
	if info.ModTime().After(touched) {
		touched = info.ModTime()
	}
	return name, touched
}

func (r *repair) moveAside(admin string) error {
	keep := filepath.Join(r.common, "orch", "damaged")
	aside, err := r.admin.MkdirTemp(keep, filepath.Base(admin)+"-")
	if err != nil {
		return err
	}
	return r.admin.Rename(admin, filepath.Join(aside, "admin"))
}

// packedRefs removes what a killed git branch -D or pack-refs leaves; with it, no packed
// reference can be deleted.
func (r *repair) packedRefs(ctx context.Context) error {
	for _, name := range []string{"packed-refs.new", "packed-refs.lock"} {
		path := filepath.Join(r.common, name)
		info, err := os.Lstat(path)
		if err != nil {
			continue
		}
		gone, err := r.abandoned(ctx, info.ModTime())
		if err != nil {
			return err
		}
		again, err := os.Lstat(path)
		if err != nil || !os.SameFile(info, again) {
			continue // a git is at work
		}
		if !gone {
			r.report(path, "a lock on the packed references")
			continue
		}
		if err := r.remove(path, "a lock on the packed references"); err != nil {
			return err
		}
	}
	return nil
}

// report says of a lock that it was left alone.
func (r *repair) report(path, what string) {
	fix := "when no git runs: rm " + text.Shell(path)
	if len(r.running) > 0 {
		fix = fmt.Sprintf("it may be held by process %d; %s", r.running[0], fix)
	}
	r.found = append(r.found, engine.Leftover{Path: path, What: what, Fix: fix})
}

// foreign reports old locks of others. orch needs none of the files that they protect.
func (r *repair) foreign(context.Context) error {
	for _, name := range []string{"index.lock", "HEAD.lock", "config.lock", "shallow.lock"} {
		path := filepath.Join(r.common, name)
		if info, err := os.Lstat(path); err == nil && r.now().Sub(info.ModTime()) >= lockOld {
			r.report(path, "a lock that is not orch's")
		}
	}
	return nil
}

// moved settles the worktrees that are not any more where git has them.
func (r *repair) moved(ctx context.Context) error {
	found, err := r.settleRelocated(ctx)
	r.found = append(r.found, found...)
	if err != nil {
		return err
	}
	found, err = r.settleSupplanted(ctx)
	r.found = append(r.found, found...)
	return err
}

// scratch deletes what an earlier run was deleting, and scratch files whose process has ended.
func (r *repair) scratch(context.Context) error {
	paths, err := r.discarded()
	var unsafe *private.UnsafeError
	if errors.As(err, &unsafe) {
		err = r.files.MkdirAll(filepath.Join(r.root, trashDir)) // which takes it away, and not what it leads to
		r.fixed(unsafe.Path, "what stood in place of a folder of orch's: it "+unsafe.What)
	}
	if err != nil {
		return err
	}
	for _, path := range paths {
		r.trash.delete(path)
		r.fixed(path, "a removed worktree that was not deleted yet")
	}
	_, left, err := r.repo.Sweep(r.now())
	for _, u := range left {
		r.found = append(r.found, leftOf(u.Path, u.Err))
	}
	return err
}

// discarded lists what was to be deleted and is there still, but for what this process deletes just now.
func (s *Store) discarded() (paths []string, err error) {
	bin := filepath.Join(s.root, trashDir)
	entries, err := s.files.ReadDir(bin)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		if path := filepath.Join(bin, e.Name()); !s.trash.isDeleting(path) {
			paths = append(paths, path)
		}
	}
	return paths, err
}

// Sweep deletes what runs that were killed had to delete still, the scratch files of processes
// that have ended, and the entries of worktrees from where the repository was before; a dry one only lists it. No run of the epic goes on meanwhile; what cannot be
// deleted is reported by Close. It fails when the folders cannot be read.
func (s *Store) Sweep(ctx context.Context, dry bool) (paths []string, err error) {
	err = s.locked(ctx, func() error {
		var scratch []string
		var unsafe *private.UnsafeError
		if paths, err = s.discarded(); err != nil && !errors.As(err, &unsafe) { // which Repair takes away
			return err
		}
		if dry {
			scratch, err = s.repo.Abandoned(s.now())
		} else {
			for _, path := range paths {
				s.trash.delete(path)
			}
			var left []git.Unremoved
			scratch, left, err = s.repo.Sweep(s.now())
			for _, u := range left {
				s.trash.leave(leftOf(u.Path, u.Err))
			}
		}
		paths = append(paths, scratch...)
		if err != nil {
			return err
		}
		moved, err := s.sweepRelocated(ctx, dry)
		paths = append(paths, moved...)
		if err != nil {
			return err
		}
		others, err := s.sweepSupplanted(ctx, dry)
		paths = append(paths, others...)
		return err
	})
	return paths, err
}

// sweepRelocated settles the entries of worktrees that are out of date, or only lists them.
func (s *Store) sweepRelocated(ctx context.Context, dry bool) (paths []string, err error) {
	if dry {
		all, err := s.relocated()
		for _, r := range all {
			paths = append(paths, r.admin)
		}
		return paths, err
	}
	found, err := s.settleRelocated(ctx)
	for _, l := range found {
		if l.Fixed {
			paths = append(paths, l.Path)
		} else {
			s.trash.leave(l)
		}
	}
	return paths, err
}

// Relocated lists the entries, in the git directory, of the epic's worktrees that are not any more where these say,
// since the repository was moved. It fails when the folder of entries cannot be read.
func (s *Store) Relocated(ctx context.Context) (paths []string, err error) {
	return s.sweepRelocated(ctx, true)
}

// halfObjects deletes objects and packs that a killed git was writing: nothing knows their names.
func (r *repair) halfObjects(context.Context) error {
	if !r.known || len(r.running) > 0 {
		return nil
	}
	objects := filepath.Join(r.common, "objects")
	dirs, err := os.ReadDir(objects)
	if err != nil {
		return err
	}
	for _, d := range dirs {
		prefix := "tmp_obj_"
		if d.Name() == "pack" {
			prefix = "tmp_"
		}
		if !d.IsDir() || len(d.Name()) != 2 && d.Name() != "pack" {
			continue
		}
		entries, err := os.ReadDir(filepath.Join(objects, d.Name()))
		if err != nil {
			return err
		}
		for _, e := range entries {
			info, err := e.Info()
			if err != nil || !e.Type().IsRegular() || !strings.HasPrefix(e.Name(), prefix) || r.now().Sub(info.ModTime()) < lockOld {
				continue
			}
			if err := r.remove(filepath.Join(objects, d.Name(), e.Name()), "an object that a killed git was writing"); err != nil {
				return err
			}
		}
	}
	return nil
}

// lastValid is the newest commit in a reflog that is still there.
func (r *repair) lastValid(ctx context.Context, ref string) (git.Commit, error) {
	content, err := os.ReadFile(filepath.Join(r.common, "logs", filepath.FromSlash(ref)))
	if err != nil {
		return "", nil
	}
	lines := strings.Split(strings.TrimSpace(string(content)), "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		fields := strings.SplitN(lines[i], " ", 3)
		if len(fields) < 3 || !isID(fields[1]) {
			continue
		}
		if c, err := r.tip(ctx, fields[1]); err != nil || c != "" {
			return c, err
		}
	}
	return "", nil
}
