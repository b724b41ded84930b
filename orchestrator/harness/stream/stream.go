// Package stream reads agent clients that print one JSON object a line.
//
// The clients differ in what a line says; how a turn ended follows from the same few facts.
// A client's own package parses its lines, in a [ParseLine]; this one keeps the facts, in
// bounded memory, and makes the outcome of them.
package stream

import (
	"cmp"
	"fmt"

	"github.com/beadsorch/orch/orchestrator/harness"
	"github.com/beadsorch/orch/orchestrator/text"
)

const (
	maxTextBytes  = 128 << 10 // of the end of a message
	maxErrorBytes = 4 << 10
)

// Transcript is what a client's lines have said so far.
type Transcript struct {
	// Session is the conversation's id.
	Session string
	// Usage is the tokens and cost so far.
	Usage harness.Usage
	// Failure is why the turn failed; nil when it did not.
	Failure *Failure

	activity Activity
	text     string
	open     bool // the newest message may go on
	answered bool // the agent said something
	ended    bool // the client ended the turn itself, and well
}

// Failure is an error that ended a turn.
type Failure struct {
	// Text is the client's own message.
	Text string
	// Status is HTTP's; 0 when the client names none.
	Status int
}

// Message records a piece of the agent's message; pieces make one message until the agent does
// something else.
func (t *Transcript) Message(piece string) {
	if !t.open {
		t.text = ""
	}
	t.text = LastBytes(t.text+piece, maxTextBytes)
	t.open, t.answered, t.ended = true, true, false
	t.activity.Set("writing")
}

// Activity records what the agent does now. Its next message is a new one.
func (t *Transcript) Activity(what string) {
	t.open, t.ended = false, false
	t.activity.Set(what)
}

// WaitingForAPI records that the client waits for the API, and why.
func (t *Transcript) WaitingForAPI(why string) { t.activity.Set("waiting for the API: " + why) }

// Failed records that the turn failed; status is HTTP's, 0 for none.
func (t *Transcript) Failed(status int, body string) {
	t.ended = false
	t.Failure = &Failure{Text: LastBytes(body, maxErrorBytes), Status: status}
}

// Ended records that the turn ended well.
func (t *Transcript) Ended() {
	t.ended, t.open, t.Failure = true, false, nil
	t.activity.Set("")
}

// ParseLine parses one line into the transcript. It fails for a line that it does not know, which is
// counted and skipped: clients add new ones all the time.
type ParseLine func(line []byte, t *Transcript) error

// NewReader is a reader for one process.
func NewReader(take ParseLine) harness.Reader { return &reader{parse: take} }

// reader reads one stream. All but the transcript's activity belongs to the goroutine that writes.
type reader struct {
	parse      ParseLine
	lines      Lines
	transcript Transcript
	ignored    int
}

// Write implements harness.Reader.
func (r *reader) Write(p []byte) (int, error) {
	r.lines.Write(p, r.line)
	return len(p), nil
}

func (r *reader) line(line []byte) {
	if r.parse(line, &r.transcript) != nil {
		r.ignored++
	}
}

// Activity implements harness.Reader.
func (r *reader) Activity() string { return r.transcript.activity.Get() }

// Outcome implements harness.Reader. A last line without a newline counts.
func (r *reader) Outcome(exitCode int) harness.Outcome {
	r.ignored += r.lines.End(r.line)
	out := r.judge(exitCode)
	out.Text, out.Session, out.Usage = r.transcript.text, r.transcript.Session, r.transcript.Usage
	out.Detail = text.Clause(out.Detail, ClauseRunes)
	return out
}

func (r *reader) judge(exitCode int) harness.Outcome {
	t := &r.transcript
	switch {
	case t.Failure != nil:
		body := cmp.Or(t.Failure.Text, harness.DescribeExit(exitCode))
		return harness.Outcome{Kind: KindOf(t.Failure.Status, t.Failure.Text), Detail: body, RetryAfter: WaitIn(body)}
	case t.ended:
		return harness.Outcome{Kind: harness.Ended}
	case exitCode == 0 && t.answered:
		return harness.Outcome{Kind: harness.Ended, Detail: "the client gave no result"}
	}
	detail := harness.DescribeExit(exitCode) + " without a result"
	if activity := t.activity.Get(); activity != "" {
		detail += ", last seen " + activity
	}
	if r.ignored > 0 {
		detail += fmt.Sprintf(", %d lines not understood", r.ignored)
	}
	return harness.Outcome{Kind: harness.Crashed, Detail: detail}
}
