package mcp

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/cmd/internal/document"
)

// TestSchemasOfAllDocuments: the schema of each kind has all of its fields with their meanings,
// allows its golden example, and refuses one with another tag or a field that it does not name.
func TestSchemasOfAllDocuments(t *testing.T) {
	t.Parallel()
	for _, k := range document.Kinds() {
		s := schemaOf(k.Zero, document.ReadMeanings())
		fields := document.Fields(reflect.TypeOf(k.Zero))
		require.Len(t, s.Properties, len(fields)+1, k.Name())
		for _, f := range fields {
			require.NotEmpty(t, s.Properties[f.Name].Description, "%s %s", k.Name(), f.Name)
		}
		resolved, err := s.Resolve(nil)
		require.NoError(t, err, k.Name())
		text, err := os.ReadFile(filepath.Join("..", "document", "testdata", "golden", k.Name()+".json"))
		require.NoError(t, err)
		var doc map[string]any
		require.NoError(t, json.Unmarshal(text, &doc))
		require.NoError(t, resolved.Validate(doc), k.Name())
		doc["else"] = 1
		require.Error(t, resolved.Validate(doc), k.Name())
		delete(doc, "else")
		doc["schema"] = "orch.other/1"
		require.Error(t, resolved.Validate(doc), k.Name())
	}
}
