package tamper

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/beadsorch/orch/orchestrator/git"
	"github.com/beadsorch/orch/orchestrator/private"
)

// record is how a repository was.
type record struct {
	Files map[string]entry      `json:"files"` // by path below the git directory
	Refs  map[string]git.Commit `json:"refs"`
	// Folders are those that every git goes through; records of before have none.
	Folders map[string]identity `json:"folders,omitempty"`
	// Ongoing is what waits to be gone on with; records of before have none.
	Ongoing map[string]string `json:"ongoing"`
}

// entry is a file, a symbolic link, or something else that has no content.
type entry struct {
	Mode     fs.FileMode `json:"mode"`
	Data     []byte      `json:"data,omitempty"`
	Link     string      `json:"link,omitempty"`
	TooLarge bool        `json:"too_large,omitempty"` // Data is the hash of the content
}

func (e entry) equal(other entry) bool {
	return e.Mode == other.Mode && e.Link == other.Link && string(e.Data) == string(other.Data)
}

// isHead reports whether the content can be that of HEAD.
func (e entry) isHead() bool {
	text := strings.TrimSuffix(string(e.Data), "\n")
	id := (len(text) == 40 || len(text) == 64) && strings.Trim(text, "0123456789abcdef") == ""
	return e.Mode.IsRegular() && (id || strings.HasPrefix(text, "ref: refs/heads/") && !strings.ContainsAny(text[5:], " \n"))
}

func kindOf(mode fs.FileMode) string {
	switch {
	case mode.IsRegular():
		return "a file"
	case mode.IsDir():
		return "a folder"
	case mode&fs.ModeSymlink != 0:
		return "a symbolic link"
	case mode&fs.ModeNamedPipe != 0:
		return "a pipe"
	}
	return "a special file"
}

// maxFile bounds what is kept of one file, in bytes; of a larger one the hash alone.
const maxFile = 4 << 20

// maxHashed bounds what is read at all.
const maxHashed = 256 << 20

// guardedNames are the names of the guarded files; those of a submodule's git directory too, as
// far as they are there.
func guardedNames() []string {
	return []string{"config", "config.worktree", "HEAD", "commondir", "gitdir", "shallow", "objects/info/alternates", "objects/info/http-alternates"}
}

// guarded lists the files that are compared, as they are now, below the git directory.
func (g *Guard) guarded() (paths []string, err error) {
	paths = guardedNames()
	trees := []string{"hooks", "info"}
	modules, err := g.modules("modules", 0)
	if err != nil {
		return nil, err
	}
	for _, m := range modules {
		paths = append(paths, m+"/config", m+"/config.worktree")
		trees = append(trees, m+"/hooks", m+"/info")
	}
	worktrees, err := g.list("worktrees")
	if err != nil {
		return nil, err
	}
	for _, w := range worktrees {
		at := "worktrees/" + w.Name()
		if _, err := g.Files.Lstat(g.at(at + "/orch")); err != nil { // those of orch are mended by package worktree
			paths = append(paths, at+"/commondir", at+"/config.worktree")
		}
	}
	for _, t := range trees {
		below, err := g.below(t, 0)
		if err != nil {
			return nil, err
		}
		paths = append(paths, below...)
	}
	return slices.DeleteFunc(paths, isWrittenByGit), nil
}

// isWrittenByGit reports whether a file below an info folder is one that git writes as it works, and that says nothing
// to any git here: what update-server-info lists for others, as does git gc, and what such files are called until they are whole.
func isWrittenByGit(path string) bool {
	dir, name := filepath.Split(path)
	if filepath.Base(dir) != "info" {
		return false
	}
	rest, temporary := strings.CutPrefix(name, "refs_")
	return name == "refs" || name == "sparse-checkout.lock" || temporary && len(rest) == 6 && !strings.Contains(rest, ".")
}

// maxDepth bounds how deep folders are looked into.
const maxDepth = 8

// modules are the git directories of submodules, whose names may have slashes.
func (g *Guard) modules(at string, depth int) (found []string, err error) {
	entries, err := g.list(at)
	if err != nil || depth == maxDepth {
		return nil, err
	}
	for _, e := range entries {
		sub := at + "/" + e.Name()
		if !e.IsDir() {
			continue
		}
		if _, err := g.Files.Lstat(g.at(sub + "/HEAD")); err == nil {
			found = append(found, sub)
			sub += "/modules"
		}
		deeper, err := g.modules(sub, depth+1)
		if err != nil {
			return nil, err
		}
		found = append(found, deeper...)
	}
	return found, nil
}

// below are a tree's files; a tree that is none, as a link in its place, is its own only file.
func (g *Guard) below(tree string, depth int) (paths []string, err error) {
	info, err := g.Files.Lstat(g.at(tree))
	if err != nil {
		return nil, dropMissing(err)
	}
	if !info.IsDir() || depth == maxDepth {
		return []string{tree}, nil
	}
	entries, err := g.list(tree)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		path := tree + "/" + e.Name()
		if !e.IsDir() {
			paths = append(paths, path)
			continue
		}
		deeper, err := g.below(path, depth+1)
		if err != nil {
			return nil, err
		}
		paths = append(paths, deeper...)
	}
	return paths, nil
}

// list is what is in a folder; nothing where there is none.
func (g *Guard) list(path string) ([]fs.DirEntry, error) {
	entries, err := g.Files.ReadDir(g.at(path))
	return entries, dropMissing(err)
}

// dropMissing drops errors of files that are missing or of the wrong kind, which are found elsewhere.
func dropMissing(err error) error {
	var unsafe *private.UnsafeError
	if errors.Is(err, fs.ErrNotExist) || errors.As(err, &unsafe) {
		return nil
	}
	return err
}

// at is the whole path of what is below the git directory.
func (g *Guard) at(path string) string {
	return filepath.Join(g.Repo.CommonDir(), filepath.FromSlash(path))
}

// read reads one file, whatever it is.
func (g *Guard) read(path string) (entry, error) {
	info, err := g.Files.Lstat(g.at(path))
	var unsafe *private.UnsafeError
	if errors.As(err, &unsafe) {
		return entry{}, fs.ErrNotExist // a folder on the way is none
	}
	if err != nil {
		return entry{}, err
	}
	g.sigs[path] = signature(info)
	e := entry{Mode: info.Mode()}
	switch {
	case e.Mode&fs.ModeSymlink != 0:
		e.Link, err = g.Files.Readlink(g.at(path))
	case e.Mode.IsRegular() && info.Size() > maxHashed:
		e.TooLarge, e.Data = true, []byte(signature(info))
	case e.Mode.IsRegular():
		if e.Data, err = g.Files.ReadFile(g.at(path), maxHashed); len(e.Data) > maxFile {
			sum := sha256.Sum256(e.Data)
			e.TooLarge, e.Data = true, sum[:]
		}
	}
	return e, err
}

// write puts a file back.
func (g *Guard) write(path string, e entry) error {
	switch {
	case e.Mode&fs.ModeSymlink != 0:
		return g.Files.Symlink(e.Link, g.at(path))
	case !e.Mode.IsRegular():
		return fmt.Errorf("it was %s", kindOf(e.Mode))
	}
	if err := g.Files.WriteFile(g.at(path), e.Data); err != nil {
		return err
	}
	return g.Files.Chmod(g.at(path), e.Mode.Perm())
}

// aside moves what is at path into the epic's folder, where it does nothing, and says where.
func (g *Guard) aside(path string) (string, error) {
	kept := g.place(path)
	if g.dry {
		return kept, nil
	}
	err := g.Files.Rename(g.at(path), kept)
	if err != nil {
		return "", err
	}
	if info, err := g.Files.Lstat(kept); err == nil && info.Mode().IsRegular() {
		err = g.Files.Chmod(kept, 0o600)
		return kept, err
	}
	return kept, nil
}

// place is where the file at path is moved aside to: the place that was reported, if one was.
func (g *Guard) place(path string) string {
	if at := g.to[path]; at != "" && !g.dry {
		delete(g.to, path)
		return at
	}
	g.kept++
	at := filepath.Join(g.Dir, "tampered", fmt.Sprintf("%s-%d-%s", g.Now().UTC().Format("20060102T150405Z"), g.kept, strings.ReplaceAll(path, "/", "_")))
	if g.dry {
		g.to[path] = at
	}
	return at
}

// signature changes when a file may have changed, by its metadata alone; "" where there is none.
func (g *Guard) signature(path string) string {
	info, err := g.Files.Lstat(g.at(path))
	if err != nil {
		return ""
	}
	return signature(info)
}

func signature(info fs.FileInfo) string {
	s := fmt.Sprintf("%v %d %d", info.Mode(), info.Size(), info.ModTime().UnixNano())
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		s += fmt.Sprintf(" %d %d", st.Ino, changed(st))
	}
	return s
}

func (g *Guard) recordPath() string { return filepath.Join(g.Dir, "guarded.json") }

// save keeps the record, and gives its digest.
func (g *Guard) save() (string, error) {
	data, err := json.Marshal(g.was)
	if err == nil {
		err = g.Files.WriteFile(g.recordPath(), data)
	}
	if err != nil {
		return "", fmt.Errorf("remembering how the repository is: %w", err)
	}
	return digest(data), nil
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// maxRecord bounds the record, in bytes.
const maxRecord = 512 << 20

// load is the record with a digest, of an earlier run.
func (g *Guard) load(want string) (r record, ok bool) {
	data, err := g.Files.ReadFile(g.recordPath(), maxRecord)
	if err != nil || digest(data) != want {
		return record{}, false
	}
	return r, json.Unmarshal(data, &r) == nil && r.Files != nil
}
