package modeltest

import (
	"encoding/json"
	"net/http"
	"strings"
)

// messages is Anthropic's Messages API, which Claude Code speaks: a stream of server-sent
// events (their order and names are those of Anthropic's "Streaming messages" reference),
// or one document.
type messages struct {
	Model    string `json:"model"`
	Stream   bool   `json:"stream"`
	Tools    []tool `json:"tools"`
	Messages []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	} `json:"messages"`

	id    string
	in    int
	reply Reply
}

func (m *messages) request(body []byte) (r Request, err error) {
	if err := json.Unmarshal(body, m); err != nil {
		return r, err
	}
	r.Tools = len(m.Tools) > 0
	for _, each := range m.Messages {
		r.Messages = append(r.Messages, Message{Role: each.Role, Text: strings.Join(texts(each.Content), "\n")})
	}
	return r, nil
}

func (m *messages) failure(int) object {
	return object{"type": "error", "error": object{"type": "api_error", "message": "as scripted"}}
}

func (m *messages) write(w http.ResponseWriter, reply Reply, id string, in int) {
	m.id, m.in, m.reply = "msg_"+id, in, reply
	begin(w, m.Stream)
	if m.Stream {
		m.stream(w)
		return
	}
	send(w, "", m.document(true))
}

func (m *messages) blocks() (out []object) {
	if m.reply.Text != "" {
		out = append(out, object{"type": "text", "text": m.reply.Text})
	}
	call := func(name string, input object) {
		out = append(out, object{"type": "tool_use", "id": "toolu_" + name + m.id, "name": name, "input": input})
	}
	if m.reply.Bash != "" {
		call("Bash", object{"command": m.reply.Bash, "description": "as scripted"})
	}
	if m.reply.Tool != "" {
		name, _ := named(m.Tools, m.reply.Tool)
		call(name, m.reply.Input)
	}
	if m.reply.Agent != "" {
		call("Agent", object{"prompt": m.reply.Agent, "subagent_type": "general-purpose", "description": "as scripted"})
	}
	return out
}

func (m *messages) stop() string {
	if m.reply.calls() {
		return "tool_use"
	}
	return "end_turn"
}

func (m *messages) document(whole bool) object {
	d := object{"id": m.id, "type": "message", "role": "assistant", "model": m.Model, "content": []object{}, "stop_reason": nil,
		"stop_sequence": nil, "usage": object{"input_tokens": m.in, "output_tokens": 1}}
	if whole {
		d["content"], d["stop_reason"] = m.blocks(), m.stop()
	}
	return d
}

func (m *messages) stream(w http.ResponseWriter) {
	send(w, "message_start", object{"message": m.document(false)})
	for n, b := range m.blocks() {
		delta := object{"type": "text_delta", "text": b["text"]}
		empty := object{"type": "text", "text": ""}
		if b["type"] == "tool_use" {
			delta = object{"type": "input_json_delta", "partial_json": text(b["input"])}
			empty = object{"type": "tool_use", "id": b["id"], "name": b["name"], "input": object{}}
		}
		send(w, "content_block_start", object{"index": n, "content_block": empty})
		send(w, "content_block_delta", object{"index": n, "delta": delta})
		send(w, "content_block_stop", object{"index": n})
	}
	send(w, "message_delta", object{"delta": object{"stop_reason": m.stop(), "stop_sequence": nil}, "usage": object{"output_tokens": 20}})
	send(w, "message_stop", object{})
}
