// Package harness says what an agent client is: a brief in, a command line and an interpreted exit out.
//
// An adapter to one client is a [Harness], in a package of its own below this one. It
// touches nothing outside: it turns a [Spec] into the [Launch] that someone else
// starts, and the client's output, fed to a [Reader], into an [Outcome].
package harness

import "time"

// Spec is one iteration of one attempt, as a harness sees it.
type Spec struct {
	// Brief is the text of the prompt.
	Brief string
	// BriefPath is a file that holds the same text.
	BriefPath string
	// Dir is the working directory of the agent, absolute.
	Dir string
	// Session is the id for a new conversation, or of the one to resume; empty leaves it to the client.
	Session string
	// Resume says that Session exists and is to be continued.
	Resume bool
}

// Launch is what to start.
type Launch struct {
	// Argv is the program and its arguments.
	Argv []string
	// Env is added to the environment that the caller builds, "NAME=value".
	Env []string
	// Stdin is what the program reads.
	Stdin []byte
}

// Harness is the adapter to one agent client. Its methods may be called concurrently.
type Harness interface {
	// Launch says how to start the client; it fails for a Spec that the client cannot take.
	Launch(Spec) (Launch, error)
	// Reader is a fresh interpreter for the output of one process.
	Reader() Reader
}

// Reader interprets the standard output of one process as it comes. It keeps at most
// 1 MiB, whatever the process writes.
type Reader interface {
	// Write takes the next piece of output, cut anywhere. It never fails and keeps no reference to p.
	Write(p []byte) (int, error)
	// Outcome says how the iteration ended, once all output was written. exitCode is 128+n after signal n.
	Outcome(exitCode int) Outcome
	// Activity is what the agent does now, one short clause without control characters,
	// or empty when that is not known. It may be called while Write runs.
	Activity() string
}

// Kind sorts the ways in which an agent process ends by who has to act on it.
type Kind string

// The kinds of outcome.
const (
	// Ended means that the agent finished its turn; whether its work is good is for others to say.
	Ended Kind = "ended"
	// RateLimited means that the API asked to slow down: a state of the whole pool.
	RateLimited Kind = "rate_limited"
	// Unavailable means that the API was overloaded or could not be reached: a state of the whole pool.
	Unavailable Kind = "unavailable"
	// Auth means that the client is not logged in, or not allowed: a person acts.
	Auth Kind = "auth"
	// UsageLimit means that the account's quota is used up until a reset, or for good.
	UsageLimit Kind = "usage_limit"
	// ContextFull means that the conversation is too long to go on: a fresh one can.
	ContextFull Kind = "context_full"
	// Crashed means anything else that kept the agent from finishing its turn.
	Crashed Kind = "crashed"
)

// Outcome is how one iteration ended, as far as the client's output says.
type Outcome struct {
	// Kind is what happened.
	Kind Kind
	// Text is the agent's own last message, where promises are searched; valid UTF-8.
	Text string
	// Detail is one clause for a person, without control characters; it may be empty.
	Detail string
	// RetryAfter is how long the API wants to be left alone; 0 means unknown.
	RetryAfter time.Duration
	// Session is the id under which the conversation can be resumed; empty when there is none.
	Session string
	// Usage is what the iteration consumed, as far as the client says.
	Usage Usage
}

// Usage is what an iteration consumed.
type Usage struct {
	// InputTokens counts all tokens that were read, cached ones included.
	InputTokens int64 `json:"input_tokens"`
	// OutputTokens counts the tokens that were written.
	OutputTokens int64 `json:"output_tokens"`
	// CostUSD is the client's own estimate in US dollars.
	CostUSD float64 `json:"cost_usd"`
	// Turns counts the model's turns.
	Turns int `json:"turns"`
	// Whole says that all of this counts the conversation from its beginning, the
	// processes that it was resumed from included.
	Whole bool `json:"whole,omitempty"`
}
