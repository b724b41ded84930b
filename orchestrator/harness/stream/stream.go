// Package stream reads agent clients that print one JSON object a line.
//
// The clients differ in what a line says; what a run came to is told from the same few
// facts. A client's own package takes its lines apart, in a [Take], and this one keeps
// the facts, in bounded memory, and judges by them.
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

// Told is what a client's lines have told so far.
type Told struct {
	// Session is the conversation's id.
	Session string
	// Usage is what was consumed.
	Usage harness.Usage
	// Closed says that the client ended the turn itself, and well.
	Closed bool
	// Failure is why the turn failed; nil when it did not.
	Failure *Failure

	doing Doing
	text  string
	open  bool // the newest message may go on
	spoke bool
}

// Failure is an error that ended a turn.
type Failure struct {
	// Text is the client's own message.
	Text string
	// Status is HTTP's; 0 when the client names none.
	Status int
}

// Says takes a piece of the agent's message; pieces make one message until the agent does
// something else.
func (t *Told) Says(piece string) {
	if !t.open {
		t.text = ""
	}
	t.text = LastBytes(t.text+piece, maxTextBytes)
	t.open, t.spoke, t.Closed = true, true, false
	t.doing.Set("writing")
}

// Does says what the agent does now. Its next message is a new one.
func (t *Told) Does(what string) {
	t.open, t.Closed = false, false
	t.doing.Set(what)
}

// Waits says that the client waits for the API, and why.
func (t *Told) Waits(why string) { t.doing.Set("waiting for the API: " + why) }

// Fails says that the turn failed.
func (t *Told) Fails(status int, body string) {
	t.Closed = false
	t.Failure = &Failure{Text: LastBytes(body, maxErrorBytes), Status: status}
}

// Closes says that the turn ended well.
func (t *Told) Closes() {
	t.Closed, t.open, t.Failure = true, false, nil
	t.doing.Set("")
}

// Take takes one line apart. It fails for a line that it does not understand, which is
// counted and passed over: clients add new ones all the time.
type Take func(line []byte, t *Told) error

// NewReader is a reader for one process.
func NewReader(take Take) harness.Reader { return &reader{take: take} }

// reader follows one stream. All but told.doing belongs to the goroutine that writes.
type reader struct {
	take    Take
	lines   Lines
	told    Told
	ignored int
}

// Write implements harness.Reader.
func (r *reader) Write(p []byte) (int, error) {
	r.lines.Write(p, r.line)
	return len(p), nil
}

func (r *reader) line(line []byte) {
	if r.take(line, &r.told) != nil {
		r.ignored++
	}
}

// Activity implements harness.Reader.
func (r *reader) Activity() string { return r.told.doing.Get() }

// Outcome implements harness.Reader. A last line without a newline counts.
func (r *reader) Outcome(exitCode int) harness.Outcome {
	r.ignored += r.lines.End(r.line)
	out := r.judge(exitCode)
	out.Text, out.Session, out.Usage = r.told.text, r.told.Session, r.told.Usage
	out.Detail = text.Clause(out.Detail, ClauseRunes)
	return out
}

func (r *reader) judge(exitCode int) harness.Outcome {
	t := &r.told
	switch {
	case t.Failure != nil:
		body := cmp.Or(t.Failure.Text, harness.ExitWords(exitCode))
		return harness.Outcome{Kind: KindOf(t.Failure.Status, t.Failure.Text), Detail: body, RetryAfter: WaitIn(body)}
	case t.Closed:
		return harness.Outcome{Kind: harness.Ended}
	case exitCode == 0 && t.spoke:
		return harness.Outcome{Kind: harness.Ended, Detail: "the client gave no result"}
	}
	detail := harness.ExitWords(exitCode) + " without a result"
	if doing := t.doing.Get(); doing != "" {
		detail += ", last seen " + doing
	}
	if r.ignored > 0 {
		detail += fmt.Sprintf(", %d lines not understood", r.ignored)
	}
	return harness.Outcome{Kind: harness.Crashed, Detail: detail}
}
