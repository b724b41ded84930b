package mcp_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/document"
	"github.com/beadsorch/orch/cmd/internal/mcp"
	"github.com/beadsorch/orch/orchestrator/tracker"
)

const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
`

// serve gives the answers to an input, by their ids.
func serve(t testing.TB, in io.Reader, call mcp.Call) map[string]string {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, mcp.Serve(t.Context(), in, &out, "v1", call))
	answers := map[string]string{}
	for line := range strings.Lines(out.String()) {
		var m struct {
			ID json.RawMessage `json:"id"`
		}
		require.NoError(t, json.Unmarshal([]byte(line), &m), line)
		answers[string(m.ID)] = line
	}
	return answers
}

func get(id string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"task_get","arguments":{"taskId":"t"}}}` + "\n"
}

// TestServeAnswersAll: what was asked is answered, however long it takes, although the
// client has hung up already.
func TestServeAnswersAll(t *testing.T) {
	t.Parallel()
	answers := serve(t, strings.NewReader(hello+get("2")+get("3")), func(ctx context.Context, _ []string, _ []byte) ([]byte, int) {
		timer := time.NewTimer(50 * time.Millisecond)
		defer timer.Stop()
		<-timer.C
		return oneTask(t), 0
	})
	require.Contains(t, answers["2"], `"structuredContent":{"schema":"orch.task/1","task":{"id":"t",`)
	require.Contains(t, answers["3"], `"structuredContent":{"schema":"orch.task/1","task":{"id":"t",`)
}

// TestServeGoesOn: what is no message is answered as an error, and the next one as ever.
func TestServeGoesOn(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"not json":   `-32700`,
		`{"a":`:      `-32700`,
		"7":          `-32600`,
		"[1,2]":      `-32600`,
		`{"id":"x"}`: ``,
		`{"jsonrpc":"1.0","id":8,"method":"ping"}`: ``,
		strings.Repeat("x", 17<<20):                `-32600`,
		"\r":                                       ``,
		`{"jsonrpc":"2.0","method":"notifications/cancelled"}`:     ``,
		`[{"jsonrpc":"2.0","id":9,"method":"ping"}]`:               ``,
		`{"jsonrpc":"2.0","id":"y","result":{}}`:                   ``,
		`{"jsonrpc":"2.0","id":9,"method":"nonsense","params":[]}`: ``,
	} {
		answers := serve(t, strings.NewReader(hello+line+"\n"+get("2")), func(context.Context, []string, []byte) ([]byte, int) { return oneTask(t), 0 })
		require.Contains(t, answers["2"], "structuredContent", "after %.40s", line)
		if want != "" {
			require.Contains(t, answers["null"], want, "%.40s", line)
		}
	}
	answers := serve(t, strings.NewReader(hello+`[`+strings.TrimSpace(get("4"))+`,`+strings.TrimSpace(get("5"))+`]`), func(context.Context, []string, []byte) ([]byte, int) { return oneTask(t), 0 })
	require.Contains(t, answers["4"], "structuredContent", "a batch is taken apart")
	require.Contains(t, answers["5"], "structuredContent")
}

// TestServeEnds: an answer that is no longer wanted is not waited for, nor one after the end.
func TestServeEnds(t *testing.T) {
	t.Parallel()
	in, client := io.Pipe()
	began := make(chan struct{})
	done := make(chan error, 1)
	go func() {
		done <- mcp.Serve(t.Context(), in, io.Discard, "v1", func(ctx context.Context, _ []string, _ []byte) ([]byte, int) {
			close(began)
			<-ctx.Done()
			return nil, 1
		})
	}()
	w := bufio.NewWriter(client)
	send := func(text string) {
		_, err := w.WriteString(text)
		require.NoError(t, err)
		require.NoError(t, w.Flush())
	}
	send(hello + get("2"))
	<-began
	send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}` + "\n")
	require.NoError(t, client.Close())
	require.NoError(t, <-done)
}

// FuzzServe: nothing that a client sends ends the server before its input does.
func FuzzServe(f *testing.F) {
	f.Add([]byte("not json\n[]\n{}\n"))
	f.Add([]byte(get("7") + `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		in := io.MultiReader(strings.NewReader(hello), bytes.NewReader(data), strings.NewReader("\n"+get(`"last"`)))
		answers := serve(t, in, func(context.Context, []string, []byte) ([]byte, int) { return oneTask(t), 0 })
		if !bytes.Contains(data, []byte("last")) {
			require.Contains(t, answers[`"last"`], "structuredContent")
		}
	})
}

// oneTask is what orch task get prints, on one line.
func oneTask(t testing.TB) []byte {
	doc, err := cli.Marshal(document.Task{Task: tracker.Issue{ID: "t", Title: "one"}})
	require.NoError(t, err)
	return doc
}
