package beads

import (
	"os"
	"path/filepath"
	"strings"
)

// Find looks for a tracker in a repository's main work tree, without starting
// anything. dir is its .beads folder, or that of the place a redirect names;
// hasBD says that a database of bd is there, hasFile that the embedded tracker's
// file is.
func Find(repo string) (dir string, hasBD, hasFile bool) {
	dir = filepath.Join(repo, ".beads")
	if to := redirect(dir); to != "" {
		if !filepath.IsAbs(to) {
			to = filepath.Join(repo, to)
		}
		dir = to
	}
	hasBD = isFile(filepath.Join(dir, "metadata.json"))
	hasFile = isFile(filepath.Join(dir, fileName))
	return dir, hasBD, hasFile
}

// redirect is where a .beads folder says that the tracker is; "" for there.
func redirect(dir string) string {
	path := filepath.Join(dir, "redirect")
	if !isFile(path) {
		return ""
	}
	to, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(to))
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
