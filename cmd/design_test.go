package cmd_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDesignNamesPackages: the table of packages in docs/design.md has a row for each, or for the one
// right above it, and says nothing of imports that is not so.
func TestDesignNamesPackages(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/design.md")
	require.NoError(t, err)
	row := regexp.MustCompile("(?m)^\\| `([^`]+)` \\| (.*) \\| ([^|]*) \\|$")
	quoted := regexp.MustCompile("`([^`]+)`")
	rows, names := map[string]string{}, map[string]string{} // by package: the row, the names of imports
	for _, m := range row.FindAllStringSubmatch(string(page), -1) {
		rows[m[1]], names[m[1]] = m[2], m[3]
	}
	imports := map[string][]string{}
	for _, p := range list(t) {
		imports[strings.TrimPrefix(p.ImportPath, module)] = p.Imports
	}
	for p := range imports {
		above := path.Dir(p)
		require.True(t, rows[p] != "" || rows[above] != "" && above != "orchestrator", "docs/design.md has no row for %s", p)
	}
	for p := range rows {
		require.Contains(t, imports, p, "docs/design.md names a package that is not there")
		for _, m := range quoted.FindAllStringSubmatch(names[p], -1) {
			require.True(t, slices.ContainsFunc(imports[p], func(i string) bool { return strings.HasSuffix(i, "/"+m[1]) }), "docs/design.md: %s does not import %s", p, m[1])
		}
	}
}

// TestDesignEmbedsNothingForeign: a struct of the command has no type of another package as its own,
// whose fields and methods a reader would take for the struct's. An interface may be embedded,
// where what wraps it changes one of its methods.
func TestDesignEmbedsNothingForeign(t *testing.T) {
	t.Parallel()
	interfaces := []string{"fs.FS", "orchestrator.Tracker"}
	structs := 0
	require.NoError(t, filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for n := range ast.Preorder(f) {
			s, ok := n.(*ast.StructType)
			if !ok {
				continue
			}
			structs++
			for _, field := range s.Fields.List {
				name := strings.TrimPrefix(types.ExprString(field.Type), "*")
				foreign := len(field.Names) == 0 && strings.Contains(name, ".")
				require.False(t, foreign && !slices.Contains(interfaces, name), "%s: a struct embeds %s; give it a name", path, name)
			}
		}
		return nil
	}))
	require.Greater(t, structs, 50)
}
