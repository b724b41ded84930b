package modeltest_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/harness/modeltest"
)

func ask(t *testing.T, m *modeltest.Model, path, body string) (int, string) {
	t.Helper()
	url := ""
	for _, e := range m.Env(t, "claude", t.TempDir()) {
		if v, ok := strings.CutPrefix(e, "ANTHROPIC_BASE_URL="); ok {
			url = v
		}
	}
	require.True(t, strings.HasPrefix(url, "http://127.0.0.1:"), url)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+path, strings.NewReader(body))
	require.NoError(t, err)
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	out, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return res.StatusCode, string(out)
}

const conversation = `{"model":"m","stream":STREAM,"tools":[{"name":"Bash"}],"messages":[
	{"role":"user","content":"the brief"},
	{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"Bash","input":{}}]},
	{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":[{"type":"text","text":"its output"}]},{"type":"text","text":"go on"}]}]}`

// TestModel answers a main conversation as the test says, in a stream or at once.
func TestModel(t *testing.T) {
	t.Parallel()
	m := modeltest.NewModel(t, func(r modeltest.Request) modeltest.Reply {
		return modeltest.Reply{Text: "turn " + string(rune('0'+r.Turn())), Bash: "echo " + r.Last()}
	})
	code, out := ask(t, m, "/v1/messages?beta=true", strings.Replace(conversation, "STREAM", "true", 1))
	require.Equal(t, http.StatusOK, code)
	for _, want := range []string{"event: message_start", `"text":"turn 1"`, `"type":"tool_use"`, `its output\\ngo on`, `"stop_reason":"tool_use"`, "event: message_stop"} {
		require.Contains(t, out, want)
	}
	_, out = ask(t, m, "/v1/messages", strings.Replace(conversation, "STREAM", "false", 1))
	var doc struct {
		Content []struct{ Type string } `json:"content"`
	}
	require.NoError(t, json.NewDecoder(bytes.NewBufferString(out)).Decode(&doc))
	require.Len(t, doc.Content, 2)
	require.Len(t, m.Requests(), 2)
	require.Equal(t, "the brief", m.Requests()[0].First())
}

// TestModelAside: what has no tools is no main conversation, and what is no
// message at all is not found.
func TestModelAside(t *testing.T) {
	t.Parallel()
	m := modeltest.NewModel(t, func(modeltest.Request) modeltest.Reply { return modeltest.Reply{Status: http.StatusTeapot} })
	code, out := ask(t, m, "/v1/messages", `{"messages":[{"role":"user","content":"a title, please"}]}`)
	require.Equal(t, http.StatusOK, code)
	require.Contains(t, out, `"text":"ok"`)
	require.Empty(t, m.Requests())
	code, _ = ask(t, m, "/v1/messages", `{"tools":[{}],"messages":[]}`)
	require.Equal(t, http.StatusTeapot, code)
	for path, body := range map[string]string{"/v1/other": "{}", "/v1/messages": "{"} {
		code, _ = ask(t, m, path, body)
		require.Equal(t, http.StatusNotFound, code, path)
	}
}
