package tamper

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/beadsorch/orch/orchestrator/git"
)

// Clear takes away what git would wait for as it reads the repository, before any git is asked: pipes and devices in
// the git directory, and links to such. They have no content that could be lost. It fails as say does, which is called
// before, and where something cannot be removed; what was found is returned.
func (g *Guard) Clear(say Say) ([]Change, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.clear(say)
}

func (g *Guard) clear(say Say) (found []Change, err error) {
	paths, err := g.blocking()
	if err != nil || len(paths) == 0 {
		return nil, err
	}
	for path, mode := range paths {
		found = append(found, Change{Path: path, What: "was planted: " + kindOf(mode) + ", which git would wait for", Restored: true})
	}
	slices.SortFunc(found, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	if say != nil {
		if err := say(found); err != nil {
			return nil, err
		}
	}
	for i, c := range found {
		woken := wake(g.at(c.Path))
		rmErr := g.Files.Remove(g.at(c.Path))
		woken()
		if rmErr != nil && !errors.Is(rmErr, fs.ErrNotExist) {
			found[i].Restored = false
			err = errors.Join(err, rmErr)
		}
	}
	return found, err
}

// wake opens a pipe for writing, so that a git which waits to open it goes on, and finds the end of it once what is
// returned is called. Nothing is done to what is no pipe.
func wake(path string) (done func()) {
	if info, err := os.Stat(path); err != nil || info.Mode()&fs.ModeNamedPipe == 0 {
		return func() {}
	}
	f, err := os.OpenFile(path, os.O_RDWR|syscall.O_NONBLOCK, 0)
	if err != nil {
		return func() {}
	}
	return func() { f.Close() }
}

// blocking are the paths below the git directory that git would wait for, with what stands there. Orch's own folder is
// left out, which no git reads.
func (g *Guard) blocking() (map[string]fs.FileMode, error) {
	found := map[string]fs.FileMode{}
	top := g.Repo.CommonDir()
	err := filepath.WalkDir(top, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil // it is gone, or git cannot read it either
		}
		if e.IsDir() {
			if path == filepath.Join(top, "orch") {
				return fs.SkipDir
			}
			return nil
		}
		mode := e.Type()
		if mode&fs.ModeSymlink != 0 {
			if info, err := os.Stat(path); err == nil {
				mode = info.Mode()
			}
		}
		if !git.Special(mode) {
			return nil
		}
		rel, err := filepath.Rel(top, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if _, known := g.was.Files[rel]; !known || strings.HasPrefix(rel, "objects/") { // else no git of orch reads it, and it is put back
			found[rel] = mode
		}
		return nil
	})
	return found, err
}
