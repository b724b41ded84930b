package codex

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/beadsorch/orch/orchestrator/harness"
	"github.com/beadsorch/orch/orchestrator/harness/stream"
)

// event is one line: the union of what we read of the types that we know.
type event struct {
	Type    string `json:"type"`
	Thread  string `json:"thread_id"`
	Message string `json:"message"` // of type error
	Item    item   `json:"item"`
	Usage   usage  `json:"usage"`
	Error   struct {
		Message string `json:"message"`
	} `json:"error"`
}

// item is a message, a command, or a change to files.
type item struct {
	Type    string `json:"type"`
	Text    string `json:"text"`
	Command string `json:"command"`
	Query   string `json:"query"`
	Tool    string `json:"tool"`
	Changes []struct {
		Path string `json:"path"`
	} `json:"changes"`
}

type usage struct {
	Input  int64 `json:"input_tokens"` // cached ones included
	Output int64 `json:"output_tokens"`
}

var errUnknown = errors.New("a line that is not known")

func take(line []byte, t *stream.Told) error {
	var e event
	if err := stream.Tolerate(json.Unmarshal(line, &e)); err != nil {
		return err
	}
	switch e.Type {
	case "thread.started":
		t.Session = e.Thread
	case "turn.started":
		t.Does("thinking")
	case "item.started", "item.updated", "item.completed":
		takeItem(e.Item, t)
	case "turn.completed":
		t.Usage = harness.Usage{InputTokens: e.Usage.Input, OutputTokens: e.Usage.Output, Turns: t.Usage.Turns + 1, Whole: true}
		t.Closes()
	case "error": // a try that failed; turn.failed has the last word
		t.Waits(e.Message)
	case "turn.failed":
		t.Fails(0, e.Error.Message)
	default:
		return errUnknown
	}
	return nil
}

func takeItem(i item, t *stream.Told) {
	switch i.Type {
	case "agent_message":
		t.Does("")
		t.Says(i.Text)
	case "command_execution":
		t.Does("exec: " + unwrap(i.Command))
	case "file_change":
		for _, c := range i.Changes {
			t.Does("edit " + c.Path)
		}
	case "web_search":
		t.Does("search: " + i.Query)
	case "mcp_tool_call":
		t.Does("tool: " + i.Tool)
	case "reasoning", "todo_list":
		t.Does("thinking")
	}
}

// unwrap takes the shell off a command: the client shows /bin/bash -lc 'COMMAND'.
func unwrap(command string) string {
	_, inner, ok := strings.Cut(command, "sh -lc ")
	if !ok {
		return command
	}
	if len(inner) > 1 && (inner[0] == '\'' || inner[0] == '"') && inner[len(inner)-1] == inner[0] {
		inner = inner[1 : len(inner)-1]
	}
	return inner
}
