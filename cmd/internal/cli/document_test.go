package cli

import (
	"bytes"
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// odd is a document whose fields a test chooses.
type odd struct{ fields any }

func (odd) Schema() string { return "orch.odd/1" }

func (o odd) MarshalJSON() ([]byte, error) { return json.Marshal(o.fields) }

// TestMarshal: the tag comes first, whatever the fields are, and text stays as it is.
func TestMarshal(t *testing.T) {
	t.Parallel()
	for want, fields := range map[string]any{
		`{"schema":"orch.odd/1"}`:               struct{}{},
		`{"schema":"orch.odd/1","a":1}`:         map[string]int{"a": 1},
		`{"schema":"orch.odd/1","a":{"b":{}}}`:  map[string]any{"a": map[string]any{"b": struct{}{}}},
		`{"schema":"orch.odd/1","a":"\"}{\\n"}`: map[string]string{"a": `"}{\n`},
	} {
		got, err := Marshal(odd{fields})
		require.NoError(t, err)
		require.Equal(t, want, string(got))
	}
	got, err := Marshal(ErrorDocument{Code: "<&>"})
	require.NoError(t, err)
	require.Equal(t, `{"schema":"orch.error/1","code":"<&>","message":"","why":"","fix":[],"exit":0}`, string(got))
}

// TestWrite: what has no JSON, or is no object, is an error for who reads it, on as many lines
// as a document would have.
func TestWrite(t *testing.T) {
	t.Parallel()
	for _, d := range []Document{odd{math.NaN()}, odd{"text"}, odd{nil}, odd{json.RawMessage("{")}} {
		var out, line bytes.Buffer
		WriteJSON(&out, d)
		var e struct {
			Schema, Code, Message string
			Exit                  int
		}
		require.NoError(t, json.Unmarshal(out.Bytes(), &e), out.String())
		require.Equal(t, "orch.error/1", e.Schema)
		require.Equal(t, "UNEXPECTED", e.Code)
		require.Contains(t, e.Message, d.Schema())
		require.Equal(t, 1, e.Exit)
		require.NoError(t, WriteLine(&line, d))
		require.Equal(t, 1, bytes.Count(line.Bytes(), []byte("\n")), line.String())
		require.JSONEq(t, out.String(), line.String())
	}
}
