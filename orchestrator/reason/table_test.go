package reason_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/reason"
)

// TestEveryCodeIsInTheTable: each constant of the type has a row, once, that says what the
// code means and what to do.
func TestEveryCodeIsInTheTable(t *testing.T) {
	t.Parallel()
	rows := map[string]int{}
	for _, r := range reason.All() {
		require.NotEmpty(t, r.Means, r.Code)
		require.NotEmpty(t, r.Do, r.Code)
		require.NotZero(t, r.Exit, r.Code)
		require.Equal(t, r.Means, r.Code.Means())
		rows[string(r.Code)]++
	}
	f, err := parser.ParseFile(token.NewFileSet(), "code.go", nil, 0)
	require.NoError(t, err)
	ast.Inspect(f, func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if kind, ok := v.Type.(*ast.Ident); ok && kind.Name == "Code" {
			code, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
			require.NoError(t, err)
			require.Equal(t, 1, rows[code], code)
			delete(rows, code)
		}
		return true
	})
	require.Empty(t, rows, "rows without a constant")
	_, ok := reason.Of("NONSENSE")
	require.False(t, ok)
}
