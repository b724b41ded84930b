package cell

import (
	"os"
	"path/filepath"
	"strings"
)

// programs are the files and folders that a command line needs: its program, where that really is with the packages beside it, and files that
// it names by an absolute path.
func (n *cell) programs(argv []string) (paths []string) {
	for i, word := range argv {
		if i == 0 && !strings.Contains(word, "/") {
			word = n.lookUp(word)
		}
		info, err := os.Stat(word)
		if err != nil || !filepath.IsAbs(word) || !info.Mode().IsRegular() {
			continue
		}
		paths = append(paths, filepath.Clean(word))
		if real, err := filepath.EvalSymlinks(word); err == nil {
			paths = append(paths, real)
			if before, _, ok := strings.Cut(real, "/node_modules/"); ok {
				paths = append(paths, before+"/node_modules")
			}
		}
	}
	return paths
}

// lookUp finds a program in the person's PATH; "" where it is not there.
func (n *cell) lookUp(name string) string {
	for _, dir := range filepath.SplitList(n.of.Getenv("PATH")) {
		file := filepath.Join(dir, name)
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return file
		}
	}
	return ""
}

// named are the plain files that variables name, such as a client's settings: who lets a variable through means what it names too. Those of
// git are not, which the shadow stands for.
func named(env []string) (paths []string) {
	for _, e := range env {
		name, value, _ := strings.Cut(e, "=")
		if strings.HasPrefix(name, "GIT_") || strings.HasPrefix(name, "ORCH_") || !filepath.IsAbs(value) {
			continue
		}
		if info, err := os.Stat(value); err == nil && info.Mode().IsRegular() {
			paths = append(paths, filepath.Clean(value))
		}
	}
	return paths
}
