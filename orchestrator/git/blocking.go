package git

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// BlockingError says that git would wait for ever as it reads a repository or a worktree.
type BlockingError struct {
	// Path is the pipe or device.
	Path string
}

// Error names it.
func (e *BlockingError) Error() string {
	return fmt.Sprintf("%s is no plain file, and git would wait for it", e.Path)
}

// Special reports whether an open of such a file may wait, or what is read there may have no end: a pipe, a device. A
// socket cannot be opened at all, and git's own daemon leaves one.
func Special(mode fs.FileMode) bool {
	return mode&(fs.ModeNamedPipe|fs.ModeDevice|fs.ModeCharDevice|fs.ModeIrregular) != 0
}

// readAnywhere are the files that git reads in any folder of a worktree that it looks through.
func readAnywhere() []string {
	return []string{".gitignore", ".gitattributes", ".gitmodules", ".mailmap"}
}

// readOfNested are the files that git reads of a repository below a worktree, as it asks whether it is one.
func readOfNested() []string { return []string{"HEAD", "commondir", "config", "packed-refs"} }

// Blocking lists, by absolute paths, what git would wait for as it looks through the worktree at dir: special
// files where git reads one, and .git files that lead to a repository that has one. The .git of dir itself, and
// what cannot be inspected, are left out.
func Blocking(dir string) (paths []string) {
	walk := func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil
		case e.IsDir() || path == filepath.Join(dir, ".git"):
		case Special(e.Type()) && (slices.Contains(readAnywhere(), e.Name()) || slices.Contains(readOfNested(), e.Name()) || inRepository(dir, path)):
			paths = append(paths, path)
		case e.Name() == ".git" && e.Type().IsRegular() && leadsToSpecial(path):
			paths = append(paths, path)
		}
		return nil
	}
	if err := filepath.WalkDir(dir, walk); err != nil {
		return paths // walk gives none
	}
	return paths
}

// inRepository reports whether path is below a folder .git below dir.
func inRepository(dir, path string) bool {
	return strings.Contains(strings.TrimPrefix(path, dir), string(filepath.Separator)+".git"+string(filepath.Separator))
}

// leadsToSpecial reports whether a .git file names a repository with a special file where git reads one.
func leadsToSpecial(pointer string) bool {
	content, err := readRegular(pointer, maxSmall)
	target, ok := strings.CutPrefix(strings.TrimSpace(string(content)), "gitdir:")
	if err != nil || !ok {
		return false
	}
	if target = strings.TrimSpace(target); !filepath.IsAbs(target) {
		target = filepath.Join(filepath.Dir(pointer), target)
	}
	return slices.ContainsFunc(readOfNested(), func(name string) bool {
		info, err := os.Lstat(filepath.Join(target, name))
		return err == nil && Special(info.Mode())
	})
}
