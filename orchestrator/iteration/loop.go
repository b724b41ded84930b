package iteration

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/beadsorch/orch/orchestrator/promise"
	"github.com/beadsorch/orch/orchestrator/validation"
)

// Signal says what comes after an iteration.
type Signal string

// The signals.
const (
	Continue Signal = "CONTINUE" // go on: next
	Complete Signal = "COMPLETE" // the work is done, and the rules say so
	Blocked  Signal = "BLOCKED"  // the agent can not go on without a person
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

// promises are the completion promises without their marks.
func (c Config) promises() (out []string) {
	for _, p := range c.CompletionPromises {
		out = append(out, strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(p), "<promise>"), "</promise>"))
	}
	return out
}

// Entry is one iteration that was validated.
type Entry struct {
	Iteration       int       `json:"iteration"`            // its number, from 1
	Timestamp       time.Time `json:"timestamp"`            // when it was validated, UTC
	ValidationScore int       `json:"validationScore"`      // the share of rules that have passed, 0 to 100
	Passed          bool      `json:"passed"`               // all rules have passed
	FirstUnmet      string    `json:"firstUnmet,omitempty"` // the rule that came first of those that did not pass
	Failure         string    `json:"failure,omitempty"`    // why it did not pass, in a clause
	Signal          Signal    `json:"signal,omitempty"`     // what comes next; "" where nothing was decided on it
	// Rules are the outcomes of all rules, without their messages.
	Rules []RuleOutcome `json:"results,omitempty"`
}

// Outcomes are those of a verdict's rules, without their messages.
func Outcomes(v validation.Verdict) (out []RuleOutcome) {
	for _, c := range v.Checks {
		out = append(out, RuleOutcome{Rule: c.Rule, Passed: c.Passed, Errored: c.Errored})
	}
	return out
}

// EntryOf is an iteration as a verdict has it, before there is a signal.
func EntryOf(n int, v validation.Verdict, now time.Time) Entry {
	e := Entry{Iteration: n, Timestamp: now.UTC(), ValidationScore: v.Score, Passed: v.Passed, Rules: Outcomes(v)}
	for _, c := range v.Checks {
		if !c.Passed && e.FirstUnmet == "" {
			e.FirstUnmet, e.Failure = c.Rule, c.Rule+": "+c.Why
		}
	}
	return e
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
func (l Loop) Fails() int { return fails(l.History) }

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

// Outcome is what a validation came to.
type Outcome struct {
	Signal          Signal        `json:"completionSignal"`
	DetectedPromise string        `json:"detectedPromise,omitempty"`
	Reason          string        `json:"reason,omitempty"` // of a promise, or of a guard
	Guard           string        `json:"guard,omitempty"`
	Feedback        []string      `json:"feedback"`
	Passed          bool          `json:"validationPassed"`
	Score           int           `json:"validationScore"`
	Rules           []RuleOutcome `json:"results"`
}

// RuleOutcome is one rule of a validation.
type RuleOutcome struct {
	Rule    string `json:"ruleName"`          // its name
	Passed  bool   `json:"passed"`            // it holds
	Errored bool   `json:"errored,omitempty"` // it could not be asked
	Message string `json:"message,omitempty"` // why it did not pass; "" where it did, and where messages are not kept
}

// Hook is what the hooks of the task say of an iteration; the zero Hook is nothing.
type Hook struct {
	ID         string `json:"hookId,omitempty"`
	Action     string `json:"action,omitempty"` // complete, continue or escalate
	Reason     string `json:"reason,omitempty"`
	NextPrompt string `json:"nextPrompt,omitempty"`
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

// Validate ends an iteration: the verdict of the rules, and what the agent has said, make a
// signal. A guard that trips overrides whatever was promised; COMPLETE with red rules goes
// on, with the feedback; green rules without a promise go on too. A hook may complete what
// passes, keep it going, or escalate. Validating an iteration again replaces what was said
// of it. It fails with [ErrDone].
func (l Loop) Validate(v validation.Verdict, output string, hook Hook, now time.Time) (Loop, Outcome, error) {
	if l.Done != "" {
		return l, Outcome{}, fmt.Errorf("%w: %s", ErrDone, l.Done)
	}
	if l.Last != nil { // the one before of the same iteration does not count
		l.History = l.History[:len(l.History)-1]
	}
	o := Outcome{Signal: Continue, Passed: v.Passed, Score: v.Score, Feedback: []string{}}
	for _, c := range v.Checks {
		o.Rules = append(o.Rules, RuleOutcome{Rule: c.Rule, Passed: c.Passed, Errored: c.Errored, Message: message(c)})
	}
	if !v.Passed {
		o.Feedback = append(o.Feedback, v.Feedback())
	}
	l.promised(&o, output)
	o.hooked(hook)
	l.History = append(slices.Clone(l.History), EntryOf(l.Iteration, v, now))
	if guard, why := l.guard(o.Signal); guard != "" {
		o.Signal, o.Guard, o.Reason = Escalate, guard, why
		o.Feedback = append(o.Feedback, why)
	}
	l.History[len(l.History)-1].Signal = o.Signal
	l.Last = &o
	return l, o, nil
}

func message(c validation.Check) string {
	if c.Why == "" {
		return map[bool]string{true: "passed", false: "did not pass"}[c.Passed]
	}
	return c.Why
}

// promised finds the agent's promise and makes it the signal, as far as the rules allow.
func (l Loop) promised(o *Outcome, output string) {
	known := l.Config.promises()
	p, ok := promise.Find(output, known...)
	if ok && p.Signal == promise.Complete && len(known) > 0 && !slices.ContainsFunc(known, func(k string) bool { return strings.EqualFold(k, p.Text) }) {
		ok = false // not one that this loop ends with
	}
	if !ok {
		if o.Passed {
			o.Feedback = append(o.Feedback, "All rules pass. If the whole task is done, end with <promise>COMPLETE</promise>; else go on.")
		}
		return
	}
	o.DetectedPromise, o.Reason = p.Text, p.Reason
	switch p.Signal {
	case promise.Complete:
		if o.Passed {
			o.Signal = Complete
		} else {
			o.Feedback = append(o.Feedback, "You said that the work is complete. It is not: mend what did not pass first.")
		}
	case promise.Blocked:
		o.Signal = Blocked
	case promise.Escalate:
		o.Signal = Escalate
	}
}

// hooked has the task's hooks decide, as far as the rules and a question to a person allow.
func (o *Outcome) hooked(h Hook) {
	if h.Action == "" || o.Signal == Blocked {
		return
	}
	switch {
	case h.Action == "escalate":
		o.Signal, o.Reason = Escalate, h.Reason
	case h.Action == "complete" && o.Passed:
		o.Signal, o.Reason = Complete, h.Reason
	case h.Action == "continue" && o.Signal == Complete:
		o.Signal, o.Reason = Continue, h.Reason
	}
	o.Feedback = append(o.Feedback, "Hook "+h.ID+": "+h.Reason)
	if h.NextPrompt != "" {
		o.Feedback = append(o.Feedback, h.NextPrompt)
	}
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
