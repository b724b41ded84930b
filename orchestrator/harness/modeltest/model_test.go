package modeltest_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/harness/modeltest"
)

// TestDialects: the same conversation, in each dialect, is the same to a test; the answer
// has the text and the call of the client's own shell tool.
func TestDialects(t *testing.T) {
	t.Parallel()
	for path, c := range map[string]struct{ body, tool string }{
		"/v1/messages": {`{"stream":true,"tools":[{}],"messages":[{"role":"user","content":"the brief"},{"role":"assistant","content":"first"},{"role":"user","content":"go on"}]}`, `"Bash"`},
		"/v1/responses": {`{"tools":[{}],"input":[{"role":"user","content":[{"type":"input_text","text":"the brief"}]},{"role":"assistant","content":[{"text":"first"}]},
			{"type":"function_call","arguments":"{}"},{"type":"function_call_output","output":"go on"}]}`, `"exec_command"`},
		"/v1/chat/completions":                           {`{"stream":true,"tools":[{}],"messages":[{"role":"system","content":"x"},{"role":"user","content":"the brief"},{"role":"assistant","content":"first"},{"role":"tool","content":"go on"}]}`, `"bash"`},
		"/v1beta/models/m:streamGenerateContent?alt=sse": {`{"tools":[{}],"contents":[{"role":"user","parts":[{"text":"the brief"}]},{"role":"model","parts":[{"text":"first"}]},{"role":"user","parts":[{"text":"go on"}]}]}`, `"run_shell_command"`},
	} {
		m := modeltest.NewModel(t, func(r modeltest.Request) modeltest.Reply {
			if r.First() != "the brief" || r.Last() != "go on" || r.Turn() != 1 {
				return modeltest.Reply{Status: http.StatusTeapot}
			}
			return modeltest.Reply{Text: "said", Bash: "echo done"}
		})
		code, out := ask(t, m, path, c.body)
		require.Equal(t, http.StatusOK, code, "%s: %+v", path, m.Requests())
		for _, want := range []string{"data: ", "said", "echo done", c.tool} {
			require.Contains(t, out, want, path)
		}
		code, _ = ask(t, m, path, strings.Replace(c.body, "the brief", "another", 1))
		require.Equal(t, http.StatusTeapot, code, path)
		code, _ = ask(t, m, path, "{")
		require.Equal(t, http.StatusNotFound, code, path)
	}
}

// TestEnv points every client at the model, in a home of its own.
func TestEnv(t *testing.T) {
	t.Parallel()
	m := modeltest.NewModel(t, func(modeltest.Request) modeltest.Reply { return modeltest.Reply{} })
	for _, client := range []string{"claude", "codex", "gemini", "copilot", "opencode"} {
		home := t.TempDir()
		require.Contains(t, m.Env(t, client, home), "HOME="+home, client)
	}
}
