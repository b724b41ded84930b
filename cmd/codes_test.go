package cmd

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/orchestrator/reason"
)

// errorCodes lists the codes in a file that errors are given, and the places where one is given
// that cannot be told from the text: neither a literal, nor a code of package reason.
func errorCodes(f *ast.File, fset *token.FileSet) (codes, unknown []string) {
	add := func(e ast.Expr) {
		switch e := e.(type) {
		case *ast.BasicLit:
			if s, err := strconv.Unquote(e.Value); err == nil {
				codes = append(codes, s)
			}
			return
		case *ast.CallExpr: // string(reason.X), or string(sum.Code), whose type is reason.Code
			if name, ok := e.Fun.(*ast.Ident); ok && name.Name == "string" && len(e.Args) == 1 {
				if _, ok := e.Args[0].(*ast.SelectorExpr); ok {
					return
				}
			}
		}
		unknown = append(unknown, fset.Position(e.Pos()).String())
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CompositeLit:
			if !isError(n.Type, f.Name.Name) {
				return true
			}
			for _, e := range n.Elts {
				if kv, ok := e.(*ast.KeyValueExpr); !ok {
					unknown = append(unknown, fset.Position(e.Pos()).String())
				} else if key, ok := kv.Key.(*ast.Ident); ok && key.Name == "Code" {
					add(kv.Value)
				}
			}
		case *ast.AssignStmt:
			for i, left := range n.Lhs {
				sel, ok := left.(*ast.SelectorExpr)
				if !ok || sel.Sel.Name != "Code" || len(n.Rhs) != len(n.Lhs) {
					continue
				}
				if lit, ok := n.Rhs[i].(*ast.BasicLit); ok { // of another type it is a reason.Code
					add(lit)
				}
			}
		}
		return true
	})
	return codes, unknown
}

// isError reports whether a type is cli.Error, as the package writes it.
func isError(t ast.Expr, pkg string) bool {
	switch t := t.(type) {
	case *ast.Ident:
		return pkg == "cli" && t.Name == "Error"
	case *ast.SelectorExpr:
		from, ok := t.X.(*ast.Ident)
		return ok && from.Name == "cli" && t.Sel.Name == "Error"
	}
	return false
}

// TestEveryCodeIsExplained finds in the source each code that an error can be printed with, and
// has orch explain know it.
func TestEveryCodeIsExplained(t *testing.T) {
	t.Parallel()
	known, means := map[reason.Code]bool{}, map[string]bool{}
	for _, r := range cli.Codes() {
		require.False(t, means[r.Means], "%s is there twice", r.Code)
		means[r.Means] = true
		require.NotEmpty(t, r.Means, r.Code)
		require.NotEmpty(t, r.Do, r.Code)
		known[r.Code] = true
	}
	used := map[string]bool{}
	require.NoError(t, filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, path, nil, 0)
		require.NoError(t, err)
		codes, unknown := errorCodes(f, fset)
		require.Empty(t, unknown, "a code that this test cannot read")
		for _, c := range codes {
			require.True(t, known[reason.Code(c)], "%s: orch explain does not know %s", path, c)
			used[c] = true
		}
		return nil
	}))
	causes := constants(t, filepath.Join("..", "stophook"), "Cause")
	require.Contains(t, causes, "WORK_LEFT")
	for _, v := range causes {
		require.True(t, known[reason.Code(v)], "orch explain does not know the stop hook's %s", v)
		require.True(t, slices.ContainsFunc(cli.CodesOf(reason.Code(v)), func(r reason.Row) bool { return strings.HasPrefix(r.Means, "the stop hook: ") }),
			"orch explain does not tell what %s means of a session", v)
		used[v] = true
	}
	for _, v := range constants(t, filepath.Join("..", "orchestrator", "epic"), "Promise") {
		require.True(t, known[reason.Code(v)], "orch explain does not know %s", v)
		used[v] = true
	}
	for _, r := range cli.Codes()[len(reason.All()):] {
		require.True(t, used[string(r.Code)], "%s is explained, and nothing prints it", r.Code)
	}
}

// constants lists the values of the constants of a type in the package in a folder.
func constants(t *testing.T, dir, of string) (values []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	require.NoError(t, err)
	for _, path := range files {
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		require.NoError(t, err)
		ast.Inspect(f, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			if kind, ok := spec.Type.(*ast.Ident); !ok || kind.Name != of {
				return false
			}
			for _, v := range spec.Values {
				s, err := strconv.Unquote(v.(*ast.BasicLit).Value)
				require.NoError(t, err)
				values = append(values, s)
			}
			return false
		})
	}
	return values
}

// TestErrorCodesAreFound shows what the search finds, and what it does not let pass.
func TestErrorCodesAreFound(t *testing.T) {
	t.Parallel()
	const source = `package p
func f(code string) {
	_ = &cli.Error{Code: "ONE", What: "x"}
	p := &cli.Error{What: "x"}
	p.Code, p.Exit = "TWO", 2
	_ = cli.Error{Code: string(reason.Machine)}
	_ = finding{Code: "NONE"}
	_ = &cli.Error{Code: code}
	_ = &cli.Error{"THREE"}
}`
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "p.go", source, 0)
	require.NoError(t, err)
	codes, unknown := errorCodes(f, fset)
	require.Equal(t, []string{"ONE", "TWO"}, codes)
	require.Equal(t, []string{"p.go:8:23", "p.go:9:17"}, unknown)
}
