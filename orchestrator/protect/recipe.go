package protect

import (
	"bytes"
	"encoding/json"
	"path"
	"slices"
	"strings"
)

// recipe is what a task runner does when it is asked for targets: a part of a file.
type recipe struct {
	kind    kind
	dir     string
	file    string   // the one that is named; "" is the usual one
	targets []string // none is the first one
	within  *recipe  // of make: includes the file; nil for none
}

type kind string

const (
	makefile kind = "make"
	justfile kind = "just"
	scripts  kind = "scripts" // of package.json
)

func (r recipe) same(other recipe) bool {
	return r.kind == other.kind && r.dir == other.dir && r.file == other.file && slices.Equal(r.targets, other.targets)
}

// runner notes a task runner with its arguments.
func (w *walker) runner(program string, rest []string) {
	r := recipe{dir: w.dir}
	var dirs, files []string
	switch program {
	case "make", "gmake":
		r.kind, dirs, files = makefile, []string{"-C", "--directory"}, []string{"-f", "--file", "--makefile"}
	case "just":
		r.kind, dirs, files = justfile, []string{"-d", "--working-directory"}, []string{"-f", "--justfile"}
	case "npm", "pnpm", "yarn", "bun":
		r.kind, dirs = scripts, []string{"--prefix", "-C", "--dir", "--cwd", "-w", "--workspace", "--filter"}
		for _, file := range []string{".npmrc", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs", "bunfig.toml"} {
			w.always(file)
		}
	case "cargo":
		w.always(".cargo/config.toml")
		w.always(".cargo/config")
		return
	case "go":
		if len(rest) > 1 && rest[0] == "run" {
			w.file(rest[len(rest)-1] + "/main.go")
			w.file(rest[1] + "/main.go")
		}
		return
	case "task", "tox", "nox", "rake", "invoke", "mage":
		for _, file := range map[string][]string{"task": {"Taskfile.yml", "Taskfile.yaml", "Taskfile.dist.yml", "taskfile.yml"}, "tox": {"tox.ini"}, "nox": {"noxfile.py"},
			"rake": {"Rakefile"}, "invoke": {"tasks.py"}, "mage": {"magefile.go"}}[program] {
			w.always(file)
		}
		return
	default:
		return
	}
	r.read(rest, dirs, files)
	w.out.recipes = append(w.out.recipes, r)
}

// read takes what the arguments say of the recipe; dirs and files are the options that name its
// folder and its file.
func (r *recipe) read(rest, dirs, files []string) {
	for n := 0; n < len(rest); n++ {
		word := rest[n]
		name, value, joined := strings.Cut(word, "=")
		takes := slices.Contains(dirs, name) || slices.Contains(files, name)
		switch {
		case takes && !joined && n+1 < len(rest):
			n++
			value = rest[n]
			fallthrough
		case takes:
			if slices.Contains(files, name) {
				r.file = value
			} else {
				r.dir = path.Join(r.dir, value)
			}
		case r.kind == makefile && len(word) > 2 && (strings.HasPrefix(word, "-C") || strings.HasPrefix(word, "-f")):
			if word[1] == 'f' {
				r.file = word[2:]
			} else {
				r.dir = path.Join(r.dir, word[2:])
			}
		case strings.HasPrefix(word, "-"), assignment().MatchString(word):
		default:
			r.targets = append(r.targets, word)
		}
	}
}

// paths are where the file may be, that which counts first before the others.
func (r recipe) paths() (out []string) {
	names := map[kind][]string{makefile: {"GNUmakefile", "makefile", "Makefile"}, justfile: {"justfile", "Justfile", ".justfile", "JUSTFILE"}, scripts: {"package.json"}}[r.kind]
	if r.file != "" {
		names = []string{r.file}
	}
	for _, name := range names {
		if at := cleanPath(r.dir, name); at != "" {
			out = append(out, at)
		}
	}
	if r.kind == scripts && r.dir != "" { // a workspace by its name, or a folder
		out = append(out, "package.json")
	}
	return out
}

// touched reports whether a change of the file changes the recipe. It fails as blob does.
func (r recipe) touched(c Change, blob Blob) (bool, error) {
	if !slices.ContainsFunc(r.paths(), func(p string) bool { return foldPath(p) == foldPath(c.Path) }) {
		return false, nil
	}
	plain := func(mode string) bool { return mode == "100644" || mode == "100755" }
	if !plain(c.OldMode) || !plain(c.NewMode) {
		return true, nil // it comes, goes, or is a link now
	}
	if c.Old == c.New {
		return false, nil // its mode alone
	}
	old, err := blob(c.Old)
	if err != nil {
		return false, err
	}
	now, err := blob(c.New)
	return err == nil && r.part(old) != r.part(now), err
}

// part is what of a file settles what the targets do.
func (r recipe) part(text []byte) string {
	switch r.kind {
	case makefile:
		return strings.Join(makePart(text, r.targets), "\n")
	case justfile:
		return strings.Join(justPart(text, r.targets), "\n")
	}
	return scriptsPart(text)
}

// names is what the recipe's commands name in turn.
func (r recipe) names(at string, text []byte) (out names) {
	dir := path.Dir(at)
	if dir == "." {
		dir = ""
	}
	switch r.kind {
	case scripts:
		for _, command := range scriptsOf(text) {
			out.add(commandNames(command, dir))
		}
		return out
	case justfile:
		for _, line := range justPart(text, r.targets) {
			out.add(commandNames(strings.TrimLeft(line, " \t@-"), dir))
		}
		return out
	}
	return r.makeNames(text)
}

// makeNames is what a Makefile's recipe names: it runs where make does, not where the file is.
func (r recipe) makeNames(text []byte) (out names) {
	rules, rest := makeBlocks(text)
	wanted := makeWanted(rules, r.targets)
	for _, target := range makeShadowed(rules, rest, wanted) {
		if at := cleanPath(r.dir, target); at != "" {
			out.targets = append(out.targets, at)
		}
	}
	for _, word := range makeIncludes(rest) {
		at := cleanPath(r.dir, word)
		switch {
		case at == "":
			continue
		case strings.ContainsAny(at, "*?["):
			out.includes = append(out.includes, include{at, r, wanted})
			out.globs = append(out.globs, at)
			continue
		}
		out.always = append(out.always, at) // one that is not there yet is read as soon as it is
		out.files = append(out.files, at)
		out.recipes = append(out.recipes, r.included(at, wanted))
	}
	if r.within != nil && !slices.Equal(wanted, r.targets) { // what the included depends on may be in what includes it
		outer := *r.within
		outer.targets = wanted
		out.recipes = append(out.recipes, outer)
	}
	for _, line := range makePart(text, r.targets) {
		if _, ok := cutWord(line, "include", "-include", "sinclude"); !ok {
			out.add(commandNames(strings.TrimLeft(strings.ReplaceAll(line, "$(MAKE)", "make"), " \t@-+"), r.dir))
		}
	}
	return out
}

// include is a pattern of files that a Makefile includes.
type include struct {
	glob   string
	by     recipe
	wanted []string
}

// included is the part that is wanted of a file that the recipe's includes.
func (r recipe) included(at string, wanted []string) recipe {
	rel := at
	if r.dir != "" {
		rel = strings.TrimPrefix(at, r.dir+"/")
		if rel == at {
			rel = strings.Repeat("../", strings.Count(r.dir, "/")+1) + at
		}
	}
	main := r
	if r.within != nil {
		main = *r.within
	}
	return recipe{kind: makefile, dir: r.dir, file: rel, targets: wanted, within: &main}
}

func cutWord(line string, words ...string) (rest string, ok bool) {
	first, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	return rest, slices.Contains(words, first)
}

// scriptsOf are the commands of a package.json.
func scriptsOf(text []byte) (commands []string) {
	var doc struct {
		Scripts map[string]string `json:"scripts"`
	}
	if json.Unmarshal(text, &doc) != nil {
		return nil
	}
	for _, command := range doc.Scripts {
		commands = append(commands, command)
	}
	slices.Sort(commands)
	return commands
}

// scriptsPart is the object scripts of a package.json, and what else settles which program
// runs them; all of a file that is none.
func scriptsPart(text []byte) string {
	var doc map[string]any
	if json.Unmarshal(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")), &doc) != nil {
		return string(text)
	}
	part, err := json.Marshal([]any{doc["scripts"], doc["packageManager"], doc["config"]})
	if err != nil {
		return string(text)
	}
	return string(part)
}
