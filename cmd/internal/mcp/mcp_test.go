package mcp_test

import (
	"context"
	"encoding/json"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/document"
	"github.com/beadsorch/orch/cmd/internal/mcp"
)

// TestSchemas: no part of a tool's schemas is a mere true, which some clients refuse, with
// all tools; and each says what it is for.
func TestSchemas(t *testing.T) {
	t.Parallel()
	here, there := sdk.NewInMemoryTransports()
	_, err := mcp.Server("v1", nil).Connect(t.Context(), there, nil)
	require.NoError(t, err)
	client, err := sdk.NewClient(&sdk.Implementation{Name: "t", Version: "1"}, nil).Connect(t.Context(), here, nil)
	require.NoError(t, err)
	listed, err := client.ListTools(t.Context(), nil)
	require.NoError(t, err)
	var look func(where string, schema any)
	look = func(where string, schema any) {
		fields, ok := schema.(map[string]any)
		require.True(t, ok, "%s is %v", where, schema)
		properties, _ := fields["properties"].(map[string]any)
		for name, inner := range properties {
			look(where+"."+name, inner)
		}
		if items, ok := fields["items"]; ok {
			look(where+"[]", items)
		}
	}
	for _, tool := range listed.Tools {
		for what, schema := range map[string]any{"input": tool.InputSchema, "output": tool.OutputSchema} {
			text, err := json.Marshal(schema)
			require.NoError(t, err)
			var doc any
			require.NoError(t, json.Unmarshal(text, &doc))
			look(tool.Name+" "+what, doc)
			require.Equal(t, "object", doc.(map[string]any)["type"], tool.Name)
		}
	}
}

// TestCommandLines: a tool is a command line, with what the model sent behind a --, and its
// words never taken for options; the exit code says what is an error.
func TestCommandLines(t *testing.T) {
	t.Parallel()
	var args []string
	var stdin, answer string
	exit := 0
	server := mcp.Server("v1", func(_ context.Context, a []string, in []byte) ([]byte, int) {
		args, stdin = a, string(in)
		return []byte(answer), exit
	})
	here, there := sdk.NewInMemoryTransports()
	_, err := server.Connect(t.Context(), there, nil)
	require.NoError(t, err)
	client, err := sdk.NewClient(&sdk.Implementation{Name: "t", Version: "1"}, nil).Connect(t.Context(), here, nil)
	require.NoError(t, err)
	call := func(name string, in map[string]any) (*sdk.CallToolResult, string) {
		r, err := client.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: in})
		require.NoError(t, err)
		text, err := json.Marshal(r.Content)
		require.NoError(t, err)
		return r, string(text)
	}

	doc, err := cli.Marshal(document.Validate{TaskID: "--help", Number: 1, Signal: "BLOCKED"})
	require.NoError(t, err)
	answer = string(doc)
	exit = 3
	r, _ := call("iteration_validate", map[string]any{"taskId": "--help", "agentOutput": "words"})
	require.False(t, r.IsError, "a loop that was blocked is a result")
	require.Equal(t, []string{"iteration", "validate", "--output=-", "--json", "--", "--help"}, args)
	require.Equal(t, "words", stdin)

	answer = `{"schema":"orch.error/1","code":"NOT_FOUND","message":"no task x","why":"it is gone","fix":["orch tasks list"]}`
	exit = 5
	r, text := call("task_get", map[string]any{"taskId": "x"})
	require.True(t, r.IsError)
	require.Contains(t, text, "no task x [NOT_FOUND]. it is gone. What helps: orch tasks list")

	for _, rubbish := range []string{"", "nonsense", "{}"} {
		answer, exit = rubbish, 1
		r, _ = call("task_get", map[string]any{"taskId": "x"})
		require.True(t, r.IsError, rubbish)
	}
	args = nil
	r, text = call("task_get", map[string]any{"taskId": " "})
	require.True(t, r.IsError)
	require.Contains(t, text, "taskId is missing or empty")
	require.Nil(t, args, "nothing was run")
}
