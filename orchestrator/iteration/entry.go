package iteration

import (
	"time"

	"github.com/beadsorch/orch/orchestrator/validation"
)

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
			e.FirstUnmet, e.Failure = c.Rule, v.Why()
		}
	}
	return e
}
