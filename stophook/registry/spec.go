package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/beadsorch/orch/orchestrator/promise"
)

// Spec says how a hook decides.
//
// Presets: default (promises, then validation), validation, promise. Templates: tdd (the
// rule tests_pass, or those named), security (vulns_fixed and sast_clean, or those named;
// escalates after Max, 10 by default), checkpoint (at iteration Max, 5 by default),
// max-iterations (escalates after Max). Compositions: all, any, when. And command, a
// program.
type Spec struct {
	Type    string   `json:"type"`              // a preset, a template, a composition, or command
	Rules   []string `json:"rules,omitempty"`   // tdd, security: the rules that have to pass
	Max     int      `json:"max,omitempty"`     // an iteration
	Hooks   []Spec   `json:"hooks,omitempty"`   // all, any
	If      string   `json:"if,omitempty"`      // when: a condition, see ParseCondition
	Then    *Spec    `json:"then,omitempty"`    // when
	Command []string `json:"command,omitempty"` // command: argv
	Seconds int      `json:"timeout,omitempty"` // command: how long it may take; 30 by default
}

// ErrSpec says that a hook is not well formed.
var ErrSpec = errors.New("not a hook")

// maxDepth bounds how deep hooks may be composed.
const maxDepth = 8

// Check says whether the hook is well formed. Its errors wrap ErrSpec.
func (s Spec) Check() error { return s.check(0) }

func (s Spec) check(depth int) error {
	switch s.Type {
	case "default", "validation", "promise", "tdd", "security", "checkpoint":
		return nil
	case "max-iterations":
		if s.Max < 1 {
			return fmt.Errorf("%w: max-iterations needs max, at least 1", ErrSpec)
		}
		return nil
	case "command":
		if len(s.Command) == 0 || s.Command[0] == "" || s.Seconds < 0 {
			return fmt.Errorf("%w: command needs a program, and a timeout of 0 or more seconds", ErrSpec)
		}
		return nil
	case "all", "any":
		if len(s.Hooks) == 0 {
			return fmt.Errorf("%w: %s needs hooks", ErrSpec, s.Type)
		}
	case "when":
		if s.Then == nil {
			return fmt.Errorf("%w: when needs then", ErrSpec)
		}
		if _, err := ParseCondition(s.If); err != nil {
			return err
		}
	default:
		return fmt.Errorf("%w: type %q is none of default, validation, promise, tdd, security, checkpoint, max-iterations, all, any, when, command", ErrSpec, s.Type)
	}
	if depth >= maxDepth {
		return fmt.Errorf("%w: composed more than %d deep", ErrSpec, maxDepth)
	}
	inner := s.Hooks
	if s.Then != nil {
		inner = append(slices.Clone(inner), *s.Then)
	}
	for _, h := range inner {
		if err := h.check(depth + 1); err != nil {
			return err
		}
	}
	return nil
}

func (s Spec) decide(ctx context.Context, c Context, run Runner) (Result, error) {
	switch s.Type {
	case "default":
		if r := byPromise(c); r.Action != Continue || r.NextPrompt != "" {
			return r, nil
		}
		return byValidation(c), nil
	case "validation":
		return byValidation(c), nil
	case "promise":
		return byPromise(c), nil
	case "tdd":
		return byRules(c, orDefault(s.Rules, "tests_pass"), "All tests pass", "Fix failing tests and run again"), nil
	case "security":
		r := byRules(c, orDefault(s.Rules, "vulns_fixed", "sast_clean"), "All vulnerabilities remediated", "Vulnerabilities remain; mend them")
		if r.Action == Continue && c.Iteration >= orMax(s.Max, 10) {
			return Result{Action: Escalate, Reason: "Max iterations reached: complex vulnerabilities may require manual review"}, nil
		}
		return r, nil
	case "checkpoint":
		return atCheckpoint(c, orMax(s.Max, 5)), nil
	case "max-iterations":
		if c.Iteration >= s.Max {
			return Result{Action: Escalate, Reason: fmt.Sprintf("Maximum iterations (%d) reached", s.Max)}, nil
		}
		return Result{Action: Continue, Reason: fmt.Sprintf("Iteration %d of at most %d", c.Iteration, s.Max)}, nil
	case "all":
		return s.all(ctx, c, run)
	case "any":
		return s.any(ctx, c, run)
	case "when":
		return s.when(ctx, c, run)
	}
	return s.command(ctx, c, run)
}

func orDefault(rules []string, names ...string) []string {
	if len(rules) > 0 {
		return rules
	}
	return names
}

func orMax(n, otherwise int) int {
	if n > 0 {
		return n
	}
	return otherwise
}

// promiseOf is the strongest promise: of those that were found for the context, and of
// what the agent said. BLOCKED counts before COMPLETE before ESCALATE.
func promiseOf(c Context) string {
	found := map[string]bool{}
	for _, p := range c.CompletionPromises {
		found[p.Type] = found[p.Type] || p.Detected
	}
	if p, ok := promise.Find(c.AgentOutput); ok {
		found[string(p.Signal)] = true
	}
	for _, t := range []string{"BLOCKED", "COMPLETE", "ESCALATE"} {
		if found[t] {
			return t
		}
	}
	return ""
}

func byPromise(c Context) Result {
	switch p := promiseOf(c); p {
	case "COMPLETE":
		if red := failedRules(c, nil); len(red) > 0 { // a claim that the rules deny
			return Result{Action: Continue, Reason: "Agent signaled completion, but these fail: " + strings.Join(red, ", "), NextPrompt: feedback(c, red)}
		}
		return Result{Action: Complete, Reason: "Agent signaled completion via <promise>COMPLETE</promise>"}
	case "BLOCKED", "ESCALATE":
		return Result{Action: Escalate, Reason: "Agent signaled " + p + " via <promise>" + p + "</promise>"}
	}
	return Result{Action: Continue, Reason: "No completion promise detected"}
}

func byValidation(c Context) Result {
	if len(c.ValidationResults) == 0 {
		return Result{Action: Continue, Reason: "No validation rules"}
	}
	if red := failedRules(c, nil); len(red) > 0 {
		return Result{Action: Continue, Reason: fmt.Sprintf("%d of %d validation rules fail", len(red), len(c.ValidationResults)), NextPrompt: feedback(c, red)}
	}
	return Result{Action: Complete, Reason: "All validation rules pass"}
}

func byRules(c Context, rules []string, done, next string) Result {
	if red := failedRules(c, rules); len(red) > 0 {
		return Result{Action: Continue, Reason: "Not passed yet: " + strings.Join(red, ", "), NextPrompt: next}
	}
	return Result{Action: Complete, Reason: done}
}

// failedRules lists the rules that did not pass: of those named, where one that has no result
// has not passed; else of all.
func failedRules(c Context, rules []string) (red []string) {
	passed := map[string]bool{}
	for _, v := range c.ValidationResults {
		passed[v.RuleName] = v.Passed
		if !v.Passed && rules == nil {
			red = append(red, v.RuleName)
		}
	}
	for _, r := range rules {
		if !passed[r] {
			red = append(red, r)
		}
	}
	return red
}

func feedback(c Context, red []string) string {
	text := "Mend what fails, then go on:\n"
	for _, v := range c.ValidationResults {
		if slices.Contains(red, v.RuleName) {
			text += strings.TrimSuffix("- "+v.RuleName+": "+v.Message, ": ") + "\n"
		}
	}
	return text
}

func atCheckpoint(c Context, at int) Result {
	if c.Iteration != at {
		return Result{Action: Continue, Reason: "Iteration in progress"}
	}
	data := fmt.Sprintf(`{"executionPhase":"midpoint","executionStep":%d,"agentContext":{"milestone":"checkpoint"}}`, at)
	return Result{Action: Continue, Reason: fmt.Sprintf("Checkpoint at iteration %d", at), CheckpointData: json.RawMessage(data)}
}

// all completes when each completes; one that escalates escalates.
func (s Spec) all(ctx context.Context, c Context, run Runner) (Result, error) {
	var open []string
	var last Result
	for _, h := range s.Hooks {
		r, err := h.decide(ctx, c, run)
		switch {
		case err != nil:
			return Result{}, err
		case r.Action == Escalate:
			return r, nil
		case r.Action == Continue:
			open, last = append(open, r.Reason), r
		}
	}
	if len(open) > 0 {
		return Result{Action: Continue, Reason: strings.Join(open, "; "), NextPrompt: last.NextPrompt, CheckpointData: last.CheckpointData}, nil
	}
	return Result{Action: Complete, Reason: fmt.Sprintf("All %d hooks are complete", len(s.Hooks))}, nil
}

// any is decided by the first that completes or escalates.
func (s Spec) any(ctx context.Context, c Context, run Runner) (last Result, err error) {
	for _, h := range s.Hooks {
		if last, err = h.decide(ctx, c, run); err != nil || last.Action != Continue {
			return last, err
		}
	}
	return last, nil
}

func (s Spec) when(ctx context.Context, c Context, run Runner) (Result, error) {
	cond, err := ParseCondition(s.If)
	if err != nil {
		return Result{}, err
	}
	if !cond.holds(c) {
		return Result{Action: Continue, Reason: "Not so: " + s.If}, nil
	}
	return s.Then.decide(ctx, c, run)
}

// commandTime is how long a program may take where its hook does not say.
const commandTime = 30

func (s Spec) command(ctx context.Context, c Context, run Runner) (Result, error) {
	in, err := json.Marshal(c)
	if err != nil {
		return Result{}, fmt.Errorf("writing the context: %w", err)
	}
	out, err := run(ctx, s.Command, time.Duration(orMax(s.Seconds, commandTime))*time.Second, in)
	if err != nil {
		return Result{}, fmt.Errorf("%s: %w", s.Command[0], err)
	}
	var r Result
	if err := json.Unmarshal(out, &r); err != nil {
		return Result{}, fmt.Errorf("%s answers no JSON result: %w", s.Command[0], err)
	}
	if r.Action != Complete && r.Action != Continue && r.Action != Escalate {
		return Result{}, fmt.Errorf("%s answers action %q, which is none of complete, continue, escalate", s.Command[0], r.Action)
	}
	return r, nil
}
