package claude

import (
	"bytes"
	"strings"
	"sync"
	"time"

	"github.com/beadsorch/orch/orchestrator/harness"
)

const (
	// maxLineBytes is the longest line that is read. The lines that matter are far shorter; the
	// results of tools may be any length, and nothing in them matters.
	maxLineBytes = 256 << 10
	// maxTextBytes is how much of the end of a message is kept.
	maxTextBytes = 128 << 10
	// maxErrorBytes is how much is kept of an error message.
	maxErrorBytes = 4 << 10
	// syntheticModel writes the messages that the client makes up itself.
	syntheticModel = "<synthetic>"
)

// reader follows one stream. Its fields but activity belong to the goroutine that writes.
type reader struct {
	now func() time.Time

	line    []byte // a line that is not complete yet
	skip    bool   // it is too long: drop the rest of it
	ignored int    // lines that were not understood

	session   string
	cwd       string
	message   string // id of the main conversation's newest message
	text      string // its text
	spoke     bool   // the agent answered at least once
	last      result
	results   int
	unsettled bool          // the agent worked on after the last result
	retry     *event        // the newest event, when it was that
	delay     time.Duration // of the newest retry, when nothing has worked since
	api       apiError      // of the newest error, when nothing has worked since
	apiText   string
	limit     limit
	usage     tally

	mu       sync.Mutex
	activity string
}

// Write implements harness.Reader.
func (r *reader) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		end := bytes.IndexByte(p, '\n')
		if end < 0 {
			r.add(p)
			break
		}
		r.add(p[:end])
		r.endLine()
		p = p[end+1:]
	}
	return n, nil
}

func (r *reader) add(p []byte) {
	if r.skip || len(r.line)+len(p) > maxLineBytes {
		r.skip, r.line = true, nil
		return
	}
	r.line = append(r.line, p...)
}

func (r *reader) endLine() {
	line, skip := bytes.TrimSpace(r.line), r.skip
	if skip {
		r.ignored++
	} else if len(line) > 0 {
		r.take(line)
	}
	r.line, r.skip = r.line[:0], false
}

func (r *reader) take(line []byte) {
	e, err := parseEvent(line)
	if err != nil {
		r.ignored++
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
		r.retry, r.unsettled = nil, true
		r.setActivity("thinking")
	case "result":
		r.takeResult(e)
	case "rate_limit_event":
		r.limit = e.Limit
	case "conversation_reset":
	default:
		r.ignored++
	}
}

func (r *reader) takeSystem(e event) {
	switch e.Subtype {
	case "init":
		r.cwd = e.Cwd
		r.setActivity("starting")
	case "api_retry":
		r.retry, r.delay = &e, milliseconds(e.DelayMS)
		r.setActivity(retryActivity(e))
	case "status":
		if e.Status == "compacting" {
			r.setActivity("compacting the conversation")
		}
	}
}

// takeAssistant takes one content block: several lines may carry blocks of one message.
func (r *reader) takeAssistant(e event) {
	m := e.Message
	r.retry, r.unsettled = nil, true
	if e.Synthetic {
		r.api, r.apiText = e.apiError, lastBytes(textOf(m), maxErrorBytes)
		return
	}
	r.delay, r.api, r.apiText = 0, apiError{}, ""
	r.usage.message(m)
	if activity := blocksActivity(m.Content, r.cwd); activity != "" {
		r.setActivity(activity)
	}
	if e.Parent != "" || m.Model == syntheticModel {
		return
	}
	r.spoke = true
	if m.ID == "" || m.ID != r.message {
		r.message, r.text = m.ID, ""
	}
	if text := textOf(m); text != "" {
		r.text = lastBytes(strings.TrimPrefix(r.text+"\n"+text, "\n"), maxTextBytes)
	}
}

func (r *reader) takeResult(e event) {
	r.last = e.Result
	r.last.Text = lastBytes(r.last.Text, maxTextBytes)
	if e.status() != 0 {
		r.api = e.apiError
	}
	r.results++
	r.retry, r.unsettled = nil, false
	r.usage.result(e.Session, e.Result)
	r.setActivity("")
}

// Activity implements harness.Reader.
func (r *reader) Activity() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.activity
}

func (r *reader) setActivity(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.activity = what
}

// Outcome implements harness.Reader. A last line without a newline counts.
func (r *reader) Outcome(exitCode int) harness.Outcome {
	r.endLine()
	out := r.judge(exitCode)
	out.Text = r.text
	if out.Text == "" && r.results > 0 && !r.last.IsError {
		out.Text = r.last.Text
	}
	out.Detail = harness.Clause(out.Detail, clauseRunes)
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

// lastBytes is the end of s, not more than limit bytes and no half rune.
func lastBytes(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	s = s[len(s)-limit:]
	for s != "" && s[0]&0xc0 == 0x80 {
		s = s[1:]
	}
	return strings.Clone(s)
}
