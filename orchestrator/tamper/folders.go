package tamper

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/beadsorch/orch/orchestrator/refname"
)

// gitFolders are the folders of a git directory that every git uses, and that stay real folders during a run.
func gitFolders() []string {
	return []string{"worktrees", "logs", "objects", "objects/pack", "objects/info", "refs", "refs/heads", "refs/orch"}
}

// identity tells one folder from another, wherever it is moved on its disk.
type identity struct {
	Device uint64 `json:"device"`
	Inode  uint64 `json:"inode"`
}

func identityOf(info fs.FileInfo) (id identity, ok bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.IsDir() {
		return identity{}, false
	}
	return identity{uint64(st.Dev), st.Ino}, true
}

// takeFolders remembers which folders there are, and which are not there yet; a person's link in the place of one is
// not remembered.
func (g *Guard) takeFolders() map[string]identity {
	all := map[string]identity{}
	for _, path := range gitFolders() {
		info, err := os.Lstat(g.at(path))
		if errors.Is(err, fs.ErrNotExist) {
			all[path] = identity{}
		} else if err == nil && info.IsDir() {
			all[path], _ = identityOf(info)
		}
	}
	return all
}

// replaced are the folders in whose place something else stands. One that is gone is not among them: git and persons
// remove empty ones.
func (g *Guard) replaced() (found []Change) {
	for _, path := range gitFolders() {
		if _, known := g.was.Folders[path]; !known {
			continue
		}
		info, err := os.Lstat(g.at(path))
		if err != nil || info.IsDir() {
			continue
		}
		found = append(found, Change{Path: path, What: "was replaced by " + kindOf(info.Mode())})
	}
	return found
}

// checkFolders puts folders back that were replaced, before any git is asked: with them, git finds neither
// references nor objects nor worktrees. say is called before. What they had is looked for where a link in their
// place leads to, and beside them. It fails as say does, and where something cannot be moved.
func (g *Guard) checkFolders(say Say) (found []Change, err error) {
	if found = g.replaced(); len(found) == 0 {
		return nil, nil
	}
	from := make([]string, len(found))
	for i := range found {
		c := &found[i]
		if from[i] = g.movedTo(c.Path); from[i] != "" {
			c.Restored, c.What = true, c.What+", and moved to "+from[i]
		} else if c.Restored = canBeEmpty(c.Path); !c.Restored {
			c.Fix = "what was in it is not found; ls -ld " + shellQuoted(g.at(c.Path))
		}
	}
	if say != nil {
		if err := say(found); err != nil {
			return nil, err
		}
	}
	for i, c := range found {
		if !c.Restored {
			continue
		}
		_, moveErr := g.aside(c.Path)
		if moveErr == nil && from[i] != "" {
			moveErr = os.Rename(from[i], g.at(c.Path))
		} else if moveErr == nil {
			moveErr = os.Mkdir(g.at(c.Path), 0o777)
		}
		if moveErr != nil {
			found[i].Restored, err = false, errors.Join(err, moveErr)
		}
	}
	return found, err
}

// canBeEmpty reports whether a repository works with such a folder empty: what was in it is put back or made again.
func canBeEmpty(path string) bool {
	return path == "worktrees" || path == "logs" || path == "refs/orch"
}

// movedTo is where a folder of the repository has been moved to; empty where it is not found.
func (g *Guard) movedTo(path string) string {
	is := func(at string) bool {
		info, err := os.Lstat(at)
		if err != nil {
			return false
		}
		id, ok := identityOf(info)
		return ok && (id == g.was.Folders[path] || g.looksLike(path, at))
	}
	if at, err := filepath.EvalSymlinks(g.at(path)); err == nil && is(at) {
		return at
	}
	top := g.Repo.CommonDir()
	entries, err := os.ReadDir(top)
	if err != nil {
		return ""
	}
	for _, e := range entries {
		if at := filepath.Join(top, e.Name()); !slices.Contains(gitsOwn(), e.Name()) && is(at) {
			return at
		}
	}
	return ""
}

// looksLike reports whether a folder has what one of a repository has that comes and goes with what is in it, so that
// it may be another one than at the start.
func (g *Guard) looksLike(path, at string) bool {
	pattern := ""
	switch path {
	case "worktrees":
		pattern = "*/commondir"
	case "refs/orch":
		epic, _, _ := strings.Cut(strings.TrimPrefix(g.Attic, refname.Own), "/")
		pattern = epic
	default:
		return false
	}
	found, err := fs.Glob(os.DirFS(at), pattern)
	return err == nil && len(found) > 0
}

// gitsOwn are folders of a git directory that are nothing that was moved there.
func gitsOwn() []string {
	return append(gitFolders(), "hooks", "info", "modules", "lfs", "orch", "branches", "rebase-merge", "rebase-apply", "sequencer")
}
