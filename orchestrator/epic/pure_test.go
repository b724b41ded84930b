package epic_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPure: nothing here can reach the world. It may import what only computes,
// and no clock is read.
func TestPure(t *testing.T) {
	t.Parallel()
	pure := []string{"bytes", "cmp", "encoding/json", "errors", "fmt", "maps", "reflect", "slices", "sort", "strings", "time",
		"github.com/beadsorch/orch/orchestrator/reason", "github.com/beadsorch/orch/orchestrator/tracker", "github.com/beadsorch/orch/orchestrator/object", "github.com/beadsorch/orch/orchestrator/text", "github.com/beadsorch/orch/orchestrator/iteration"}
	entries, err := os.ReadDir(".")
	require.NoError(t, err)
	files := 0
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		files++
		f, err := parser.ParseFile(token.NewFileSet(), e.Name(), nil, 0)
		require.NoError(t, err)
		for _, i := range f.Imports {
			path, err := strconv.Unquote(i.Path.Value)
			require.NoError(t, err)
			require.Contains(t, pure, path, "%s imports it", e.Name())
		}
		ast.Inspect(f, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if x, ok := sel.X.(*ast.Ident); ok && x.Name == "time" {
				require.NotContains(t, []string{"Now", "Since", "Until", "Sleep", "After", "NewTimer", "Tick"}, sel.Sel.Name, e.Name())
			}
			return true
		})
	}
	require.Greater(t, files, 8)
}
