package protect

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// fileNames is what a file names that is run, or may be.
func fileNames(file string, text []byte) (out names) {
	if line, _, _ := strings.Cut(string(text[:min(len(text), 1000)]), "\n"); strings.HasPrefix(line, "#!") {
		w := newWalker("", 0)
		w.words(append(strings.Fields(line[2:]), file))
		out.add(w.out)
	}
	if shellScript(file, text) {
		out.run(file)
	}
	return out
}

// scriptNames is what a script of the shell names.
func scriptNames(file string, text []byte) (out names) {
	out.add(commandNames(string(text), ""))             // it runs where its caller does,
	out.add(commandNames(string(text), path.Dir(file))) // or goes to its own folder
	return out
}

// shellScript reports whether a file is a script of the shell.
func shellScript(name string, text []byte) bool {
	if slices.Contains([]string{".sh", ".bash"}, path.Ext(name)) {
		return true
	}
	line, _, _ := strings.Cut(string(text[:min(len(text), 200)]), "\n")
	return strings.HasPrefix(line, "#!") && shebang().MatchString(line)
}

var shebang = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\b(ba|da|z|k|a)?sh\b`) })

// script notes what a program runs that runs a file.
func (w *walker) script(program string, rest []string) {
	if program == "run-parts" {
		for _, word := range rest {
			w.folder(word)
		}
	}
	if !runsFiles(program) {
		return
	}
	operand, code := operandOf(program, rest)
	switch {
	case operand < 0:
	case code && isShell(program):
		w.nested(rest[operand])
		for _, word := range rest[operand+1:] { // $0, $1 and so on
			w.globs(word)
		}
	case code:
	default:
		w.used(rest[operand], runBy(program))
	}
}

// interpreted notes what interpreters find by less than the name of a file.
func (w *walker) interpreted(program string, rest []string) {
	operand := ""
	for n, word := range rest {
		if word == "-m" && n+1 < len(rest) && strings.HasPrefix(program, "python") {
			module := strings.ReplaceAll(rest[n+1], ".", "/")
			for _, p := range []string{module + ".py", module + "/__main__.py", module + "/__init__.py"} {
				w.file(p)
			}
			return
		}
		if !strings.HasPrefix(word, "-") {
			operand = word
			break
		}
	}
	switch {
	case operand == "":
	case strings.HasPrefix(program, "python"):
		w.file(operand + "/__main__.py")
	case slices.Contains([]string{"node", "nodejs", "bun", "deno"}, program):
		for _, end := range []string{".js", ".mjs", ".cjs", ".ts", "/index.js", "/index.mjs", "/index.cjs", "/index.ts"} {
			w.file(operand + end)
		}
	}
}
