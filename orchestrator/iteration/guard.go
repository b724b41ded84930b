package iteration

import (
	"fmt"
	"slices"
)

// The guards. Each is a reason code of the same name.
const (
	MaxIterations     = "MAX_ITERATIONS"     // as many as there may be
	CircuitBreaker    = "CIRCUIT_BREAKER"    // red so many times in a row
	QualityRegression = "QUALITY_REGRESSION" // the score fell over three iterations by more than ten
	Stuck             = "STUCK"              // the same rule came first of those unmet five times in a row
	Budget            = "BUDGET"             // the task's agents have used up what they may
)

const (
	regressionSpan = 3  // iterations
	regressionDrop = 10 // points in all
	stuckSpan      = 5  // iterations
)

// DefaultThreshold is the circuit breaker's threshold where none is set.
const DefaultThreshold = 3

// threshold is the circuit breaker's.
func (c Config) threshold() int {
	if c.CircuitBreakerThreshold == 0 {
		return DefaultThreshold
	}
	return c.CircuitBreakerThreshold
}

// guard is the first guard that has tripped; "" for none. history has the newest turn. Work
// that is complete is guarded from nothing but a maximum that was lowered below its iteration,
// and from its own history.
func (c Config) guard(t Turn, history []Entry, s Signal) (guard, why string) {
	if t.Number > c.MaxIterations || t.Number == c.MaxIterations && s == Continue {
		return MaxIterations, fmt.Sprintf("Maximum iterations (%d) reached. The task needs a person.", c.MaxIterations) + lastFailure(history)
	}
	if t.Verdict != nil {
		if guard, why = CheckGuards(history, c.threshold()); guard != "" {
			return guard, why
		}
	}
	if s == Continue && t.Spent != "" {
		return Budget, t.Spent + " for one task"
	}
	return "", ""
}

// CheckGuards gives the first guard that has tripped in a history, oldest first, whose last entry is
// the newest validation: the circuit breaker after threshold red ones in a row, a score that
// falls, a rule that stays. guard is "" for none; why is one sentence.
func CheckGuards(h []Entry, threshold int) (guard, why string) {
	switch n := countFailures(h); {
	case n > 0 && n >= threshold:
		return CircuitBreaker, fmt.Sprintf("Circuit breaker tripped after %d consecutive failures. Last failure: %s", n, h[len(h)-1].Failure)
	case hasRegressed(h):
		return QualityRegression, fmt.Sprintf("Quality regression: the score fell over the last %d iterations, from %d to %d.",
			regressionSpan, h[len(h)-regressionSpan].ValidationScore, h[len(h)-1].ValidationScore)
	case isStuck(h):
		return Stuck, fmt.Sprintf("%q came first of the rules that did not pass %d times in a row.", h[len(h)-1].FirstUnmet, stuckSpan)
	}
	return "", ""
}

// lastFailure says why the newest validation was red; "" where it was not.
func lastFailure(h []Entry) string {
	if countFailures(h) == 0 {
		return ""
	}
	return " Last failure: " + h[len(h)-1].Failure
}

// countFailures counts the red validations at the end of a history.
func countFailures(h []Entry) (n int) {
	for _, e := range slices.Backward(h) {
		if e.Passed {
			break
		}
		n++
	}
	return n
}

// hasRegressed reports whether the score fell with each of the last iterations, by more than
// regressionDrop in all.
func hasRegressed(h []Entry) bool {
	if len(h) < regressionSpan {
		return false
	}
	h = h[len(h)-regressionSpan:]
	for i := 1; i < len(h); i++ {
		if h[i].ValidationScore >= h[i-1].ValidationScore {
			return false
		}
	}
	return h[0].ValidationScore-h[len(h)-1].ValidationScore > regressionDrop
}

// isStuck reports whether the same rule came first of those unmet, iteration after iteration.
func isStuck(h []Entry) bool {
	if len(h) < stuckSpan {
		return false
	}
	h = h[len(h)-stuckSpan:]
	return h[0].FirstUnmet != "" && !slices.ContainsFunc(h, func(e Entry) bool { return e.FirstUnmet != h[0].FirstUnmet })
}
