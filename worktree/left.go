package worktree

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// LeftError says what was to be deleted and could not be. Nothing of it is needed any more.
type LeftError struct {
	// Left are the things, each with the reason and what a person can do.
	Left []Leftover
}

// Error names the things.
func (e *LeftError) Error() string {
	var parts []string
	for _, l := range e.Left {
		parts = append(parts, l.Path+": "+l.What)
	}
	return "could not be removed: " + strings.Join(parts, "; ")
}

// leftOf is what an error of a removal says of path.
func leftOf(path string, err error) Leftover {
	l := Leftover{Path: path, What: err.Error(), Fix: "rm -r " + quote(path)}
	var at *fs.PathError
	if errors.As(err, &at) {
		l.What = fmt.Sprintf("%s: %v", at.Path, at.Err)
	}
	var mount *mountedError
	switch {
	case errors.As(err, &mount):
		l.What = mount.Error()
		l.Fix = "umount " + quote(mount.at) + " && " + l.Fix
	case errors.Is(err, syscall.EPERM) && at != nil:
		l.Fix = "chattr -R -ia " + quote(path) + " && " + l.Fix
	}
	return l
}

// mountedError says that a file system is mounted below what was to be deleted; nothing of that
// was touched.
type mountedError struct{ at string }

func (e *mountedError) Error() string { return "something is mounted at " + e.at }

// removeTree deletes path and what is below it, directories without write permission
// too (Go's module cache has them). It follows no symlink, and leaves alone what is mounted there.
func removeTree(path string) error {
	mounts := mountsBelow(path)
	if len(mounts) == 0 {
		return removeAll(path)
	}
	return removeAround(path, mounts)
}

// removeAround deletes what is below path but for the mounts and the directories on the way to them.
func removeAround(path string, mounts []string) error {
	if slices.Contains(mounts, path) {
		return &mountedError{path}
	}
	if !slices.ContainsFunc(mounts, func(m string) bool { return strings.HasPrefix(m, path+"/") }) {
		return removeAll(path)
	}
	entries, err := os.ReadDir(path)
	for _, e := range entries {
		err = errors.Join(err, removeAround(filepath.Join(path, e.Name()), mounts))
	}
	return err
}

func removeAll(path string) error {
	if os.RemoveAll(path) == nil {
		return nil
	}
	err := filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
		if d == nil || !d.IsDir() || err != nil && !errors.Is(err, fs.ErrPermission) {
			return nil
		}
		_ = os.Chmod(p, 0o700) // before its entries are read, or again after that failed; removing tells whether it helped
		return nil
	})
	return errors.Join(err, os.RemoveAll(path))
}

// makeReadable gives the user, who owns them, the rights to read paths below the worktree that
// an agent has taken away, and reports whether anything changed. Git keeps no such mode.
func (l linked) makeReadable(paths []string) (changed bool) {
	for _, p := range append([]string{"."}, paths...) {
		top := filepath.Join(l.dir, p)
		err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
			if d == nil {
				return nil
			}
			want := fs.FileMode(0o400)
			switch {
			case d.IsDir():
				want = 0o700
			case !d.Type().IsRegular():
				return nil
			}
			info, infoErr := d.Info()
			if infoErr == nil && info.Mode().Perm()&want != want {
				changed = os.Chmod(path, info.Mode().Perm()|want) == nil || changed
			}
			if p == "." {
				return fs.SkipAll // the worktree itself is all that is asked for
			}
			return nil
		})
		if err != nil {
			continue // it stays unread, and is said to be
		}
	}
	return changed
}
