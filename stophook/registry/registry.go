// Package registry holds the hooks that decide, after each iteration at a task, whether it
// is complete, goes on, or needs a person.
//
// A hook is data: a preset, a template, a composition of others, or a program. So hooks are
// kept on disk, survive a restart, and can be listed.
package registry

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/beadsorch/orch/orchestrator/promise"
)

// Action is what a hook decides.
type Action string

// The actions.
const (
	Complete Action = "complete"
	Continue Action = "continue"
	Escalate Action = "escalate"
)

// Context is what a hook decides by: the state of a task after an iteration.
type Context struct {
	TaskID             string       `json:"taskId"`                 // whose iteration it was
	Iteration          int          `json:"iteration"`              // from 1
	ExecutionPhase     string       `json:"executionPhase"`         // such as testing
	FilesModified      []string     `json:"filesModified"`          // in this iteration
	ValidationResults  []Validation `json:"validationResults"`      // of each rule
	CompletionPromises []Promise    `json:"completionPromises"`     // that were found
	AgentOutput        string       `json:"agentOutput,omitempty"`  // what the agent said
	DraftContent       string       `json:"draftContent,omitempty"` // of a work product
	DraftType          string       `json:"draftType,omitempty"`    // such as implementation
}

// Validation is the result of one rule.
type Validation struct {
	RuleName string `json:"ruleName"`          // of the rule
	Passed   bool   `json:"passed"`            // it holds
	Message  string `json:"message,omitempty"` // what a model can act on
}

// Promise is a completion signal that was found in what the agent said.
type Promise struct {
	Type       string `json:"type"`                 // COMPLETE, BLOCKED or ESCALATE
	Detected   bool   `json:"detected"`             // false: looked for and not found
	Content    string `json:"content"`              // its text
	DetectedAt string `json:"detectedAt,omitempty"` // RFC 3339
}

// UnmarshalJSON reads a promise, or its words alone, as COMPLETE or <promise>COMPLETE</promise>: such a promise was
// found. Words that are no promise that orch knows are their own type.
func (p *Promise) UnmarshalJSON(b []byte) error {
	var words string
	if json.Unmarshal(b, &words) != nil {
		type plain Promise
		return json.Unmarshal(b, (*plain)(p))
	}
	*p = PromiseOf(words)
	return nil
}

// PromiseOf is a promise that was found, by its words.
func PromiseOf(words string) Promise {
	words = strings.TrimSpace(words)
	if inner, ok := strings.CutPrefix(words, "<promise>"); ok {
		words = strings.TrimSpace(strings.TrimSuffix(inner, "</promise>"))
	}
	return Promise{Type: cmp.Or(string(promise.SignalOf(words)), words), Detected: true, Content: words}
}

// Result is a hook's decision.
type Result struct {
	Action         Action          `json:"action"`                   // the decision
	Reason         string          `json:"reason"`                   // for a person
	NextPrompt     string          `json:"nextPrompt,omitempty"`     // for the next iteration; "" none
	CheckpointData json.RawMessage `json:"checkpointData,omitempty"` // a checkpoint to make; nil none
	Metadata       map[string]any  `json:"metadata,omitempty"`       // anything else
}

// Hook is one that is registered.
type Hook struct {
	ID       string         `json:"id"`                 // HOOK-...
	TaskID   string         `json:"taskId"`             // whose it is
	Spec     Spec           `json:"spec"`               // how it decides
	Enabled  bool           `json:"enabled"`            // it is asked
	Metadata map[string]any `json:"metadata,omitempty"` // of who registered it
	Metrics  Metrics        `json:"metrics"`            // what it decided so far
}

// Metrics counts a hook's decisions.
type Metrics struct {
	Evaluations int           `json:"evaluations"` // all of them
	Complete    int           `json:"complete"`    // how often
	Continue    int           `json:"continue"`    // how often
	Escalate    int           `json:"escalate"`    // how often
	Failed      int           `json:"failed"`      // of the escalations, those of a hook that could not decide
	Took        time.Duration `json:"took"`        // all evaluations together
}

func (m *Metrics) count(r Result, failed bool, took time.Duration) {
	m.Evaluations++
	m.Took += took
	if failed {
		m.Failed++
	}
	switch r.Action {
	case Complete:
		m.Complete++
	case Escalate:
		m.Escalate++
	default:
		m.Continue++
	}
}

// Runner runs the program of a command hook: the context as JSON on its standard input, its
// standard output is the answer.
type Runner func(ctx context.Context, argv []string, timeout time.Duration, stdin []byte) (stdout []byte, err error)

// Evaluation is the decision on a task, and the hook that made it.
type Evaluation struct {
	HookID string  // "default" when none is registered
	Asked  []Asked // all that were asked, in order
	Result
}

// Asked is what one hook said.
type Asked struct {
	HookID string        `json:"hookId"` // of the hook
	Action Action        `json:"action"` // what it decided
	Reason string        `json:"reason"` // for a person
	Failed bool          `json:"failed"` // it could not decide
	Took   time.Duration `json:"took"`   // to answer
}

// Evaluate asks a task's hooks in the order of their registration. The first that completes
// or escalates decides; else the last one that was asked. Disabled ones are passed over. A
// hook that cannot decide escalates, with its error. The hooks come back with their
// counts.
func Evaluate(ctx context.Context, hooks []Hook, c Context, run Runner, now func() time.Time) (Evaluation, []Hook) {
	decided := Evaluation{HookID: "default", Result: Result{Action: Continue, Reason: "No hooks registered for this task"}}
	if len(hooks) > 0 {
		decided.Reason = "All hooks of this task are disabled"
	}
	after := append([]Hook(nil), hooks...)
	for n, h := range hooks {
		if !h.Enabled {
			continue
		}
		began := now()
		r, err := runHook(ctx, h.Spec, c, run)
		if err != nil {
			r = Result{Action: Escalate, Reason: "Hook evaluation failed: " + err.Error(), Metadata: map[string]any{"error": err.Error()}}
		}
		took := now().Sub(began)
		after[n].Metrics.count(r, err != nil, took)
		decided = Evaluation{h.ID, append(decided.Asked, Asked{h.ID, r.Action, r.Reason, err != nil, took}), r}
		if r.Action != Continue {
			break
		}
	}
	return decided, after
}

// runHook runs one hook; a panic in it is that hook's failure.
func runHook(ctx context.Context, s Spec, c Context, run Runner) (r Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("a bug in the hook: %v", p)
		}
	}()
	if err := s.Check(); err != nil {
		return Result{}, err
	}
	return s.decide(ctx, c, run)
}
