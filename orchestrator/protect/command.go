package protect

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// names is what a command names: files, and recipes of other files.
type names struct {
	files    []string
	always   []string // count also when they are new
	scripts  []string // of the files, what a shell runs
	lists    []string // of the files, what has the names of files that are run
	globs    []string // what they match is run, and counts also when it is new
	targets  []string // of make, that are no files
	recipes  []recipe
	includes []include
}

func (n *names) add(more names) {
	n.files, n.always, n.recipes = append(n.files, more.files...), append(n.always, more.always...), append(n.recipes, more.recipes...)
	n.includes = append(n.includes, more.includes...)
	n.scripts, n.lists, n.globs, n.targets = append(n.scripts, more.scripts...), append(n.lists, more.lists...), append(n.globs, more.globs...), append(n.targets, more.targets...)
}

// run adds a file that is run, if p is a path.
func (n *names) run(p string) {
	if p != "" {
		n.files, n.scripts = append(n.files, p), append(n.scripts, p)
	}
}

func (n *names) empty() bool {
	return len(n.files)+len(n.always)+len(n.lists)+len(n.globs)+len(n.targets)+len(n.recipes) == 0
}

// commandNames is what a command of the shell names that is run in dir. A file need not be
// there. Where a word has a variable in it that is not known, what stands behind that counts as a path.
func commandNames(command, dir string) names {
	f, err := syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.RecoverErrors(8)).Parse(strings.NewReader(command), "")
	w := newWalker(dir, 0)
	if f == nil || err != nil && len(f.Stmts) == 0 {
		w.words(strings.FieldsFunc(command, func(r rune) bool { return strings.ContainsRune(" \t\n;|&<>()'\"`", r) }))
		return w.out
	}
	w.walk(f)
	return w.out
}

// walker goes through a command, in the order in which it runs.
type walker struct {
	dir   string
	deep  int
	out   names
	vars  map[string][]string // values of variables, as far as they are known
	funcs map[string]bool     // of the command
	fed   map[syntax.Node]use // parts whose output is run
}

func newWalker(dir string, deep int) walker {
	return walker{dir: dir, deep: deep, vars: map[string][]string{}, funcs: map[string]bool{}, fed: map[syntax.Node]use{}}
}

func (w *walker) walk(node syntax.Node) {
	var back []string // the folders that subshells give back
	var open []syntax.Node
	uses := []use{0}
	any := usesOf(node)
	syntax.Walk(node, func(n syntax.Node) bool {
		if n == nil {
			if last := open[len(open)-1]; isSubshell(last) {
				w.dir, back = back[len(back)-1], back[:len(back)-1]
			}
			open, uses = open[:len(open)-1], uses[:len(uses)-1]
			return true
		}
		if isSubshell(n) {
			back = append(back, w.dir)
		}
		open, uses = append(open, n), append(uses, uses[len(uses)-1]|w.fed[n])
		now := uses[len(uses)-1]
		switch n := n.(type) {
		case *syntax.FuncDecl:
			w.funcs[n.Name.Value] = true
		case *syntax.BinaryCmd:
			if n.Op == syntax.Pipe || n.Op == syntax.PipeAll {
				w.fed[n.X] |= usesOf(n.Y)
			}
		case *syntax.ForClause:
			w.loop(n)
		case *syntax.Stmt:
			w.redirects(n, now)
		case *syntax.CallExpr:
			w.call(n, now, any)
		}
		return true
	})
}

// loop notes the values of a loop's variable.
func (w *walker) loop(n *syntax.ForClause) {
	iter, ok := n.Loop.(*syntax.WordIter)
	if !ok {
		return
	}
	var runs use
	for _, stmt := range n.Do {
		runs |= usesOf(stmt)
	}
	for _, item := range iter.Items {
		w.fed[item] |= runs & asNames
		for _, word := range braces(item) {
			w.vars[iter.Name.Value] = append(w.vars[iter.Name.Value], w.texts(word)...)
		}
	}
}

// redirects notes what a command reads, and is told, from where it is started.
func (w *walker) redirects(n *syntax.Stmt, now use) {
	var how use
	if n.Cmd != nil && len(n.Redirs) > 0 {
		how = usesOf(n.Cmd) | now
	}
	for _, r := range n.Redirs {
		if r.Hdoc != nil {
			w.fed[r.Hdoc] |= how
			w.told(wordText(r.Hdoc), how)
		}
		if r.Word == nil {
			continue
		}
		switch r.Op {
		case syntax.RdrIn, syntax.RdrInOut:
			w.fed[r.Word] |= how
			w.used(wordText(r.Word), how)
		case syntax.WordHdoc:
			w.fed[r.Word] |= how
			w.told(wordText(r.Word), how)
		}
	}
}

// told notes what a text names that is run, or names what is.
func (w *walker) told(text string, how use) {
	if how&asShell != 0 {
		w.nested(text)
	}
	if how&asNames != 0 {
		for _, word := range strings.Fields(text) {
			w.used(word, how)
		}
	}
}

// call is a simple command, of whose output use is made.
func (w *walker) call(n *syntax.CallExpr, now, any use) {
	for _, a := range n.Assigns {
		if a.Value != nil {
			w.fed[a.Value] |= any
			value := w.texts(a.Value)
			w.vars[a.Name.Value] = append(w.vars[a.Name.Value], value...)
			for _, text := range value {
				w.file(text)
				if any != 0 {
					w.globs(text)
				}
			}
		}
	}
	w.substituted(n.Args)
	var args [][]string
	rounds := min(len(n.Args), 1)
	for _, arg := range n.Args {
		for _, word := range braces(arg) {
			texts := w.texts(word)
			args, rounds = append(args, texts), max(rounds, len(texts))
		}
	}
	for round := range rounds {
		var argv []string
		for _, texts := range args {
			argv = append(argv, texts[round%len(texts)])
		}
		w.feeds(argv, now)
		w.words(argv)
	}
}

// substituted marks the commands in arguments whose output is what is run.
func (w *walker) substituted(args []*syntax.Word) {
	var argv []string
	for _, arg := range args {
		argv = append(argv, wordText(arg))
	}
	for n, word := range argv {
		program := path.Base(word)
		switch {
		case n == 0 && word == "":
			w.fed[args[0]] |= asShell | asNames
		case program == "eval":
			for _, arg := range args[n+1:] {
				w.fed[arg] |= asShell
			}
		case runsFiles(program):
			for i, arg := range args[n+1:] {
				if w.fed[arg] |= map[bool]use{true: asShell, false: asOther}[isShell(program)] | asNames; argv[n+1+i] != "" && !strings.HasPrefix(argv[n+1+i], "-") {
					break
				}
			}
		}
	}
}

// feeds notes what a command names whose output is run, or has the names of what is.
func (w *walker) feeds(argv []string, how use) {
	argv = unwrapCommand(argv)
	if how == 0 || len(argv) == 0 {
		return
	}
	program := path.Base(argv[0])
	if program == "echo" || program == "printf" {
		w.told(strings.Join(argv[1:], " "), how&asShell)
	}
	if program == "find" {
		w.found(argv[1:])
		return
	}
	for _, word := range argv[1:] {
		for _, part := range strings.Fields(word) { // of one word too, as printf takes it apart
			w.used(part, how)
		}
		if program == "ls" || program == "git" || program == "fd" {
			w.folder(word)
		}
	}
}

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

func isSubshell(n syntax.Node) bool {
	switch n.(type) {
	case *syntax.Subshell, *syntax.CmdSubst, *syntax.ProcSubst:
		return true
	}
	return false
}

// wordText is a word as far as it is known; what is not is left out.
func wordText(word *syntax.Word) string {
	var none walker
	return none.texts(word)[0]
}

// maxTexts bounds what a word may be in loops.
const maxTexts = 200

// texts is all that a word may be, at least one; what is not known is left out.
func (w *walker) texts(word *syntax.Word) []string { return w.partTexts(word.Parts) }

func (w *walker) partTexts(parts []syntax.WordPart) []string {
	out := []string{""}
	for _, part := range parts {
		var next []string
		switch part := part.(type) {
		case *syntax.Lit:
			next = []string{unescape(part.Value)}
		case *syntax.SglQuoted:
			next = []string{part.Value}
		case *syntax.DblQuoted:
			next = w.partTexts(part.Parts)
		case *syntax.ParamExp:
			next = w.vars[part.Param.Value]
		}
		if len(next) == 0 {
			continue
		}
		var longer []string
		for _, begin := range out {
			for _, end := range next {
				if len(longer) < maxTexts {
					longer = append(longer, begin+end)
				}
			}
		}
		out = longer
	}
	return out
}

// braces is a word with its braces, as in {a,b}, taken apart.
func braces(word *syntax.Word) []*syntax.Word {
	if !strings.Contains(wordText(word), "{") {
		return []*syntax.Word{word}
	}
	split := *word
	split.Parts = slices.Clone(word.Parts)
	syntax.SplitBraces(&split)
	var out []*syntax.Word
	for one, err := range expand.BracesSeq(nil, &split) {
		if err != nil || len(out) == maxTexts {
			return []*syntax.Word{word}
		}
		out = append(out, one)
	}
	if len(out) == 0 {
		return []*syntax.Word{word}
	}
	return out
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
	for n, word := range argv {
		if dir, ok := chdir(word, argv[n+1:]); ok && path.Base(argv[0]) == "env" {
			defer func(was string) { w.dir = was }(w.dir)
			w.dir = path.Join(w.dir, dir)
			break
		}
	}
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
	}
	w.used(argv[0], asShell)
	if program == "find" && slices.ContainsFunc(rest, runsFiles) {
		w.found(rest)
	}
	if onlyReads(program) {
		return
	}
	for _, word := range rest {
		w.file(word)
	}
	w.interpreted(program, rest)
	if w.funcs[program] {
		for _, word := range rest {
			w.used(word, asShell)
		}
	}
	for n, word := range argv { // also behind a wrapper that is not known
		w.runner(path.Base(word), argv[n+1:])
		w.script(path.Base(word), argv[n+1:])
	}
}

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
	case isShell(program):
		w.used(rest[operand], asShell)
	default:
		w.used(rest[operand], asOther)
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
				option := argv[0]
				argv = argv[1:]
				switch {
				case program == "env" && (option == "-S" || option == "--split-string") && len(argv) > 0:
					argv = append(strings.Fields(argv[0]), argv[1:]...)
				case program == "env" && strings.HasPrefix(option, "-S"):
					argv = append(strings.Fields(option[2:]), argv...)
				case len(argv) > 0 && slices.Contains(withValue(program), option):
					argv = argv[1:]
				}
			}
			continue
		default:
			return argv
		}
		argv = argv[1:]
	}
	return argv
}

// withValue are options of a program whose next argument is their value.
func withValue(program string) []string {
	return map[string][]string{
		"env": {"-u", "--unset", "-C", "--chdir"}, "timeout": {"-s", "--signal", "-k", "--kill-after"}, "sudo": {"-u", "-g"},
		"xargs": {"-I", "-d", "--delimiter", "-a", "--arg-file", "-E", "-n", "-P", "-L", "-s"}, "exec": {"-a"}, "stdbuf": {"-i", "-o", "-e"},
	}[program]
}

// chdir reports whether a word is the option with which env goes to a folder.
func chdir(word string, rest []string) (dir string, ok bool) {
	if (word == "-C" || word == "--chdir") && len(rest) > 0 {
		return rest[0], true
	}
	return strings.CutPrefix(word, "--chdir=")
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
	inner := newWalker(w.dir, w.deep+1)
	inner.vars, inner.funcs = w.vars, w.funcs
	inner.walk(f)
	w.out.add(inner.out)
}

// file notes a word that may be a path, and what stands behind a = or @ in it.
func (w *walker) file(word string) { w.out.files = append(w.out.files, w.paths(word)...) }

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
