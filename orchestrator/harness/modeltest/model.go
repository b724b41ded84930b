// Package modeltest runs the real agent clients in tests, offline: it stands in for the
// model, on loopback, in the dialect that each client speaks, and says what the test
// wants said.
package modeltest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// Request is what a client asks of the model, as far as tests look at it.
type Request struct {
	Tools    bool      // tools are offered: the main conversation, not a title or a summary
	Messages []Message // oldest first, the system's left out
	Bytes    int       // of the whole request
}

// Message is one message of a conversation.
type Message struct {
	Role string // user or assistant; the output of tools is the user's
	Text string // all of its text, and the text of tool results, a line each
}

// First is the text of the first message: in a run of orch with Claude Code, with the
// brief in it.
func (r Request) First() string { return r.at(0) }

// Last is the text of the newest message.
func (r Request) Last() string { return r.at(len(r.Messages) - 1) }

// All is the text of all messages.
func (r Request) All() string {
	var b strings.Builder
	for _, m := range r.Messages {
		b.WriteString(m.Text + "\n")
	}
	return b.String()
}

func (r Request) at(n int) string {
	if n < 0 || n >= len(r.Messages) {
		return ""
	}
	return r.Messages[n].Text
}

// Turn counts the answers that the conversation has already; 0 at first.
func (r Request) Turn() (n int) {
	for _, m := range r.Messages {
		if m.Role == "assistant" {
			n++
		}
	}
	return n
}

// add puts a text behind the others; texts of the same role in a row are one message.
func (r *Request) add(role, text string) {
	if n := len(r.Messages); n > 0 && r.Messages[n-1].Role == role {
		r.Messages[n-1].Text += "\n" + text
		return
	}
	r.Messages = append(r.Messages, Message{Role: role, Text: text})
}

// Reply is one answer of the model. The zero Reply says "ok".
type Reply struct {
	Text   string
	Bash   string         // a command for the client's shell tool; "" for none
	Agent  string         // the prompt of a subagent of Claude Code, in the background; "" for none
	Tool   string         // another tool that is offered, by the end of its name; "" for none
	Input  map[string]any // of Tool
	Status int            // an HTTP error instead; 0 for none
	Tokens int            // of input that it says it was asked with; 0 counts them
}

func (r Reply) calls() bool { return r.Bash != "" || r.Agent != "" || r.Tool != "" }

// Model answers clients on loopback until the test ends.
type Model struct {
	url    string
	answer func(Request) Reply

	mu   sync.Mutex
	seen []Request
}

// NewModel starts a model that answers each request of a main conversation with
// answer. Requests without tools are answered by "ok" and not recorded.
func NewModel(t testing.TB, answer func(Request) Reply) *Model {
	t.Helper()
	m := &Model{answer: answer}
	s := httptest.NewServer(m)
	t.Cleanup(s.Close)
	m.url = s.URL
	return m
}

// Env is what points a client at the model, and keeps it from everything else. Settings
// that the client has no variable for are written into home.
func (m *Model) Env(t testing.TB, client, home string) []string {
	t.Helper()
	write := func(path, text string) string {
		path = filepath.Join(home, path)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	env := []string{"HOME=" + home}
	switch client {
	case "claude":
		return append(env, "CLAUDE_CONFIG_DIR="+home+"/.claude", "CLAUDE_CODE_TMPDIR="+home, "ANTHROPIC_API_KEY=dummy-key", "ANTHROPIC_BASE_URL="+m.url,
			"DISABLE_TELEMETRY=1", "DISABLE_AUTOUPDATER=1", "DISABLE_ERROR_REPORTING=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "CLAUDE_CODE_MAX_RETRIES=1")
	case "codex":
		write(".codex/config.toml", fmt.Sprintf(`model = "scripted"
model_provider = "loopback"
check_for_update_on_startup = false
[model_providers.loopback]
name = "loopback"
base_url = "%s/v1"
wire_api = "responses"
env_key = "OPENAI_API_KEY"
request_max_retries = 0
stream_max_retries = 1
[analytics]
enabled = false
`, m.url))
		return append(env, "CODEX_HOME="+home+"/.codex", "OPENAI_API_KEY=dummy-key")
	case "gemini":
		write(".gemini/settings.json", `{"security": {"auth": {"selectedType": "gemini-api-key"}}, "privacy": {"usageStatisticsEnabled": false}, "general": {"enableAutoUpdate": false}}`)
		return append(env, "GEMINI_API_KEY=dummy-key", "GOOGLE_GEMINI_BASE_URL="+m.url, "GEMINI_TELEMETRY_ENABLED=false", "GEMINI_CLI_TRUST_WORKSPACE=true")
	case "copilot":
		return append(env, "COPILOT_HOME="+home+"/.copilot", "COPILOT_OFFLINE=true", "COPILOT_PROVIDER_BASE_URL="+m.url+"/v1", "COPILOT_MODEL=scripted", "COPILOT_AUTO_UPDATE=false")
	case "opencode":
		config := write("opencode.json", fmt.Sprintf(`{"provider": {"loopback": {"npm": "@ai-sdk/openai-compatible", "name": "loopback", "options": {"baseURL": "%s/v1", "apiKey": "dummy-key"},
  "models": {"scripted": {"name": "scripted"}}}}, "model": "loopback/scripted", "small_model": "loopback/scripted", "autoupdate": false, "share": "disabled"}`, m.url))
		return append(env, "OPENCODE_CONFIG="+config, "OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1")
	}
	t.Fatalf("no dialect is known for %q", client)
	return nil
}

// Requests lists the requests of main conversations so far.
func (m *Model) Requests() []Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]Request(nil), m.seen...)
}

// dialect is the API of one vendor, as far as its client uses it.
type dialect interface {
	// request takes the body apart.
	request(body []byte) (Request, error)
	// write answers it; in counts the tokens of the request.
	write(w http.ResponseWriter, reply Reply, id string, in int)
	// failure is the body of an HTTP error.
	failure(status int) object
}

// dialectOf is the dialect of the API at a path.
func dialectOf(path string) dialect {
	switch {
	case strings.HasSuffix(path, "/v1/messages"):
		return &messages{}
	case strings.HasSuffix(path, "/v1/responses"):
		return &responses{}
	case strings.HasSuffix(path, "/v1/chat/completions"):
		return &completions{}
	case strings.Contains(path, ":streamGenerateContent"), strings.Contains(path, ":generateContent"):
		return &generate{stream: strings.Contains(path, ":stream")}
	}
	return nil
}

// ServeHTTP answers one request in the dialect of its path.
func (m *Model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	d := dialectOf(r.URL.Path)
	var req Request
	if err == nil && d != nil {
		req, err = d.request(body)
	}
	if err != nil || d == nil {
		http.Error(w, `{"type":"error","error":{"type":"not_found_error","message":"no such API is here"}}`, http.StatusNotFound)
		return
	}
	req.Bytes = len(body)
	reply := Reply{}
	if req.Tools {
		reply = m.answer(req)
		m.mu.Lock()
		m.seen = append(m.seen, req)
		m.mu.Unlock()
	}
	if reply.Text == "" && !reply.calls() {
		reply.Text = "ok"
	}
	if reply.Status != 0 {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(reply.Status)
		send(w, "", d.failure(reply.Status))
		return
	}
	d.write(w, reply, fmt.Sprint(len(body)), cmp.Or(reply.Tokens, len(body)/4))
}

type object = map[string]any

// tool is one that a client offers, in the words of all dialects.
type tool struct {
	Name     string `json:"name"`
	Function struct {
		Name string `json:"name"`
	} `json:"function"` // Chat Completions
	Functions []tool `json:"functionDeclarations"` // generateContent
	Tools     []tool `json:"tools"`                // Responses: of a namespace
}

// named looks for the tool whose name ends in end, and the namespace that it is in; a model
// may call one that is not offered.
func named(tools []tool, end string) (name, namespace string) {
	for _, t := range tools {
		within := t.Functions
		if len(t.Tools) > 0 {
			within, namespace = t.Tools, t.Name
		}
		if own := cmp.Or(t.Function.Name, t.Name); len(t.Tools) == 0 && strings.HasSuffix(own, end) {
			return own, ""
		}
		for _, f := range within {
			if strings.HasSuffix(f.Name, end) {
				return f.Name, namespace
			}
		}
	}
	return end, ""
}

// text is a value as JSON.
func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // of maps of strings and numbers
	}
	return string(b)
}

// send writes one server-sent event, or without a name one document. A client that is gone
// is no error of the model's.
func send(w http.ResponseWriter, event string, v object) {
	if event == "" {
		fmt.Fprintln(w, text(v))
		return
	}
	v["type"] = event
	fmt.Fprintf(w, "event: %s\ndata: %s\n\n", event, text(v))
	flush(w)
}

// data writes one server-sent event that has no name.
func data(w http.ResponseWriter, v object) {
	fmt.Fprintf(w, "data: %s\n\n", text(v))
	flush(w)
}

func flush(w http.ResponseWriter) {
	if f, ok := w.(http.Flusher); ok {
		f.Flush()
	}
}

// begin says whether a stream or a document follows.
func begin(w http.ResponseWriter, stream bool) {
	w.Header().Set("Content-Type", map[bool]string{true: "text/event-stream", false: "application/json"}[stream])
}

// texts finds the text in a content, which is a string, or a list of blocks, of
// which tool results have a content again.
func texts(content json.RawMessage) (out []string) {
	var s string
	if json.Unmarshal(content, &s) == nil {
		return []string{s}
	}
	var blocks []struct {
		Text    string          `json:"text"`
		Content json.RawMessage `json:"content"`
	}
	if json.Unmarshal(content, &blocks) != nil {
		return nil
	}
	for _, b := range blocks {
		if b.Text != "" {
			out = append(out, b.Text)
		}
		out = append(out, texts(b.Content)...)
	}
	return out
}
