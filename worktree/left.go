package worktree

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/beadsorch/orch/orchestrator/engine"
	"github.com/beadsorch/orch/orchestrator/private"
	"github.com/beadsorch/orch/orchestrator/text"
)

// leftOf is what an error of a removal says of path.
func leftOf(path string, err error) engine.Leftover {
	l := engine.Leftover{Path: path, What: err.Error(), Fix: "rm -r " + text.Shell(path)}
	var at *fs.PathError
	if errors.As(err, &at) {
		l.What = fmt.Sprintf("%s: %v", at.Path, at.Err)
	}
	var mount *private.MountError
	switch {
	case errors.As(err, &mount):
		l.What = "something is mounted at " + mount.At
		l.Fix = "umount " + text.Shell(mount.At) + " && " + l.Fix
	case errors.Is(err, syscall.EPERM) && at != nil:
		l.Fix = "chattr -R -ia " + text.Shell(closedAt(path, at)) + " && " + l.Fix
	}
	return l
}

// closedAt is the folder that did not let path be removed: path itself, or where the error is about something else, the
// folder that is in.
func closedAt(path string, at *fs.PathError) string {
	if rel, err := filepath.Rel(path, at.Path); !filepath.IsAbs(at.Path) || err == nil && filepath.IsLocal(rel) {
		return path
	}
	return filepath.Dir(at.Path)
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
			continue // it stays unread, and is reported
		}
	}
	return changed
}
