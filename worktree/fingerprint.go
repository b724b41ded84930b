package worktree

import (
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

// Fingerprint is a text that changes when a file or a directory below a folder does: it tells
// when the newest of them was changed, and how many there are. It looks at 20,000 entries at
// most, those near the top first, and follows no symbolic link; the index and the other files of
// git are not among them. It is empty where there is no such folder.
func Fingerprint(dir string) string {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() {
		return ""
	}
	newest, seen := info.ModTime(), 0
	for level := []string{dir}; len(level) > 0 && seen < freshEntries; {
		var below []string
		for _, dir := range level {
			entries, err := os.ReadDir(dir)
			if err != nil {
				continue // removed meanwhile
			}
			for _, e := range entries {
				info, err := e.Info()
				if err != nil || e.Name() == ".git" || seen >= freshEntries {
					continue
				}
				if seen++; info.ModTime().After(newest) {
					newest = info.ModTime()
				}
				if info.Mode().Type() == fs.ModeDir {
					below = append(below, filepath.Join(dir, e.Name()))
				}
			}
		}
		level = below
	}
	return strconv.FormatInt(newest.UnixNano(), 36) + "." + strconv.Itoa(seen)
}
