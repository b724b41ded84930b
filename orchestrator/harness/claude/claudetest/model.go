// Package claudetest runs the real Claude Code client in tests, offline: it
// stands in for the model, on loopback, and says what the test wants said.
package claudetest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// Request is what a client asks of the model, as far as tests look at it.
type Request struct {
	Tools    bool      // tools are offered: the main conversation, not a title or a summary
	Messages []Message // oldest first
	Bytes    int       // of the whole request
}

// Message is one message of a conversation.
type Message struct {
	Role string // user or assistant
	Text string // all of its text, and the text of tool results, a line each
}

// First is the text of the first message: in a run of orch, with the brief in it.
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

// Reply is one answer of the model. The zero Reply says "ok".
type Reply struct {
	Text   string
	Bash   string // a command for the client's Bash tool; "" for none
	Agent  string // the prompt of a subagent in the background; "" for none
	Status int    // an HTTP error instead; 0 for none
	Tokens int    // of input that it says it was asked with; 0 counts them
}

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

// Env is what points a client at the model, and keeps it from everything else.
func (m *Model) Env(home string) []string {
	return []string{
		"HOME=" + home, "CLAUDE_CONFIG_DIR=" + home + "/.claude", "CLAUDE_CODE_TMPDIR=" + home,
		"ANTHROPIC_API_KEY=dummy-key", "ANTHROPIC_BASE_URL=" + m.url,
		"DISABLE_TELEMETRY=1", "DISABLE_AUTOUPDATER=1", "DISABLE_ERROR_REPORTING=1",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "CLAUDE_CODE_MAX_RETRIES=1",
	}
}

// Requests lists the requests of main conversations so far.
func (m *Model) Requests() []Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]Request(nil), m.seen...)
}

// ServeHTTP speaks the Messages API as far as Claude Code uses it: a stream of
// server-sent events (the order and names of which are those of Anthropic's
// "Streaming messages" reference), or one document.
func (m *Model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var in wireRequest
	if err == nil {
		err = json.Unmarshal(body, &in)
	}
	if err != nil || !strings.HasSuffix(r.URL.Path, "/v1/messages") {
		http.Error(w, `{"type":"error","error":{"type":"not_found_error","message":"only /v1/messages is here"}}`, http.StatusNotFound)
		return
	}
	req := in.request(len(body))
	reply := Reply{}
	if req.Tools {
		reply = m.answer(req)
		m.mu.Lock()
		m.seen = append(m.seen, req)
		m.mu.Unlock()
	}
	if reply.Text == "" && reply.Bash == "" && reply.Agent == "" {
		reply.Text = "ok"
	}
	out := wireReply{id: fmt.Sprintf("msg_%d", len(body)), model: in.Model, in: cmp.Or(reply.Tokens, len(body)/4), reply: reply}
	switch {
	case reply.Status != 0:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(reply.Status)
		fmt.Fprintf(w, `{"type":"error","error":{"type":"api_error","message":"scripted error %d"}}`, reply.Status)
	case in.Stream:
		w.Header().Set("Content-Type", "text/event-stream")
		out.stream(w)
	default:
		w.Header().Set("Content-Type", "application/json")
		send(w, "", out.document(true))
	}
}

// wireRequest is the part of a request that is read.
type wireRequest struct {
	Model    string            `json:"model"`
	Stream   bool              `json:"stream"`
	Tools    []json.RawMessage `json:"tools"`
	Messages []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	} `json:"messages"`
}

func (in wireRequest) request(size int) Request {
	r := Request{Tools: len(in.Tools) > 0, Bytes: size}
	for _, m := range in.Messages {
		r.Messages = append(r.Messages, Message{Role: m.Role, Text: strings.Join(texts(m.Content), "\n")})
	}
	return r
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

// wireReply is one answer in the API's form.
type wireReply struct {
	id, model string
	in        int // tokens
	reply     Reply
}

type object = map[string]any

func (r wireReply) blocks() (out []object) {
	if r.reply.Text != "" {
		out = append(out, object{"type": "text", "text": r.reply.Text})
	}
	tool := func(name string, input object) {
		input["description"] = "as scripted"
		out = append(out, object{"type": "tool_use", "id": "toolu_" + name + r.id, "name": name, "input": input})
	}
	if r.reply.Bash != "" {
		tool("Bash", object{"command": r.reply.Bash})
	}
	if r.reply.Agent != "" {
		tool("Agent", object{"prompt": r.reply.Agent, "subagent_type": "general-purpose"})
	}
	return out
}

func (r wireReply) stop() string {
	if r.reply.Bash != "" || r.reply.Agent != "" {
		return "tool_use"
	}
	return "end_turn"
}

func (r wireReply) document(whole bool) object {
	d := object{"id": r.id, "type": "message", "role": "assistant", "model": r.model, "content": []object{}, "stop_reason": nil,
		"stop_sequence": nil, "usage": object{"input_tokens": r.in, "output_tokens": 1}}
	if whole {
		d["content"], d["stop_reason"] = r.blocks(), r.stop()
	}
	return d
}

func (r wireReply) stream(w io.Writer) {
	send(w, "message_start", object{"message": r.document(false)})
	for n, b := range r.blocks() {
		delta := object{"type": "text_delta", "text": b["text"]}
		empty := object{"type": "text", "text": ""}
		if b["type"] == "tool_use" {
			input, err := json.Marshal(b["input"])
			if err != nil {
				panic(err) // of a map of strings
			}
			delta = object{"type": "input_json_delta", "partial_json": string(input)}
			empty = object{"type": "tool_use", "id": b["id"], "name": b["name"], "input": object{}}
		}
		send(w, "content_block_start", object{"index": n, "content_block": empty})
		send(w, "content_block_delta", object{"index": n, "delta": delta})
		send(w, "content_block_stop", object{"index": n})
	}
	send(w, "message_delta", object{"delta": object{"stop_reason": r.stop(), "stop_sequence": nil}, "usage": object{"output_tokens": 20}})
	send(w, "message_stop", object{})
}

// send writes one event, or without a name one document. A client that is gone
// is no error of the model's.
func send(w io.Writer, event string, v object) {
	if event != "" {
		v["type"] = event
	}
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // of maps of strings and numbers
	}
	if event == "" {
		fmt.Fprintf(w, "%s\n", text)
		return
	}
	fmt.Fprintf(w, "event: %s\ndata: %s\n\n", event, text)
	if f, ok := w.(http.Flusher); ok {
		f.Flush()
	}
}
