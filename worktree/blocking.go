package worktree

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/beadsorch/orch/orchestrator/git"
)

// unblock takes away what git would wait for, and gives its paths below the worktree: pipes and
// devices where git reads a file as it looks through a worktree. They have no content. A .git file that leads to
// a repository elsewhere with such a thing gets another name. It fails when something of it cannot be removed.
func (l linked) unblock() (paths []string, err error) {
	for _, path := range git.Blocking(l.dir) {
		rel, relErr := filepath.Rel(l.dir, path)
		if relErr != nil {
			return paths, relErr
		}
		if info, statErr := l.trees.Lstat(path); statErr == nil && info.Mode().IsRegular() {
			err = errors.Join(err, l.trees.Rename(path, path+".aside"))
		} else if rmErr := l.trees.Remove(path); !errors.Is(rmErr, fs.ErrNotExist) {
			err = errors.Join(err, rmErr)
		}
		paths = append(paths, rel)
	}
	return paths, err
}

// putBack writes those of paths that the index has as it has them, in the place of what unblock took away.
func (l linked) putBack(ctx context.Context, index string, paths []string) error {
	paths = slices.DeleteFunc(slices.Clone(paths), func(p string) bool {
		_, err := os.Lstat(filepath.Join(l.dir, p))
		return err == nil || strings.Contains("/"+filepath.ToSlash(p)+"/", "/.git/")
	})
	if len(paths) == 0 {
		return nil
	}
	_, err := l.git(ctx, index, zeroEnded(paths), "checkout-index", "--force", "--quiet", "-z", "--stdin")
	if exitCode(err) == 1 { // some are not in the index
		return nil
	}
	return err
}
