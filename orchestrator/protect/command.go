package protect

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

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
				if w.fed[arg] |= runBy(program) | asNames; argv[n+1+i] != "" && !strings.HasPrefix(argv[n+1+i], "-") {
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

func isSubshell(n syntax.Node) bool {
	switch n.(type) {
	case *syntax.Subshell, *syntax.CmdSubst, *syntax.ProcSubst:
		return true
	}
	return false
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
