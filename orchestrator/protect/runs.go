package protect

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// use is what is made of what a command is told: of its input, or of the output of another.
type use int

const (
	asShell use = 1 << iota // a shell runs it
	asNames                 // it has the names of files that are run
	asOther                 // another interpreter runs it
)

func isShell(program string) bool {
	return slices.Contains([]string{"sh", "bash", "dash", "zsh", "ksh", "ash", "source", "."}, program)
}

// onlyReads are programs to which a file is something to look at: what the work is about, as
// in `test -f done.txt`.
func onlyReads(program string) bool {
	return slices.Contains([]string{"test", "[", "echo", "printf", "ls", "stat", "cat", "head", "tail", "wc", "find", "mkdir", "rm", "touch", "grep", "egrep", "fgrep", "rg"}, program)
}

// runsFiles reports whether a program runs the file that its first argument names, or else its input.
func runsFiles(program string) bool {
	return isShell(program) || strings.HasPrefix(program, "python") ||
		slices.Contains([]string{"node", "nodejs", "bun", "deno", "ruby", "perl", "php", "lua", "Rscript", "tclsh"}, program)
}

// runBy is the use that such a program makes of a file.
func runBy(program string) use {
	if isShell(program) {
		return asShell
	}
	return asOther
}

// operandOf is which of its arguments such a program runs; -1 for none. It is code where it is itself what is run, or
// the name of what is no path.
func operandOf(program string, rest []string) (n int, code bool) {
	for n := 0; n < len(rest); n++ {
		word := rest[n]
		switch {
		case program == "source" || program == ".":
			return n, false
		case isShell(program) && strings.HasPrefix(word, "-") && !strings.HasPrefix(word, "--") && strings.Contains(word, "c"):
			if n+1 < len(rest) {
				return n + 1, true
			}
		case slices.Contains([]string{"-o", "+o", "-O", "+O", "--rcfile", "--init-file"}, word) && isShell(program), word == "-W":
			n++
		case !isShell(program) && slices.Contains([]string{"-m", "-c", "-e", "-E", "-r", "-p", "--eval", "--test"}, word):
			return n, true
		case word == "-" || word == "-s":
			return -1, false
		case !strings.HasPrefix(word, "-"):
			return n, false
		}
	}
	return -1, false
}

// usesOf is what the commands in a part make of what it is told.
func usesOf(node syntax.Node) (how use) {
	syntax.Walk(node, func(n syntax.Node) bool {
		call, ok := n.(*syntax.CallExpr)
		if !ok || len(call.Args) == 0 {
			return true
		}
		var argv []string
		for _, arg := range call.Args {
			argv = append(argv, wordText(arg))
		}
		how |= usesOfCommand(argv)
		return true
	})
	return how
}

func usesOfCommand(argv []string) use {
	if argv[0] == "" { // a variable is the program
		return asNames | asShell
	}
	collects := slices.ContainsFunc(argv, func(word string) bool { return slices.Contains([]string{"xargs", "parallel"}, path.Base(word)) })
	argv = unwrapCommand(argv)
	if collects && (len(argv) == 0 || replaced(argv[0])) {
		return asNames
	}
	var how use
	for n, word := range argv {
		program := path.Base(word)
		if program == "eval" {
			how |= asShell | asNames
		}
		if onlyReads(program) && n == 0 {
			break
		}
		if !runsFiles(program) {
			continue
		}
		how |= usesOfProgram(program, argv[n+1:], collects)
		break
	}
	return how
}

// usesOfProgram is what a program that runs files makes of its input; or, where that is collected, of its arguments.
func usesOfProgram(program string, rest []string, collects bool) use {
	n, code := operandOf(program, rest)
	switch {
	case n >= 0 && code && isShell(program):
		f, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(rest[n]), "")
		if err != nil || collects {
			return asNames
		}
		return usesOf(f)
	case n >= 0 && code:
		return 0
	case n >= 0 && (rest[n] == "" || replaced(rest[n])), n < 0 && collects:
		return asNames
	case n < 0 || rest[n] == "/dev/stdin":
		return runBy(program)
	}
	return 0
}

// replaced reports whether a word is what xargs puts a name in the place of.
func replaced(word string) bool { return strings.ContainsAny(word, "{}%") || word == "_" }
