package iteration

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/beadsorch/orch/orchestrator/validation"
)

// Signal says what comes after an iteration.
type Signal string

// The signals.
const (
	Continue Signal = "CONTINUE" // go on: next
	Complete Signal = "COMPLETE" // the work is done, and the rules say so
	Blocked  Signal = "BLOCKED"  // the agent cannot go on without a person
	Escalate Signal = "ESCALATE" // a guard has tripped, or the agent asks for help
)

// Config is how a loop iterates. It can be changed in flight.
type Config struct {
	// MaxIterations is how many there may be; at least 1.
	MaxIterations int `json:"maxIterations"`
	// CompletionPromises are the promises that the agent may end with; none means all.
	CompletionPromises []string `json:"completionPromises,omitempty"`
	// ValidationRules are asked after each iteration.
	ValidationRules []validation.Rule `json:"validationRules,omitempty"`
	// CircuitBreakerThreshold is after how many red validations in a row the loop ends; 0
	// means 3.
	CircuitBreakerThreshold int `json:"circuitBreakerThreshold,omitempty"`
	// SilentTurns is after how many turns in a row that ended without a promise work that passes
	// counts as complete; 0 means never.
	SilentTurns int `json:"silentTurns,omitempty"`
}

// Check fails with [ErrConfig] for a config that no loop can have.
func (c Config) Check() error {
	if c.MaxIterations < 1 {
		return fmt.Errorf("%w: maxIterations is %d, and has to be 1 or more", ErrConfig, c.MaxIterations)
	}
	if c.CircuitBreakerThreshold < 0 {
		return fmt.Errorf("%w: circuitBreakerThreshold is %d, and has to be 1 or more", ErrConfig, c.CircuitBreakerThreshold)
	}
	for _, r := range c.ValidationRules {
		if err := r.Check(); err != nil {
			return fmt.Errorf("%w: %w", ErrConfig, err)
		}
	}
	return nil
}

// Loop is one run of the protocol on a task.
type Loop struct {
	TaskID       string          `json:"taskId"`
	Config       Config          `json:"config"`
	Iteration    int             `json:"iterationNumber"` // from 1
	History      []Entry         `json:"history"`         // oldest first
	AgentContext json.RawMessage `json:"agentContext,omitempty"`
	Last         *Outcome        `json:"last,omitempty"` // of the current iteration's validation; nil before it
	Done         Signal          `json:"done,omitempty"` // how it ended; "" while it goes on
}

// Fails is how many validations in a row were red, the newest included.
func (l Loop) Fails() int { return countFailures(l.History) }

// LastFailure is why the newest validation did not pass; "" where it did.
func (l Loop) LastFailure() string {
	if len(l.History) == 0 {
		return ""
	}
	return l.History[len(l.History)-1].Failure
}

// Guard is the guard that has tripped; "" for none.
func (l Loop) Guard() string {
	if l.Last == nil {
		return ""
	}
	return l.Last.Guard
}

// The ways in which a step is refused; nothing has changed then.
var (
	ErrConfig    = errors.New("no config for an iteration loop")
	ErrMaximum   = errors.New("the maximum of iterations is reached")
	ErrDone      = errors.New("the loop has ended")
	ErrNotYet    = errors.New("this iteration has not been validated")
	ErrNotPassed = errors.New("the work has not passed")
)

// Start is a loop at its first iteration. It fails with [ErrConfig].
func Start(task string, c Config) (Loop, error) {
	if err := c.Check(); err != nil {
		return Loop{}, err
	}
	return Loop{TaskID: task, Config: c, Iteration: 1, History: []Entry{}}, nil
}

// Validate ends an iteration as [Judge] says. Validating an iteration again replaces what was
// said of it. It fails with [ErrDone].
func (l Loop) Validate(v validation.Verdict, output string, hook Hook, now time.Time) (Loop, Outcome, error) {
	if l.Done != "" {
		return l, Outcome{}, fmt.Errorf("%w: %s", ErrDone, l.Done)
	}
	if l.Last != nil { // the one before of the same iteration does not count
		l.History = l.History[:len(l.History)-1]
	}
	o := Judge(l.Config, l.History, Turn{Number: l.Iteration, At: now, Verdict: &v, Output: output, Hook: hook})
	l.History = append(slices.Clone(l.History), *o.Entry)
	l.Last = &o
	return l, o, nil
}

// Next goes on to the next iteration: the agent's context and the history carry over, what
// the rules said does not. It fails with [ErrMaximum], [ErrNotYet] or [ErrDone].
func (l Loop) Next() (Loop, error) {
	switch {
	case l.Done != "":
		return l, fmt.Errorf("%w: %s", ErrDone, l.Done)
	case l.Last == nil:
		return l, ErrNotYet
	case l.Iteration >= l.Config.MaxIterations:
		return l, fmt.Errorf("%w: %d", ErrMaximum, l.Config.MaxIterations)
	case l.Last.Signal != Continue:
		return l, fmt.Errorf("%w: the last validation said %s", ErrDone, l.Last.Signal)
	}
	l.Iteration++
	l.Last = nil
	return l, nil
}

// End completes a loop whose last validation said so, or gives up one that was blocked or
// escalated. It fails with [ErrNotYet] or [ErrNotPassed]; ending it again changes nothing.
func (l Loop) End() (Loop, error) {
	switch {
	case l.Done != "":
		return l, nil
	case l.Last == nil:
		return l, ErrNotYet
	case l.Last.Signal == Continue:
		return l, fmt.Errorf("%w: the last validation said CONTINUE", ErrNotPassed)
	}
	l.Done = l.Last.Signal
	return l, nil
}

// Limit sets the maximum of iterations in flight; below the current one the next validation
// escalates. It fails with [ErrConfig] or [ErrDone].
func (l Loop) Limit(n int) (Loop, error) {
	if l.Done != "" {
		return l, fmt.Errorf("%w: %s", ErrDone, l.Done)
	}
	c := l.Config
	c.MaxIterations = n
	if err := c.Check(); err != nil {
		return l, err
	}
	l.Config = c
	return l, nil
}
