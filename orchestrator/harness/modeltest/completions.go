package modeltest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// completions is OpenAI's Chat Completions API, which Copilot CLI and opencode speak to a
// model of one's own.
type completions struct {
	Stream   bool   `json:"stream"`
	Tools    []tool `json:"tools"`
	Messages []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	} `json:"messages"`
}

func (d *completions) request(body []byte) (r Request, err error) {
	if err := json.Unmarshal(body, d); err != nil {
		return r, err
	}
	r.Tools = len(d.Tools) > 0
	for _, m := range d.Messages {
		said := strings.Join(texts(m.Content), "\n")
		switch m.Role {
		case "assistant":
			r.add("assistant", said)
		case "user", "tool":
			r.add("user", said)
		}
	}
	return r, nil
}

func (d *completions) failure(status int) object {
	return object{"error": object{"code": fmt.Sprint(status), "type": "server_error", "message": "as scripted"}}
}

func (d *completions) write(w http.ResponseWriter, reply Reply, id string, in int) {
	message, finish := object{"role": "assistant", "content": reply.Text}, "stop"
	call := func(name string, input object) {
		finish = "tool_calls"
		message["tool_calls"] = []object{{"index": 0, "id": "call_" + id, "type": "function", "function": object{"name": name, "arguments": text(input)}}}
	}
	if reply.Bash != "" {
		call("bash", object{"command": reply.Bash, "description": "as scripted"})
	}
	if reply.Tool != "" {
		name, _ := named(d.Tools, reply.Tool)
		call(name, reply.Input)
	}
	usage := object{"prompt_tokens": in, "completion_tokens": 20, "total_tokens": in + 20}
	begin(w, d.Stream)
	if !d.Stream {
		send(w, "", object{"id": "chatcmpl_" + id, "object": "chat.completion", "created": 1, "model": "scripted", "usage": usage,
			"choices": []object{{"index": 0, "message": message, "finish_reason": finish}}})
		return
	}
	chunk := func(delta object, finish any) object {
		return object{"id": "chatcmpl_" + id, "object": "chat.completion.chunk", "created": 1, "model": "scripted",
			"choices": []object{{"index": 0, "delta": delta, "finish_reason": finish}}}
	}
	data(w, chunk(message, nil))
	last := chunk(object{}, finish)
	last["usage"] = usage
	data(w, last)
	fmt.Fprint(w, "data: [DONE]\n\n")
	flush(w)
}
