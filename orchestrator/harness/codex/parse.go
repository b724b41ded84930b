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

func parseLine(line []byte, t *stream.Transcript) error {
	var e event
	if err := stream.IgnoreTypeMismatch(json.Unmarshal(line, &e)); err != nil {
		return err
	}
	switch e.Type {
	case "thread.started":
		t.Session = e.Thread
	case "turn.started":
		t.Activity("thinking")
	case "item.started", "item.updated", "item.completed":
		parseItem(e.Item, t)
	case "turn.completed":
		t.Usage = harness.Usage{InputTokens: e.Usage.Input, OutputTokens: e.Usage.Output, Turns: t.Usage.Turns + 1, Whole: true}
		t.Ended()
	case "error": // an attempt that failed; turn.failed decides
		t.WaitingForAPI(e.Message)
	case "turn.failed":
		t.Failed(0, e.Error.Message)
	default:
		return errUnknown
	}
	return nil
}

func parseItem(i item, t *stream.Transcript) {
	switch i.Type {
	case "agent_message":
		t.Activity("")
		t.Message(i.Text)
	case "command_execution":
		t.Activity("exec: " + unwrap(i.Command))
	case "file_change":
		for _, c := range i.Changes {
			t.Activity("edit " + c.Path)
		}
	case "web_search":
		t.Activity("search: " + i.Query)
	case "mcp_tool_call":
		t.Activity("tool: " + i.Tool)
	case "reasoning", "todo_list":
		t.Activity("thinking")
	}
}

// unwrap removes the shell from a command: the client shows /bin/bash -lc 'COMMAND'.
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
