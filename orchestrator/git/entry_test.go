package git_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// startsOfGit lists the places in a file where a command line of git begins: the word git, or a
// path to it, as a value; or a shell's command line with git in it. The word in an error message, in
// a row of a report, or compared with another is none.
func startsOfGit(f *ast.File, fset *token.FileSet) (at []string) {
	word := regexp.MustCompile(`(^|[\s;&|('"/])git(\s|$)`)
	shells := regexp.MustCompile(`(^|/)(sh|bash|dash|zsh|env)$`)
	text := func(n ast.Node) (string, bool) {
		lit, ok := n.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return "", false
		}
		s, err := strconv.Unquote(lit.Value)
		return s, err == nil
	}
	say := func(n ast.Node) { at = append(at, fset.Position(n.Pos()).String()) }
	harmless := map[ast.Node]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			harmless[n.Path] = true
		case *ast.CallExpr:
			if sel, ok := n.Fun.(*ast.SelectorExpr); ok {
				if pkg, ok := sel.X.(*ast.Ident); ok && pkg.Name == "strings" {
					for _, arg := range n.Args {
						harmless[arg] = true
					}
				}
				if sel.Sel.Name == "Plain" && len(n.Args) > 3 {
					say(n)
				}
			}
			shellIn(n.Args, text, shells, word, say)
		case *ast.CompositeLit:
			if name, ok := n.Type.(*ast.Ident); ok && name.Name == "finding" { // a row of orch doctor
				for _, e := range n.Elts {
					harmless[e] = true
				}
			}
			shellIn(n.Elts, text, shells, word, say)
		case *ast.BinaryExpr:
			if n.Op == token.EQL || n.Op == token.NEQ {
				harmless[n.X], harmless[n.Y] = true, true
			}
		case *ast.BasicLit:
			if s, ok := text(n); ok && !harmless[n] && (s == "git" || strings.HasSuffix(s, "/git")) {
				say(n)
			}
		}
		return true
	})
	return at
}

// shellIn says where a list of values names a shell, and then git in a command for it.
func shellIn(list []ast.Expr, text func(ast.Node) (string, bool), shells, word *regexp.Regexp, say func(ast.Node)) {
	shell := false
	for _, e := range list {
		s, ok := text(e)
		if shell && ok && word.MatchString(s) {
			say(e)
		}
		shell = shell || ok && shells.MatchString(s)
	}
}

// TestOneEntry: a command line of git is made in one place, so that what holds for one git holds
// for all: none of orch reads what an agent could write. The demo works in a repository of its own.
func TestOneEntry(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	found := map[string]int{}
	files := 0
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") && name != "." || d.Name() == "testdata" || name == "orchestrator/git/gittest") {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		files++
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, path, nil, 0)
		if err != nil {
			return err
		}
		if at := startsOfGit(f, fset); len(at) > 0 {
			found[name] += len(at)
		}
		return nil
	}))
	require.Greater(t, files, 150)
	require.Equal(t, map[string]int{"orchestrator/git/call.go": 1, "cmd/demo.go": 1}, found)
}

// TestOneEntrySees: the ways round it that one can think of are seen.
func TestOneEntrySees(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]int{
		`[]string{"git", "status"}`:                        1,
		`append([]string{"git"}, args...)`:                 1,
		`exec.Command("git", "status")`:                    1,
		`exec.CommandContext(ctx, "/usr/bin/git")`:         1,
		`proc.Cmd{Argv: []string{"sh", "-c", "git diff"}}`: 1,
		`exec.Command("/bin/sh", "-c", "cd x && git gc")`:  1,
		`[]string{"env", "A=b", "git"}`:                    2,
		`name("git")`:                                      1,
		`git.Plain(ctx, run, dir, env, args...)`:           1,
		`strings.HasPrefix(name, "git")`:                   0,
		`finding{"git", false}`:                            0,
		`name == "git"`:                                    0,
		`"git config --global safe.directory"`:             0,
	} {
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, "x.go", "package x\nvar x = "+code, 0)
		require.NoError(t, err)
		require.Len(t, startsOfGit(f, fset), want, code)
	}
}
