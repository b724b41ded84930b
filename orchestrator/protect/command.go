package protect

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"
)

// names is what a command names: files, and recipes of other files.
type names struct {
	files   []string
	always  []string // count also when they are new
	recipes []recipe
}

func (n *names) add(more names) {
	n.files, n.always, n.recipes = append(n.files, more.files...), append(n.always, more.always...), append(n.recipes, more.recipes...)
}

// commandNames is what a command of the shell names that is run in dir. A file need not be
// there. Where a word has a variable in it, what stands behind that counts as a path.
func commandNames(command, dir string) names {
	f, err := syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.RecoverErrors(8)).Parse(strings.NewReader(command), "")
	if f == nil || err != nil && len(f.Stmts) == 0 {
		w := walker{dir: dir}
		w.words(strings.FieldsFunc(command, func(r rune) bool { return strings.ContainsRune(" \t\n;|&<>()'\"`", r) }))
		return w.out
	}
	w := walker{dir: dir}
	w.walk(f)
	return w.out
}

// walker goes through a command, in the order in which it runs.
type walker struct {
	dir  string
	deep int
	out  names
}

func (w *walker) walk(node syntax.Node) {
	var back []string // the folders that subshells give back
	var open []syntax.Node
	syntax.Walk(node, func(n syntax.Node) bool {
		if n == nil {
			if last := open[len(open)-1]; isSubshell(last) {
				w.dir, back = back[len(back)-1], back[:len(back)-1]
			}
			open = open[:len(open)-1]
			return true
		}
		open = append(open, n)
		if isSubshell(n) {
			back = append(back, w.dir)
		}
		switch n := n.(type) {
		case *syntax.CallExpr:
			var words []string
			for _, a := range n.Assigns {
				if a.Value != nil {
					w.file(wordText(a.Value))
				}
			}
			for _, arg := range n.Args {
				words = append(words, wordText(arg))
			}
			w.words(words)
		case *syntax.Redirect:
			if n.Word != nil && (n.Op == syntax.RdrIn || n.Op == syntax.RdrInOut) {
				w.file(wordText(n.Word))
			}
		}
		return true
	})
}

func isSubshell(n syntax.Node) bool {
	switch n.(type) {
	case *syntax.Subshell, *syntax.CmdSubst, *syntax.ProcSubst:
		return true
	}
	return false
}

// wordText is a word as far as it is known; what is not is left out.
func wordText(word *syntax.Word) string {
	var b strings.Builder
	writeParts(&b, word.Parts)
	return b.String()
}

func writeParts(b *strings.Builder, all []syntax.WordPart) {
	for _, part := range all {
		switch part := part.(type) {
		case *syntax.Lit:
			b.WriteString(unescape(part.Value))
		case *syntax.SglQuoted:
			b.WriteString(part.Value)
		case *syntax.DblQuoted:
			writeParts(b, part.Parts)
		}
	}
}

func unescape(s string) string {
	var b strings.Builder
	for n := 0; n < len(s); n++ {
		if s[n] == '\\' && n+1 < len(s) {
			if n++; s[n] == '\n' {
				continue
			}
		}
		b.WriteByte(s[n])
	}
	return b.String()
}

// onlyReads are programs to which a file is something to look at: what the work is about, as
// in `test -f done.txt`.
func onlyReads(program string) bool {
	return slices.Contains([]string{"test", "[", "echo", "printf", "ls", "stat", "cat", "head", "tail", "wc", "find", "mkdir", "rm", "touch", "grep", "egrep", "fgrep", "rg"}, program)
}

// words is one command with its arguments.
func (w *walker) words(argv []string) {
	argv = unwrapCommand(argv)
	if len(argv) == 0 {
		return
	}
	program, rest := path.Base(argv[0]), argv[1:]
	switch {
	case program == "cd" || program == "pushd":
		if n := slices.IndexFunc(rest, func(word string) bool { return !strings.HasPrefix(word, "-") }); n >= 0 {
			w.dir = path.Join("/", w.dir, rest[n])[1:]
			if strings.HasPrefix(rest[n], "/") {
				w.dir = "" // where the rest of the command finds nothing of the tree; its names count from the top
			}
		}
		return
	case program == "eval":
		w.nested(strings.Join(rest, " "))
		return
	case slices.Contains([]string{"sh", "bash", "dash", "zsh", "ksh", "ash"}, program):
		if n := slices.IndexFunc(rest, func(word string) bool {
			return strings.HasPrefix(word, "-") && !strings.HasPrefix(word, "--") && strings.HasSuffix(word, "c")
		}); n >= 0 && n+1 < len(rest) {
			w.nested(rest[n+1])
		}
	}
	w.file(argv[0])
	if onlyReads(program) {
		return
	}
	for _, word := range rest {
		w.file(word)
	}
	w.interpreted(program, rest)
	for n, word := range argv { // also behind a wrapper that is not known
		w.runner(path.Base(word), argv[n+1:])
	}
}

// unwrapCommand removes programs that run the rest of their arguments.
func unwrapCommand(argv []string) []string {
	for len(argv) > 0 {
		program := path.Base(argv[0])
		switch {
		case argv[0] == "":
		case assignment().MatchString(argv[0]):
		case slices.Contains([]string{"env", "timeout", "nice", "nohup", "exec", "command", "time", "stdbuf", "sudo", "setsid", "xargs", "npx", "ionice", "chronic", "!"}, program):
			argv = argv[1:]
			for len(argv) > 0 && (strings.HasPrefix(argv[0], "-") || number().MatchString(argv[0])) {
				argv = argv[1:]
			}
			continue
		default:
			return argv
		}
		argv = argv[1:]
	}
	return argv
}

var (
	assignment = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\A[A-Za-z_][A-Za-z0-9_]*=`) })
	number     = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\A[0-9.]+[smhd]?\z`) })
)

// nested is a command within a word of another.
func (w *walker) nested(command string) {
	if w.deep > maxDepth {
		return
	}
	f, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(command), "")
	if err != nil {
		return
	}
	inner := walker{dir: w.dir, deep: w.deep + 1}
	inner.walk(f)
	w.out.add(inner.out)
}

// file notes a word that may be a path, and what stands behind a = or @ in it.
func (w *walker) file(word string) {
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
			if at := cleanPath(w.dir, p); at != "" {
				w.out.files = append(w.out.files, at)
			}
		}
	}
}

// always notes a file that a program goes by wherever it is there.
func (w *walker) always(name string) {
	if at := cleanPath(w.dir, name); at != "" {
		w.out.always = append(w.out.always, at)
	}
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

// shellScript reports whether a file is a script of the shell.
func shellScript(name string, text []byte) bool {
	if slices.Contains([]string{".sh", ".bash"}, path.Ext(name)) {
		return true
	}
	line, _, _ := strings.Cut(string(text[:min(len(text), 200)]), "\n")
	return strings.HasPrefix(line, "#!") && shebang().MatchString(line)
}

var shebang = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\b(ba|da|z|k|a)?sh\b`) })
