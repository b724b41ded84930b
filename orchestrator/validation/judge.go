package validation

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/beadsorch/orch/orchestrator/command"
)

// Input is what the rules are asked about.
type Input struct {
	// Dir is the directory that is judged; commands run in it.
	Dir string
	// Env is the whole environment of a command, "NAME=value".
	Env []string
	// Output is what the agent has said.
	Output string
	// Products is the text of the task's work products.
	Products string
	// Files are the changed files: slash-separated, relative to Dir, with the deleted ones.
	Files []string
	// Context is what a custom rule reads; nil makes it {"output":…,"files":[…]}.
	Context json.RawMessage
	// Now is the clock for Check.Took; nil leaves that 0.
	Now func() time.Time
}

// Verdict is the judgement on all the rules.
type Verdict struct {
	// Passed says that every rule did; so no rules pass.
	Passed bool
	// Score is the share of rules that passed less the share that errored, 0 to 100.
	Score int
	// Checks has one for each rule, in their order.
	Checks []Check
}

// Check is the judgement on one rule.
type Check struct {
	// Rule is the rule's name.
	Rule string
	// Command is what was run; empty for a rule that runs nothing.
	Command string
	// Passed says that the rule holds.
	Passed bool
	// Errored says that the rule could not be asked; then Passed is false.
	Errored bool
	// Why is one clause.
	Why string
	// ExitCode is that of the command; 0 for a rule that runs nothing.
	ExitCode int
	// Output is the end of what the command printed, or the lines that were found: valid
	// UTF-8, at most 4 KiB.
	Output string
	// Took is how long it took.
	Took time.Duration
	// Err is why the rule's command did not run to its end, where that is not its exit or its time:
	// most often it could not be started. Whoever judges asks package fault about it; it is no data,
	// and kept nowhere.
	Err error `json:"-"`
}

// Err is that of the first check that has one; nil where every command ran.
func (v Verdict) Err() error {
	for _, c := range v.Checks {
		if c.Err != nil {
			return fmt.Errorf("asking %s: %w", c.Rule, c.Err)
		}
	}
	return nil
}

// errorCheck is the check of a rule that could not run.
func errorCheck(form string, args ...any) Check {
	return Check{Errored: true, Why: fmt.Sprintf(form, args...)}
}

// Judge asks all the rules but those that are off, one after the other, whatever they
// answer; rules next to each other that may run in parallel do. Commands are run by run. It
// fails only when ctx ends, with its cause: a rule that cannot run has errored. One whose
// command could not be started may be the machine's fault: [Verdict.Err].
func Judge(ctx context.Context, run command.Runner, rules []Rule, in Input) (Verdict, error) {
	rules = slices.DeleteFunc(slices.Clone(rules), func(r Rule) bool { return r.Off })
	checks := make([]Check, len(rules))
	for from := 0; from < len(rules); {
		to := from + 1
		for rules[from].Parallel && to < len(rules) && rules[to].Parallel {
			to++
		}
		var group sync.WaitGroup
		for n := from; n < to; n++ {
			group.Go(func() { checks[n] = rules[n].timed(ctx, run, in) })
		}
		group.Wait()
		if ctx.Err() != nil {
			return Verdict{}, fmt.Errorf("judging %s: %w", rules[from].Name, context.Cause(ctx))
		}
		from = to
	}
	return verdictOf(checks), nil
}

// timed asks one rule, and says how long that took.
func (r Rule) timed(ctx context.Context, run command.Runner, in Input) Check {
	now := in.Now
	if now == nil {
		now = func() time.Time { return time.Time{} }
	}
	began := now()
	c := r.judge(ctx, run, in)
	c.Rule, c.Command, c.Took = r.Name, r.Command, now().Sub(began)
	return c
}

func (r Rule) judge(ctx context.Context, run command.Runner, in Input) Check {
	if err := r.Check(); err != nil {
		return errorCheck("%v", err)
	}
	switch r.Type {
	case Command:
		return r.command(ctx, run, in)
	case Custom:
		return r.custom(ctx, run, in)
	case ContentPattern:
		return r.contentPattern(ctx, in)
	case Coverage:
		return r.coverage(in)
	default:
		return r.filesChanged(in)
	}
}

func verdictOf(checks []Check) Verdict {
	v := Verdict{Score: 100, Checks: checks}
	passed, errored := 0, 0
	for _, c := range checks {
		if c.Passed {
			passed++
		}
		if c.Errored {
			errored++
		}
	}
	v.Passed = passed == len(checks)
	if n := len(checks); n > 0 {
		v.Score = max(0, int(math.Round(100*float64(passed-errored)/float64(n))))
	}
	return v
}
