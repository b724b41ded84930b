// Package command adapts any program to a harness: the brief goes in, its output is the agent's message.
//
// The contract with the program: the brief is on stdin, and the path of a file with the same
// text is in ORCH_BRIEF; what it prints to stdout is its message. Exit 0 means that it ended its
// turn; exit 75 (EX_TEMPFAIL of sysexits.h) that it was rate limited, and then a line
// "retry-after: SECONDS" may say for how long; any other end is a crash.
package command

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/beadsorch/orch/orchestrator/harness"
	"github.com/beadsorch/orch/orchestrator/text"
)

const (
	exitRateLimited = 75
	textBytes       = 64 << 10
	clauseRunes     = 160
	longestRetry    = 30 * 24 * time.Hour
)

// ErrNoCommand says that there is no program to start.
var ErrNoCommand = errors.New("the agent command is empty")

var retryAfter = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?im)^[ \t]*retry-after:[ \t]*([0-9]+)[ \t]*\r?$`) })

type command struct {
	argv []string
}

// New is the harness that runs argv. Without a program its Launch fails with [ErrNoCommand].
func New(argv []string) harness.Harness {
	return command{argv: append([]string(nil), argv...)}
}

// Launch implements harness.Harness.
func (c command) Launch(s harness.Spec) (harness.Launch, error) {
	if len(c.argv) == 0 || c.argv[0] == "" {
		return harness.Launch{}, ErrNoCommand
	}
	return harness.Launch{
		Argv:  append([]string(nil), c.argv...),
		Env:   []string{"ORCH_BRIEF=" + s.BriefPath},
		Stdin: []byte(s.Brief),
	}, nil
}

// Reader implements harness.Harness.
func (c command) Reader() harness.Reader { return &reader{} }

// reader keeps the end of the output.
type reader struct {
	mu   sync.Mutex
	tail []byte
}

// Write implements harness.Reader.
func (r *reader) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tail = append(r.tail, p[max(0, len(p)-textBytes):]...)
	if len(r.tail) > 2*textBytes {
		r.tail = append(r.tail[:0], r.tail[len(r.tail)-textBytes:]...)
	}
	return len(p), nil
}

// Outcome implements harness.Reader.
func (r *reader) Outcome(exitCode int) harness.Outcome {
	body := r.text()
	out := harness.Outcome{Kind: harness.Crashed, Text: body}
	switch exitCode {
	case 0:
		out.Kind = harness.Ended
		return out
	case exitRateLimited:
		out.Kind = harness.RateLimited
		out.RetryAfter = retryTime(body)
	}
	out.Detail = harness.DescribeExit(exitCode)
	if line := lastLine(body); line != "" {
		out.Detail += ": " + line
	}
	return out
}

// Activity implements harness.Reader: it is the last line so far.
func (r *reader) Activity() string { return lastLine(r.text()) }

// text is the end of the output as valid UTF-8; a rune that the cut went through is left out.
func (r *reader) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	tail := r.tail[max(0, len(r.tail)-textBytes):]
	if len(tail) < len(r.tail) || len(tail) == textBytes {
		for len(tail) > 0 && tail[0]&0xc0 == 0x80 {
			tail = tail[1:]
		}
	}
	return strings.ToValidUTF8(string(tail), "\ufffd")
}

// lastLine is the last line that shows anything.
func lastLine(body string) string {
	for body != "" {
		at := strings.LastIndexAny(body, "\r\n")
		if line := text.Clause(body[at+1:], clauseRunes); line != "" {
			return line
		}
		body = body[:max(0, at)]
	}
	return ""
}

// retryTime is what the last such line says, 0 for none.
func retryTime(body string) time.Duration {
	found := retryAfter().FindAllStringSubmatch(body, -1)
	if len(found) == 0 {
		return 0
	}
	seconds, err := strconv.ParseInt(found[len(found)-1][1], 10, 32)
	if err != nil {
		return longestRetry
	}
	return min(time.Duration(seconds)*time.Second, longestRetry)
}
