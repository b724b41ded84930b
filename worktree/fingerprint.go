package worktree

import (
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// Fingerprint is a text that changes when a file or a directory below a folder does: it has
// when the newest of them was changed, and how many there are. It looks at 20,000 entries at
// most, those near the top first, and follows no symbolic link; the index and the other files of
// git are not among them. It is empty where there is no such folder.
func Fingerprint(dir string) string {
	newest, seen := newestChange(dir)
	if newest.IsZero() {
		return ""
	}
	return strconv.FormatInt(newest.UnixNano(), 36) + "." + strconv.Itoa(seen)
}

// Changed is when a file or a directory below a folder was changed last, as far as [Fingerprint]
// looks; zero where there is no such folder.
func Changed(dir string) time.Time {
	at, _ := newestChange(dir)
	return at
}

func newestChange(dir string) (newest time.Time, seen int) {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() {
		return time.Time{}, 0
	}
	newest = info.ModTime()
	for level := []string{dir}; len(level) > 0 && seen < maxEntries; {
		var below []string
		for _, dir := range level {
			entries, err := os.ReadDir(dir)
			if err != nil {
				continue // removed meanwhile
			}
			for _, e := range entries {
				info, err := e.Info()
				if err != nil || e.Name() == ".git" || seen >= maxEntries {
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
	return newest, seen
}
