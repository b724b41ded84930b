package settings_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/stophook/settings"
)

// TestPutAndDrop: a member is added once, beside all others, and taken out again.
func TestPutAndDrop(t *testing.T) {
	t.Parallel()
	value := map[string]any{"command": "orch", "args": []string{"mcp"}}
	for before, after := range map[string]string{
		"":                                     "{\n}\n",
		"{}":                                   "",
		"{\n  \"model\": 1.0\n}\n":             "",
		`{"mcpServers": {"theirs": {"x": 1}}}`: "",
		"{\n\t\"mcpServers\": {}\n}\n":         "{\n}\n",
	} {
		got, err := settings.Put([]byte(before), "mcpServers", "orch", value)
		require.NoError(t, err, before)
		var doc struct {
			Servers map[string]json.RawMessage `json:"mcpServers"`
		}
		require.NoError(t, json.Unmarshal(got, &doc), string(got))
		require.JSONEq(t, `{"command": "orch", "args": ["mcp"]}`, string(doc.Servers["orch"]))
		again, err := settings.Put(got, "mcpServers", "orch", value)
		require.NoError(t, err)
		require.Equal(t, string(got), string(again), "once")
		rest, err := settings.Drop(got, "mcpServers", "orch")
		require.NoError(t, err)
		if after == "" {
			after = before
		}
		require.JSONEq(t, after, string(rest), before)
	}
	for _, bad := range []string{"[]", `{"mcpServers": []}`, "{"} {
		_, err := settings.Put([]byte(bad), "mcpServers", "orch", value)
		require.ErrorIs(t, err, settings.ErrSettings, bad)
	}
}
