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

// reader follows one stream. All but doing belongs to the goroutine that writes.
type reader struct {
	lines   stream.Lines
	story   story
	session string
	cwd     string
	message string // id of the main conversation's newest message
	text    string // its text
	usage   tally
	doing   stream.Doing
}

// Write implements harness.Reader.
func (r *reader) Write(p []byte) (int, error) {
	r.lines.Write(p, r.take)
	return len(p), nil
}

func (r *reader) take(line []byte) {
	e, err := parseEvent(line)
	if err != nil {
		r.story.ignored++
		return
	}
	if e.Session != "" {
		r.session = e.Session
	}
	switch e.Type {
	case "system":
		r.takeSystem(e)
	case "assistant":
		r.takeAssistant(e)
	case "user":
		r.story.goOn()
		r.doing.Set("thinking")
	case "result":
		r.takeResult(e)
	case "rate_limit_event":
		r.story.limit = e.Limit
	case "conversation_reset":
	default:
		r.story.ignored++
	}
}

func (r *reader) takeSystem(e event) {
	switch e.Subtype {
	case "init":
		r.cwd = e.Cwd
		r.doing.Set("starting")
	case "api_retry":
		r.story.retry, r.story.delay = &e, milliseconds(e.DelayMS)
		r.doing.Set(retryActivity(e))
	case "status":
		if e.Status == "compacting" {
			r.doing.Set("compacting the conversation")
		}
	}
}

// takeAssistant takes one content block: several lines may carry blocks of one message.
func (r *reader) takeAssistant(e event) {
	m := e.Message
	r.story.goOn()
	if e.Synthetic {
		r.story.api, r.story.apiText = e.apiError, stream.LastBytes(textOf(m), maxErrorBytes)
		return
	}
	r.story.works()
	r.usage.message(m)
	if doing := blocksActivity(m.Content, r.cwd); doing != "" {
		r.doing.Set(doing)
	}
	if e.Parent != "" || m.Model == syntheticModel {
		return
	}
	r.story.spoke = true
	if m.ID == "" || m.ID != r.message {
		r.message, r.text = m.ID, ""
	}
	if body := textOf(m); body != "" {
		r.text = stream.LastBytes(strings.TrimPrefix(r.text+"\n"+body, "\n"), maxTextBytes)
	}
}

func (r *reader) takeResult(e event) {
	e.Result.Text = stream.LastBytes(e.Result.Text, maxTextBytes)
	r.story.settle(e)
	r.usage.result(e.Session, e.Result)
	r.doing.Set("")
}

// Activity implements harness.Reader.
func (r *reader) Activity() string { return r.doing.Get() }

// Outcome implements harness.Reader. A last line without a newline counts.
func (r *reader) Outcome(exitCode int) harness.Outcome {
	r.story.ignored += r.lines.End(r.take)
	out := r.story.judge(exitCode, r.doing.Get())
	out.Text = r.text
	if out.Text == "" && r.story.results > 0 && !r.story.last.IsError {
		out.Text = r.story.last.Text
	}
	out.Detail = text.Clause(out.Detail, stream.ClauseRunes)
	out.Session = r.session
	out.Usage = r.usage.total()
	return out
}

func textOf(m message) string {
	var texts []string
	for _, b := range m.Content {
		if b.Type == "text" && b.Text != "" {
			texts = append(texts, b.Text)
		}
	}
	return strings.Join(texts, "\n")
}
