package document

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNothingElseIsADocument: no command makes a document of a map or of a struct of its own,
// and none writes JSON to its output by itself, but for what hooks answer in the words of the
// client that calls them.
func TestNothingElseIsADocument(t *testing.T) {
	t.Parallel()
	clients := []string{"internal/hooks/stop.go", "internal/hooks/events.go"}
	files := 0
	commands := filepath.Join(root, "cmd")
	require.NoError(t, filepath.WalkDir(commands, func(path string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(commands, path)
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.HasPrefix(rel, "internal/document/") {
			return err
		}
		files++
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, found := range ownJSON(file) {
			if strings.HasPrefix(found.what, "an encoder") && (rel == clients[0] || rel == clients[1]) {
				continue
			}
			t.Errorf("%s: %s", set.Position(found.at), found.what)
		}
		return nil
	}))
	require.Greater(t, files, 50)
}

// TestOwnJSONIsFound, so that the test above can fail.
func TestOwnJSONIsFound(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		`m := map[string]any{"schema": "orch.x/1"}`,
		`m["schema"] = "orch.x/1"`,
		"type d struct { S string `json:\"schema\"`; N int }",
		`json.NewEncoder(a.Stdout).Encode(1)`,
		`json.NewEncoder(os.Stdout).Encode(1)`,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x\nfunc f() {\n"+body+"\n}", 0)
		require.NoError(t, err)
		require.Len(t, ownJSON(file), 1, body)
	}
}

type finding struct {
	at   token.Pos
	what string
}

// ownJSON finds documents that are none of this package.
func ownJSON(file *ast.File) (out []finding) {
	const tag = `"schema"`
	is := func(e ast.Expr) bool { l, ok := e.(*ast.BasicLit); return ok && l.Value == tag }
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.KeyValueExpr:
			if is(n.Key) {
				out = append(out, finding{n.Pos(), "a map with a schema"})
			}
		case *ast.AssignStmt:
			for _, left := range n.Lhs {
				i, ok := left.(*ast.IndexExpr)
				if !ok || !is(i.Index) {
					continue
				}
				if _, ok := i.X.(*ast.Ident); ok { // else it is a property of a JSON schema
					out = append(out, finding{n.Pos(), "a map with a schema"})
				}
			}
		case *ast.StructType:
			// With the tag alone, it looks for the kind of a document.
			for _, f := range n.Fields.List {
				if f.Tag != nil && strings.Contains(f.Tag.Value, `json:"schema"`) && len(n.Fields.List) > 1 {
					out = append(out, finding{n.Pos(), "a struct with a schema"})
				}
			}
		case *ast.CallExpr:
			f, ok := n.Fun.(*ast.SelectorExpr)
			if !ok || f.Sel.Name != "NewEncoder" || len(n.Args) != 1 {
				break
			}
			if to, ok := n.Args[0].(*ast.SelectorExpr); ok && to.Sel.Name == "Stdout" {
				out = append(out, finding{n.Pos(), "an encoder of JSON on the output"})
			}
		}
		return true
	})
	return out
}
