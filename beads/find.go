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
	if target, err := os.ReadFile(filepath.Join(dir, "redirect")); err == nil && len(target) > 0 {
		to := strings.TrimSpace(string(target))
		if !filepath.IsAbs(to) {
			to = filepath.Join(repo, to)
		}
		dir = to
	}
	hasBD = isFile(filepath.Join(dir, "metadata.json"))
	hasFile = isFile(filepath.Join(dir, fileName))
	return dir, hasBD, hasFile
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
