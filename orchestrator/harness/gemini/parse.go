package gemini

import (
	"encoding/json"
	"errors"

	"github.com/beadsorch/orch/orchestrator/harness"
	"github.com/beadsorch/orch/orchestrator/harness/stream"
)

// event is one line: the union of what we read of the types that we know.
type event struct {
	Type       string          `json:"type"`
	Session    string          `json:"session_id"`
	Role       string          `json:"role"`
	Content    string          `json:"content"`
	Tool       string          `json:"tool_name"`
	Parameters json.RawMessage `json:"parameters"`
	Status     string          `json:"status"`
	Message    string          `json:"message"`
	Error      struct {
		Message string `json:"message"`
	} `json:"error"`
	Stats struct {
		Input  int64 `json:"input_tokens"` // cached ones included
		Output int64 `json:"output_tokens"`
	} `json:"stats"`
}

var errUnknown = errors.New("a line that is not known")

func parseLine(line []byte, t *stream.Transcript) error {
	var e event
	if err := stream.IgnoreTypeMismatch(json.Unmarshal(line, &e)); err != nil {
		return err
	}
	if e.Session != "" {
		t.Session = e.Session
	}
	switch e.Type {
	case "init", "tool_result":
		t.Activity("thinking")
	case "message":
		if e.Role == "assistant" {
			t.Message(e.Content)
		}
	case "tool_use":
		t.Usage.Turns++
		t.Activity(stream.DescribeTool(e.Tool, e.Parameters, ""))
	case "error": // a warning, such as a stop hook that sends the agent back
		t.Activity(e.Message)
	case "result":
		parseResult(e, t)
	default:
		return errUnknown
	}
	return nil
}

func parseResult(e event, t *stream.Transcript) {
	t.Usage = harness.Usage{InputTokens: e.Stats.Input, OutputTokens: e.Stats.Output, Turns: t.Usage.Turns + 1}
	if e.Status == "success" {
		t.Ended()
		return
	}
	t.Failed(0, e.Error.Message)
}
