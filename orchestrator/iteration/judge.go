package iteration

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/beadsorch/orch/orchestrator/promise"
	"github.com/beadsorch/orch/orchestrator/validation"
)

// Turn is one iteration that has ended, with all that is known of it.
type Turn struct {
	Number  int                 // from 1
	At      time.Time           // when it ended
	Verdict *validation.Verdict // of the rules; nil where they were not asked
	Output  string              // the agent's last message, which its promise is in
	Full    bool                // its client ended it since the context is full, as if it had promised a checkpoint
	Hook    Hook                // what the hooks of the task say
	Silent  int                 // how many turns right before it ended without a promise
	Spent   string              // what of the task's budget is used up, in a clause; "" nothing
}

// Hook is what the hooks of the task say of an iteration; the zero Hook is nothing.
type Hook struct {
	ID         string `json:"hookId,omitempty"`
	Action     string `json:"action,omitempty"` // complete, continue or escalate
	Reason     string `json:"reason,omitempty"`
	NextPrompt string `json:"nextPrompt,omitempty"`
}

// Outcome is what an iteration came to.
type Outcome struct {
	Signal          Signal        `json:"completionSignal"`
	DetectedPromise string        `json:"detectedPromise,omitempty"` // as the agent wrote it
	Reason          string        `json:"reason,omitempty"`          // of a promise, a hook or a guard
	Guard           string        `json:"guard,omitempty"`           // the one that tripped
	Fresh           bool          `json:"fresh,omitempty"`           // it goes on in a fresh session: the context is full
	Silent          bool          `json:"silent,omitempty"`          // it ended without a promise, and is asked whether it is done
	Feedback        []string      `json:"feedback"`                  // for the next iteration
	Passed          bool          `json:"validationPassed"`
	Score           int           `json:"validationScore"`
	Rules           []RuleOutcome `json:"results"`
	Entry           *Entry        `json:"-"` // for the history; nil where no rules were asked
}

// RuleOutcome is one rule of a validation.
type RuleOutcome struct {
	Rule    string `json:"ruleName"`          // its name
	Passed  bool   `json:"passed"`            // it holds
	Errored bool   `json:"errored,omitempty"` // it could not be asked
	Message string `json:"message,omitempty"` // why it did not pass; "" where it did, and where messages are not kept
}

// Judge says what an iteration has come to, after the earlier ones of history. The rules'
// verdict and the agent's message make a signal: COMPLETE with red rules goes on, with the
// feedback; green rules without a promise go on too, as often as the config says. A hook may
// complete what passes, keep it going, or escalate; it does not answer for the person whom a
// promise asks for. A guard that trips overrides all of that.
func Judge(c Config, history []Entry, t Turn) Outcome {
	o := Outcome{Signal: Continue, Passed: true, Score: 100, Feedback: []string{}}
	if t.Verdict != nil {
		o.validated(*t.Verdict)
		e := EntryOf(t.Number, *t.Verdict, t.At)
		o.Entry, history = &e, append(slices.Clone(history), e)
	}
	asks := o.promised(c, t)
	if !asks {
		o.hooked(t.Hook)
	}
	if guard, why := c.guard(t, history, o.Signal); guard != "" {
		o.Signal, o.Guard, o.Reason = Escalate, guard, why
		o.Feedback = append(o.Feedback, why)
	}
	if o.Signal != Continue {
		o.Fresh, o.Silent = false, false
	}
	if o.Entry != nil {
		o.Entry.Signal = o.Signal
	}
	return o
}

func (o *Outcome) validated(v validation.Verdict) {
	o.Passed, o.Score = v.Passed, v.Score
	for _, c := range v.Checks {
		o.Rules = append(o.Rules, RuleOutcome{Rule: c.Rule, Passed: c.Passed, Errored: c.Errored, Message: checkMessage(c)})
	}
	if !v.Passed {
		o.Feedback = append(o.Feedback, v.Feedback())
	}
}

func checkMessage(c validation.Check) string {
	if c.Why == "" {
		return map[bool]string{true: "passed", false: "did not pass"}[c.Passed]
	}
	return c.Why
}

// promised finds the agent's promise and makes it the signal, as far as the rules allow. It
// reports whether the promise asks for a person.
func (o *Outcome) promised(c Config, t Turn) (asks bool) {
	p, ok := c.Promise(t.Output)
	switch {
	case t.Full:
		p = promise.Promise{Signal: promise.Checkpoint}
	case !ok:
		o.silent(c, t)
		return false
	}
	o.DetectedPromise, o.Reason = p.Text, cmp.Or(p.Reason, p.Summary)
	switch p.Signal {
	case promise.Continue:
		if o.Reason != "" {
			o.Feedback = append(o.Feedback, o.Reason)
		}
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
	case promise.Checkpoint:
		o.Fresh = true
		o.Feedback = append(o.Feedback, fresh)
	}
	asks = o.Signal == Blocked || o.Signal == Escalate
	if asks && o.Reason == "" {
		o.Reason = lastLines(t.Output)
	}
	return asks
}

// fresh is the prompt of an agent that continues where a full context ended another.
const fresh = "An earlier session ended since its context was full. What it did is in this worktree: begin with git log and git status. If you keep checkpoints: orch checkpoint resume."

// silent is a turn that ended without a promise. Its agent is asked whether it is done, as often
// as the config says and as long as it may go on.
func (o *Outcome) silent(c Config, t Turn) {
	if !o.Passed {
		return
	}
	if c.SilentTurns > 0 && (t.Silent+1 >= c.SilentTurns || t.Number >= c.MaxIterations || t.Spent != "") {
		o.Signal = Complete
		return
	}
	ask := "You ended without a promise. If the whole task is done and committed, and every check passes, end with <promise>" + c.Completion() + "</promise>; if you need a person, ask; else go on."
	if t.Verdict != nil {
		ask = "All rules pass. " + ask
	}
	o.Silent, o.Feedback = true, append(o.Feedback, ask)
}

// lastLines is the end of what an agent said besides its promise, for a question that it did not
// put into words of its own.
func lastLines(said string) string {
	const most = 5
	lines := slices.DeleteFunc(strings.Split(strings.TrimSpace(said), "\n"), func(line string) bool {
		return strings.TrimSpace(line) == "" || strings.Contains(line, "<promise>")
	})
	return strings.Join(lines[max(0, len(lines)-most):], "\n")
}

// Promise is the strongest promise in an agent's last message that counts for this config: one
// that names its completion promises ends with none but these.
func (c Config) Promise(output string) (promise.Promise, bool) {
	known := c.promises()
	p, ok := promise.Find(output, known...)
	if ok && p.Signal == promise.Complete && len(known) > 0 && !slices.ContainsFunc(known, func(k string) bool { return strings.EqualFold(k, p.Text) }) {
		return promise.Promise{}, false
	}
	return p, ok
}

// promises are the texts of its completion promises, as package promise gives them.
func (c Config) promises() (texts []string) {
	for _, p := range c.CompletionPromises {
		p = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(p), "<promise>"), "</promise>")
		texts = append(texts, strings.Join(strings.Fields(p), " "))
	}
	return texts
}

// Completion is the promise with which an agent of this config is to end when its task is done:
// the first of its completion promises that means so, and COMPLETE without one.
func (c Config) Completion() string {
	for _, text := range c.promises() {
		if p, ok := c.Promise("<promise>" + text + "</promise>"); ok && p.Signal == promise.Complete {
			return text
		}
	}
	return "COMPLETE"
}

// hooked has the task's hooks decide, as far as the rules allow.
func (o *Outcome) hooked(h Hook) {
	switch {
	case h.Action == "":
		return
	case h.Action == "escalate":
		o.Signal, o.Reason = Escalate, strings.TrimSpace("hook "+h.ID)+": "+h.Reason
	case h.Action == "complete" && o.Passed:
		o.Signal, o.Reason = Complete, h.Reason
	case h.Action == "continue" && o.Passed:
		o.Signal, o.Reason, o.Silent = Continue, h.Reason, false // it need not be asked: it goes on
	}
	o.Feedback = append(o.Feedback, "Hook "+h.ID+": "+h.Reason)
	if h.NextPrompt != "" {
		o.Feedback = append(o.Feedback, h.NextPrompt)
	}
}
