package modeltest

import (
	"encoding/json"
	"net/http"
	"strings"
)

// responses is OpenAI's Responses API, which Codex speaks, always as a stream.
type responses struct {
	Tools []tool `json:"tools"`
	Input []struct {
		Type      string          `json:"type"`
		Role      string          `json:"role"`
		Content   json.RawMessage `json:"content"`
		Arguments string          `json:"arguments"`
		Output    json.RawMessage `json:"output"`
	} `json:"input"`
}

func (d *responses) request(body []byte) (r Request, err error) {
	if err := json.Unmarshal(body, d); err != nil {
		return r, err
	}
	r.Tools = len(d.Tools) > 0
	for _, item := range d.Input {
		switch {
		case item.Type == "function_call":
			r.add("assistant", item.Arguments)
		case item.Type == "function_call_output":
			r.add("user", strings.Join(texts(item.Output), "\n"))
		case item.Role == "assistant":
			r.add("assistant", strings.Join(texts(item.Content), "\n"))
		case item.Role == "user", item.Role == "developer": // what a hook adds is the developer's
			r.add("user", strings.Join(texts(item.Content), "\n"))
		}
	}
	return r, nil
}

func (d *responses) failure(status int) object {
	return object{"error": object{"code": status, "type": "server_error", "message": "as scripted"}}
}

func (d *responses) write(w http.ResponseWriter, reply Reply, id string, in int) {
	begin(w, true)
	send(w, "response.created", object{"response": object{"id": "resp_" + id}})
	item := func(v object) { send(w, "response.output_item.done", object{"output_index": 0, "item": v}) }
	if reply.Text != "" {
		item(object{"type": "message", "role": "assistant", "id": "msg_" + id, "content": []object{{"type": "output_text", "text": reply.Text}}})
	}
	if reply.Bash != "" {
		item(object{"type": "function_call", "id": "fc_" + id, "call_id": "call_" + id, "name": "exec_command", "arguments": text(object{"cmd": reply.Bash})})
	}
	if reply.Tool != "" {
		name, namespace := named(d.Tools, reply.Tool)
		item(object{"type": "function_call", "id": "fc_" + id, "call_id": "call_" + id, "name": name, "namespace": namespace, "arguments": text(reply.Input)})
	}
	send(w, "response.completed", object{"response": object{"id": "resp_" + id, "usage": object{"input_tokens": in, "input_tokens_details": object{"cached_tokens": 0},
		"output_tokens": 20, "output_tokens_details": object{"reasoning_tokens": 0}, "total_tokens": in + 20}}})
}
