package modeltest

import (
	"encoding/json"
	"net/http"
)

// generate is Google's generateContent API, which Gemini CLI speaks.
type generate struct {
	stream   bool
	Tools    []tool `json:"tools"`
	Contents []struct {
		Role  string `json:"role"`
		Parts []struct {
			Text     string          `json:"text"`
			Call     json.RawMessage `json:"functionCall"`
			Response json.RawMessage `json:"functionResponse"`
		} `json:"parts"`
	} `json:"contents"`
}

func (d *generate) request(body []byte) (r Request, err error) {
	if err := json.Unmarshal(body, d); err != nil {
		return r, err
	}
	r.Tools = len(d.Tools) > 0
	for _, c := range d.Contents {
		role := "user"
		if c.Role == "model" {
			role = "assistant"
		}
		for _, p := range c.Parts {
			r.add(role, p.Text+string(p.Call)+string(p.Response))
		}
	}
	return r, nil
}

func (d *generate) failure(status int) object {
	return object{"error": object{"code": status, "message": "as scripted", "status": "UNAVAILABLE"}}
}

func (d *generate) write(w http.ResponseWriter, reply Reply, id string, in int) {
	var parts []object
	if reply.Text != "" {
		parts = append(parts, object{"text": reply.Text})
	}
	if reply.Bash != "" {
		parts = append(parts, object{"functionCall": object{"name": "run_shell_command", "args": object{"command": reply.Bash, "description": "as scripted"}}})
	}
	if reply.Tool != "" {
		name, _ := named(d.Tools, reply.Tool)
		parts = append(parts, object{"functionCall": object{"name": name, "args": reply.Input}})
	}
	begin(w, d.stream)
	doc := object{"candidates": []object{{"index": 0, "finishReason": "STOP", "content": object{"role": "model", "parts": parts}}},
		"usageMetadata": object{"promptTokenCount": in, "candidatesTokenCount": 20, "totalTokenCount": in + 20}, "modelVersion": "scripted", "responseId": "resp_" + id}
	if !d.stream {
		send(w, "", doc)
		return
	}
	data(w, doc)
}
