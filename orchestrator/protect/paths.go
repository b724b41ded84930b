package protect

import (
	"path"
	"slices"
	"strings"
)

// used notes a word that names a file of which such use is made.
func (w *walker) used(word string, how use) {
	w.file(word)
	if how == 0 {
		return
	}
	w.globs(word)
	for _, at := range w.paths(word) {
		if how&(asShell|asNames) != 0 {
			w.out.run(at)
		}
		if how&asNames != 0 {
			w.out.lists = append(w.out.lists, at)
		}
	}
}

// file notes a word that may be a path, and what stands behind a = or @ in it.
func (w *walker) file(word string) { w.out.files = append(w.out.files, w.paths(word)...) }

// always notes a file that a program goes by wherever it is there.
func (w *walker) always(name string) {
	if at := cleanPath(w.dir, name); at != "" {
		w.out.always = append(w.out.always, at)
	}
}

// globs notes a word that has more than one name.
func (w *walker) globs(word string) {
	for _, at := range w.paths(word) {
		if strings.ContainsAny(at, "*?[") && strings.Trim(at, "*?/") != "" {
			w.out.globs = append(w.out.globs, strings.ReplaceAll(at, "[!", "[^"))
		}
	}
}

// folder notes a word that stands for all that is in a folder.
func (w *walker) folder(word string) {
	for _, at := range w.paths(word) {
		w.out.globs = append(w.out.globs, at+"/**")
	}
}

// found notes what find finds that is told so.
func (w *walker) found(rest []string) {
	n := slices.IndexFunc(rest, func(word string) bool { return strings.HasPrefix(word, "-") })
	if n < 0 {
		n = len(rest)
	}
	folders, names := rest[:n], []string{}
	for i := n; i+1 < len(rest); i++ {
		if rest[i] == "-name" || rest[i] == "-iname" {
			names = append(names, rest[i+1])
		}
	}
	if len(folders) == 0 {
		folders = []string{"."}
	}
	for _, folder := range folders {
		for _, name := range names {
			if at := cleanPath(w.dir, folder+"/**/"+name); at != "" {
				w.out.globs = append(w.out.globs, at)
			}
		}
		if len(names) == 0 {
			w.folder(folder)
		}
	}
}

// paths are what a word may be as a path.
func (w *walker) paths(word string) (out []string) {
	candidates := []string{word}
	if _, value, ok := strings.Cut(word, "="); ok {
		candidates = append(candidates, value)
	}
	for _, p := range candidates {
		p = strings.TrimPrefix(p, "@")
		if strings.HasPrefix(p, "/") && p != word { // behind a variable, as $ROOT/gate.sh
			p = p[1:]
		}
		for _, p := range []string{p, strings.TrimLeft(p, "/")} {
			if at := cleanPath(w.dir, p); at != "" && !slices.Contains(out, at) {
				out = append(out, at)
			}
		}
	}
	return out
}

// cleanPath is a path relative to the top of the tree; "" where it is no path, or not below the top.
func cleanPath(dir, p string) string {
	if p == "" || strings.HasPrefix(p, "/") || strings.HasPrefix(p, "-") || len(p) > 1000 || strings.ContainsAny(p, "\n\x00:") {
		return ""
	}
	p = path.Join(dir, p)
	if p == "." || p == ".." || strings.HasPrefix(p, "../") {
		return ""
	}
	return p
}
