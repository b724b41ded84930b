package codex

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/beadsorch/orch/orchestrator/command"
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

// ErrSilent says that the client did not tell which hooks it knows.
var ErrSilent = errors.New("codex did not say which hooks it knows")

// List asks the client which hooks it knows for a folder, and whether it trusts them. That
// starts `codex app-server`, which speaks JSON-RPC, and spends no token. The client ends
// when its input does, so that is held open for two seconds. It fails with [ErrSilent].
func List(ctx context.Context, run command.Runner, binary, dir string, env []string) ([]Listed, error) {
	type object = map[string]any
	var in bytes.Buffer
	e := json.NewEncoder(&in)
	for _, message := range []object{
		{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": object{"clientInfo": object{"name": "orch", "title": "orch", "version": "1"}}},
		{"jsonrpc": "2.0", "method": "initialized"},
		{"jsonrpc": "2.0", "id": 2, "method": "hooks/list", "params": object{"cwds": []string{dir}}},
	} {
		if err := e.Encode(message); err != nil {
			return nil, fmt.Errorf("asking codex for its hooks: %w", err)
		}
	}
	res, err := run(ctx, command.Cmd{Dir: dir, Argv: []string{"sh", "-c", `{ cat; sleep 2; } | "$0" app-server`, binary}, Env: env, Stdin: in.Bytes(), MaxOutputBytes: maxReply})
	hooks, silent := Replied(res.Stdout)
	if silent != nil {
		return nil, errors.Join(silent, err)
	}
	return hooks, nil // how it ends does not matter once it has answered
}

// Replied finds the answer among the lines that the client printed. It fails with
// [ErrSilent].
func Replied(stdout []byte) (hooks []Listed, err error) {
	for line := range bytes.Lines(stdout) {
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
			continue
		}
		if r.Error != nil {
			return nil, fmt.Errorf("%w: %s", ErrSilent, r.Error.Message)
		}
		for _, d := range r.Result.Data {
			hooks = append(hooks, d.Hooks...)
		}
		return hooks, nil
	}
	return nil, ErrSilent
}
