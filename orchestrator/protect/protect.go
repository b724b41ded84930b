// Package protect says which changes of a task touch what settles how work is judged, or what
// runs on people's machines: settings, continuous integration, hooks, and the files that the
// gate's commands name. It does no I/O: what it has to read it is handed.
package protect

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/beadsorch/orch/orchestrator/validation"
)

// Defaults are the globs of paths that are always protected; those of agents' clients come beside them.
func Defaults() []string {
	return []string{
		"project.yaml",
		// continuous integration
		".github/**", ".gitlab-ci.yml", ".gitlab/ci/**", ".circleci/**", ".ci/**", "azure-pipelines*.yml", ".azure-pipelines/**", "Jenkinsfile", ".buildkite/**",
		".travis.yml", ".drone.yml", ".woodpecker.yml", ".woodpecker/**", "bitbucket-pipelines.yml", "appveyor.yml", ".appveyor.yml", ".cirrus.yml", ".forgejo/**", ".gitea/**", ".teamcity/**", "cloudbuild.yaml", "buildspec.yml",
		// agents that orch does not start, and its own loop
		".cursor/**", ".loop/**",
		// what git, editors and shells run for a person
		"**/.gitattributes", ".gitmodules", ".husky/**", ".githooks/**", ".pre-commit-config.yaml", "lefthook.yml", ".lefthook.yml", "lefthook.yaml", ".envrc", ".vscode/**", ".devcontainer/**",
	}
}

// Change is one path that differs between two trees. Modes are git's, as "100644"; "000000"
// where there is nothing.
type Change struct {
	// Path is where it is, from the top, with slashes.
	Path string
	// OldMode is what was there.
	OldMode string
	// NewMode is what is there now.
	NewMode string
	// Old is the object that was there.
	Old string
	// New is the object that is there now.
	New string
}

// nothing is the mode of what is not there.
const nothing = "000000"

// isLink reports whether a mode is one of a symbolic link or a submodule.
func isLink(mode string) bool { return mode == "120000" || mode == "160000" }

// Files reads files of the tree that is protected. Found is false for a path that is no
// plain file there.
type Files func(paths []string) (found map[string][]byte, err error)

// Blob reads an object of either tree.
type Blob func(id string) ([]byte, error)

// Set is all that is protected.
type Set struct {
	globs   []pattern
	files   map[string]bool // that the gate's commands name, and are there, as folded paths
	recipes []recipe
	links   map[string]string
}

// pattern is a glob.
type pattern struct {
	re    *regexp.Regexp
	parts []string // the components before the first **; nil where it begins so
}

// New makes a set of the defaults, of more globs, and of what the gate's commands name; a !
// before a glob takes the default of that text away. It fails for a glob that is none, and
// as files does.
//
// links are the symbolic links of the tree, by path, with what each contains: a file that is
// named by way of one is protected where it is.
func New(globs []string, gate []validation.Rule, links map[string]string, files Files) (*Set, error) {
	all := Defaults()
	for _, glob := range globs {
		if out, not := strings.CutPrefix(glob, "!"); not {
			all = slices.DeleteFunc(all, func(g string) bool { return g == out })
			continue
		}
		all = append(all, glob)
	}
	s := &Set{files: map[string]bool{}, links: links}
	for _, glob := range all {
		p, err := compileGlob(glob)
		if err != nil {
			return nil, err
		}
		s.globs = append(s.globs, p)
	}
	return s, s.follow(gate, files)
}

func compileGlob(glob string) (pattern, error) {
	re, err := validation.CompileGlob(foldPath(glob))
	if err != nil {
		return pattern{}, fmt.Errorf("protected path %q %w", glob, err)
	}
	var parts []string
	for _, part := range strings.Split(foldPath(glob), "/") {
		if strings.Contains(part, "**") {
			break
		}
		parts = append(parts, part)
	}
	return pattern{re, parts}, nil
}

// maxDepth is how many files are followed one out of another: a recipe that names a script.
const maxDepth = 4

// follow finds the files that commands name, those that these name in turn, and the recipes.
func (s *Set) follow(gate []validation.Rule, files Files) error {
	var now names
	for _, r := range gate {
		if !r.Off && (r.Type == validation.Command || r.Type == validation.Custom) {
			now.add(commandNames(r.Command, r.Dir))
		}
	}
	read := map[string]bool{}
	for depth := 0; depth < maxDepth && (len(now.files) > 0 || len(now.always) > 0 || len(now.recipes) > 0); depth++ {
		for _, file := range now.files {
			if at := s.resolve(file); at != file {
				now.files = append(now.files, at)
				s.files[foldPath(file)] = true
			}
		}
		paths := slices.Clone(now.files)
		for _, r := range now.recipes {
			paths = append(paths, r.paths()...)
		}
		slices.Sort(paths)
		paths = slices.DeleteFunc(slices.Compact(paths), func(p string) bool { return p == "" })
		found, err := files(paths)
		if err != nil {
			return err
		}
		var next names
		for _, file := range now.always {
			s.files[foldPath(file)] = true
		}
		for _, file := range now.files {
			if text, there := found[file]; there {
				s.files[foldPath(file)] = true
				if !read[file] && shellScript(file, text) {
					read[file] = true
					next.add(commandNames(string(text), ""))             // it runs where its caller does,
					next.add(commandNames(string(text), path.Dir(file))) // or goes to its own folder
				}
			}
		}
		for _, r := range now.recipes {
			if slices.ContainsFunc(s.recipes, func(other recipe) bool { return other.same(r) }) {
				continue
			}
			s.recipes = append(s.recipes, r)
			for _, at := range slices.Sorted(maps.Keys(found)) {
				if slices.Contains(r.paths(), at) {
					next.add(r.names(at, found[at]))
				}
			}
		}
		now = next
	}
	return nil
}

// maxLinks bounds how many links lead from a path to a file.
const maxLinks = 16

// resolve is where a path leads to in the tree.
func (s *Set) resolve(file string) string {
	for range maxLinks {
		parts, again := strings.Split(file, "/"), false
		for n := range parts {
			at := strings.Join(parts[:n+1], "/")
			to, link := s.links[at]
			if !link || path.IsAbs(to) {
				continue
			}
			file, again = path.Join(path.Dir(at), to, strings.Join(parts[n+1:], "/")), true
			break
		}
		if !again {
			break
		}
	}
	return file
}

// Touched lists the changed paths that are protected. It fails as blob does, which is asked
// about files with recipes alone.
func (s *Set) Touched(changes []Change, blob Blob) (paths []string, err error) {
	for _, c := range changes {
		touched := s.covers(c)
		for _, r := range s.recipes {
			if touched {
				break
			}
			if touched, err = r.touched(c, blob); err != nil {
				return nil, err
			}
		}
		if touched {
			paths = append(paths, c.Path)
		}
	}
	return paths, nil
}

// covers reports whether a change is one of what globs match, or of a file that is named.
func (s *Set) covers(c Change) bool {
	folded := foldPath(c.Path)
	if slices.ContainsFunc(s.globs, func(p pattern) bool { return p.re.MatchString(folded) || p.above(folded) }) {
		return true
	}
	if s.files[folded] {
		return true
	}
	if c.NewMode == nothing {
		return false
	}
	for file := range s.files { // what takes the place of a folder that a file was in
		if strings.HasPrefix(file, folded+"/") {
			return true
		}
	}
	return false
}

// above reports whether a path takes the place of a folder that the glob looks into.
func (p pattern) above(folded string) bool {
	parts := strings.Split(folded, "/")
	if len(parts) > len(p.parts) {
		return false
	}
	for n, part := range parts {
		if ok, err := path.Match(p.parts[n], part); err != nil || !ok {
			return false
		}
	}
	return true
}

// foldPath is a path as file systems see it that ignore case and characters without width, and drop dots and spaces at the end of a name.
func foldPath(p string) string {
	p = strings.Map(func(r rune) rune {
		switch {
		case r >= 0x200c && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x206a && r <= 0x206f, r == 0xfeff:
			return -1
		case r == '\u017f': // long s
			return 's'
		case r == '\u212a': // kelvin
			return 'k'
		}
		return r
	}, strings.ToLower(p))
	parts := strings.Split(p, "/")
	for n, part := range parts {
		parts[n] = cmp.Or(strings.TrimRight(part, ". "), part)
	}
	return strings.Join(parts, "/")
}

// Allowed takes out of paths those that one of the globs matches.
func Allowed(paths, globs []string) (left []string) {
	for _, p := range paths {
		if !slices.ContainsFunc(globs, func(glob string) bool {
			re, err := validation.CompileGlob(glob)
			return err == nil && re.MatchString(p)
		}) {
			left = append(left, p)
		}
	}
	return left
}
