package claude

import (
	"strings"

	"github.com/beadsorch/orch/orchestrator/harness"
	"github.com/beadsorch/orch/orchestrator/harness/stream"
	"github.com/beadsorch/orch/orchestrator/text"
)

const (
	// maxTextBytes is how much of the end of a message is kept.
	maxTextBytes = 128 << 10
	// maxErrorBytes is how much is kept of an error message.
	maxErrorBytes = 4 << 10
	// syntheticModel writes the messages that the client makes up itself.
	syntheticModel = "<synthetic>"
)

// reader reads one stream. All but activity belongs to the goroutine that writes.
type reader struct {
	lines      stream.Lines
	transcript transcript
	session    string
	cwd        string
	message    string // id of the main conversation's newest message
	text       string // its text
	usage      tally
	activity   stream.Activity
}

// Write implements harness.Reader.
func (r *reader) Write(p []byte) (int, error) {
	r.lines.Write(p, r.parseLine)
	return len(p), nil
}

func (r *reader) parseLine(line []byte) {
	e, err := parseEvent(line)
	if err != nil {
		r.transcript.ignored++
		return
	}
	if e.Session != "" {
		r.session = e.Session
	}
	switch e.Type {
	case "system":
		r.parseSystem(e)
	case "assistant":
		r.parseAssistant(e)
	case "user":
		r.transcript.continued()
		r.activity.Set("thinking")
	case "result":
		r.parseResult(e)
	case "rate_limit_event":
		r.transcript.limit = e.Limit
	case "conversation_reset":
	default:
		r.transcript.ignored++
	}
}

func (r *reader) parseSystem(e event) {
	switch e.Subtype {
	case "init":
		r.cwd = e.Cwd
		r.activity.Set("starting")
	case "api_retry":
		r.transcript.retry, r.transcript.delay = &e, milliseconds(e.DelayMS)
		r.activity.Set(retryActivity(e))
	case "status":
		if e.Status == "compacting" {
			r.activity.Set("compacting the conversation")
		}
	}
}

// parseAssistant parses one content block: several lines may carry blocks of one message.
func (r *reader) parseAssistant(e event) {
	m := e.Message
	r.transcript.continued()
	if e.Synthetic {
		r.transcript.api, r.transcript.apiText = e.apiError, stream.LastBytes(messageText(m), maxErrorBytes)
		return
	}
	r.transcript.apiResponded()
	r.usage.addMessage(m)
	if activity := blocksActivity(m.Content, r.cwd); activity != "" {
		r.activity.Set(activity)
	}
	if e.Parent != "" || m.Model == syntheticModel {
		return
	}
	r.transcript.spoke = true
	if m.ID == "" || m.ID != r.message {
		r.message, r.text = m.ID, ""
	}
	if body := messageText(m); body != "" {
		r.text = stream.LastBytes(strings.TrimPrefix(r.text+"\n"+body, "\n"), maxTextBytes)
	}
}

func (r *reader) parseResult(e event) {
	e.Result.Text = stream.LastBytes(e.Result.Text, maxTextBytes)
	r.transcript.addResult(e)
	r.usage.addResult(e.Session, e.Result)
	r.activity.Set("")
}

// Activity implements harness.Reader.
func (r *reader) Activity() string { return r.activity.Get() }

// Outcome implements harness.Reader. A last line without a newline counts.
func (r *reader) Outcome(exitCode int) harness.Outcome {
	r.transcript.ignored += r.lines.End(r.parseLine)
	out := r.transcript.outcome(exitCode, r.activity.Get())
	out.Text = r.text
	if out.Text == "" && r.transcript.results > 0 && !r.transcript.last.IsError {
		out.Text = r.transcript.last.Text
	}
	out.Detail = text.Clause(out.Detail, stream.ClauseRunes)
	out.Session = r.session
	out.Usage = r.usage.total()
	return out
}

func messageText(m message) string {
	var texts []string
	for _, b := range m.Content {
		if b.Type == "text" && b.Text != "" {
			texts = append(texts, b.Text)
		}
	}
	return strings.Join(texts, "\n")
}
