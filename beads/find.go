package beads

import (
	"io"
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
	if to := readRedirect(dir); to != "" {
		if !filepath.IsAbs(to) {
			to = filepath.Join(repo, to)
		}
		dir = to
	}
	hasBD = isFile(filepath.Join(dir, "metadata.json"))
	hasFile = isFile(filepath.Join(dir, FileName))
	return dir, hasBD, hasFile
}

// maxRedirect is how much of a redirect is read, in bytes: more than a path can be.
const maxRedirect = 8 << 10

// readRedirect is the folder to which a .beads folder redirects; "" where it does not.
func readRedirect(dir string) string {
	path := filepath.Join(dir, "redirect")
	if !isFile(path) {
		return ""
	}
	f, _, err := openPlain(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	to, err := io.ReadAll(io.LimitReader(f, maxRedirect))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(to))
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
