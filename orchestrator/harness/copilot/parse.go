package copilot

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/beadsorch/orch/orchestrator/harness/stream"
)

// event is one line: the union of what we read of the types that we know.
type event struct {
	Type     string `json:"type"`
	Session  string `json:"sessionId"` // of the result
	ExitCode int    `json:"exitCode"`  // of the result
	Data     struct {
		Content   string          `json:"content"`
		Tool      string          `json:"toolName"`
		Arguments json.RawMessage `json:"arguments"`
		Message   string          `json:"message"`
		Error     string          `json:"errorMessage"`
		ErrorType string          `json:"errorType"`
		Status    int             `json:"statusCode"`
		Retry     int             `json:"retryAttempt"`
	} `json:"data"`
}

var errUnknown = errors.New("a line that is not known")

func parseLine(line []byte, t *stream.Transcript) error {
	var e event
	if err := stream.IgnoreTypeMismatch(json.Unmarshal(line, &e)); err != nil {
		return err
	}
	switch e.Type {
	case "user.message", "assistant.turn_start", "tool.execution_complete":
		t.Activity("thinking")
	case "assistant.message":
		t.Usage.Turns++
		t.Failure = nil // the API answers
		if e.Data.Content != "" {
			t.Activity("")
			t.Message(e.Data.Content)
		}
	case "tool.execution_start":
		t.Activity(stream.DescribeTool(e.Data.Tool, e.Data.Arguments, ""))
	case "model.call_failure":
		t.WaitingForAPI(fmt.Sprintf("%d %s", e.Data.Status, e.Data.Error))
	case "session.error":
		t.Failed(status(e), e.Data.Message)
	case "result":
		t.Session = cmp.Or(e.Session, t.Session)
		if e.ExitCode == 0 && t.Failure == nil {
			t.Ended()
		}
	default:
		if !strings.Contains(e.Type, ".") { // many of those with a dot are irrelevant
			return errUnknown
		}
	}
	return nil
}

// status is HTTP's, as far as the client names it; else it follows from its own word for an error.
func status(e event) int {
	switch {
	case e.Data.Status != 0:
		return e.Data.Status
	case e.Data.ErrorType == "authentication":
		return 401
	case e.Data.ErrorType == "rate_limit":
		return 429
	case e.Data.ErrorType == "quota":
		return 402
	}
	return 0
}
