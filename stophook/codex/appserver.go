package codex

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"time"
)

// Listed is one hook as the client itself sees it.
type Listed struct {
	Key     string `json:"key"`         // by which the client's settings name it
	Hash    string `json:"currentHash"` // what a person trusts
	Command string `json:"command"`
	Source  string `json:"sourcePath"`
	Enabled bool   `json:"enabled"`
	Trust   string `json:"trustStatus"` // trusted, untrusted, ...
}

// maxReply bounds what is read of the client's answer, in bytes.
const maxReply = 4 << 20

// List asks the client which hooks it knows for a folder, and whether it trusts them. That
// starts `codex app-server`, which speaks JSON-RPC, and spends no token. It fails when the
// client does not answer as expected before ctx ends.
func List(ctx context.Context, binary, dir string, env []string) ([]Listed, error) {
	c := exec.CommandContext(ctx, binary, "app-server")
	c.Dir, c.Env, c.WaitDelay = dir, env, 2*time.Second
	in, err := c.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("asking codex for its hooks: %w", err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("asking codex for its hooks: %w", err)
	}
	if err := c.Start(); err != nil {
		return nil, fmt.Errorf("asking codex for its hooks: %w", err)
	}
	hooks, err := ask(in, out, dir)
	if ended := errors.Join(in.Close(), c.Wait()); err != nil { // how it ends does not matter once it has answered
		return nil, errors.Join(err, ended)
	}
	return hooks, nil
}

// ask holds the conversation: an introduction, and one question.
func ask(in io.Writer, out io.Reader, dir string) ([]Listed, error) {
	type object = map[string]any
	e := json.NewEncoder(in)
	for _, message := range []object{
		{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": object{"clientInfo": object{"name": "orch", "title": "orch", "version": "1"}}},
		{"jsonrpc": "2.0", "method": "initialized"},
		{"jsonrpc": "2.0", "id": 2, "method": "hooks/list", "params": object{"cwds": []string{dir}}},
	} {
		if err := e.Encode(message); err != nil {
			return nil, fmt.Errorf("asking codex for its hooks: %w", err)
		}
	}
	lines := bufio.NewScanner(io.LimitReader(out, maxReply))
	lines.Buffer(nil, maxReply)
	for lines.Scan() {
		if hooks, ok, err := reply(lines.Bytes()); ok || err != nil {
			return hooks, err
		}
	}
	return nil, errors.Join(errors.New("codex did not say which hooks it knows"), lines.Err())
}

// reply reads one line; ok says that it answers the question.
func reply(line []byte) (hooks []Listed, ok bool, err error) {
	var r struct {
		ID     json.RawMessage `json:"id"`
		Result struct {
			Data []struct {
				Hooks []Listed `json:"hooks"`
			} `json:"data"`
		} `json:"result"`
		Error *struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal(line, &r) != nil || string(r.ID) != "2" {
		return nil, false, nil
	}
	if r.Error != nil {
		return nil, false, fmt.Errorf("codex did not say which hooks it knows: %s", r.Error.Message)
	}
	for _, d := range r.Result.Data {
		hooks = append(hooks, d.Hooks...)
	}
	return hooks, true, nil
}
