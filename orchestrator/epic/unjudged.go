package epic

import (
	"github.com/beadsorch/orch/orchestrator/iteration"
	"github.com/beadsorch/orch/orchestrator/reason"
)

// An agent_ended without an Outcome is that of a session, which wants its work landed and is not
// judged before the gate is; or an orch wrote it that decided in Apply, by the rules here. They
// stay as they are, since a journal replays to the same state for ever.

// settleUnjudged says what becomes of an attempt whose agent has ended by itself.
func (f AgentEnded) settleUnjudged(t *Task, e Event, limits Limits) {
	a := t.last()
	a.Silent = 0
	switch {
	case f.Signal == SignalBlocked, f.Signal == SignalEscalate:
		t.end(reason.Question, f.Said, e.At)
	case f.Round != nil && !f.Round.Passed:
		f.continueTurn(t, e, limits)
	case t.over(limits.TaskBudget) != "" && (f.Signal == SignalContinue || f.Signal == SignalFresh):
		t.end(reason.Budget, f.Said, e.At)
	case f.Signal == SignalContinue && a.Iteration < limits.iterations(t):
		a.Feedback = f.Said // stays open; Decide starts the next iteration
	case f.Signal == SignalFresh && a.Iteration < limits.iterations(t):
		a.Feedback, a.Session, a.SessionTokens = freshFeedback, "", 0
	case f.Signal == SignalContinue, f.Signal == SignalFresh:
		t.end(reason.MaxIterations, "", e.At)
	case len(f.Unmerged) > 0:
		a.Files = f.Unmerged
		t.end(reason.MergeConflict, f.Said, e.At)
	case !f.Changed:
		t.end(reason.NoChange, f.Said, e.At)
	case limits.needsPromise(t, f.Signal):
		a.Feedback, a.Silent = askFeedback, 1
	default:
		t.move(Queued, e.At)
	}
}

// continueTurn gives an agent the feedback of its rules, for another turn of the same attempt; a
// guard ends one that does not get better.
func (f AgentEnded) continueTurn(t *Task, e Event, limits Limits) {
	a, r := t.last(), f.Round
	guard, why := iteration.CheckGuards(a.Rounds, iteration.DefaultThreshold)
	code := map[string]reason.Code{iteration.CircuitBreaker: reason.CircuitBreaker, iteration.QualityRegression: reason.Regression, iteration.Stuck: reason.Looping}[guard]
	switch {
	case code != "":
		a.Why = why
		t.end(code, r.Feedback, e.At)
	case t.over(limits.TaskBudget) != "":
		t.end(reason.Budget, r.Feedback, e.At)
	case a.Iteration >= limits.iterations(t):
		a.Why = r.Failure
		t.end(reason.MaxIterations, r.Feedback, e.At)
	default:
		a.Feedback = r.Feedback // stays open; Decide starts the next iteration
	}
}

// needsPromise reports whether an agent that ended a turn is asked whether it is done: one that
// promised nothing, in a conversation that can go on, once in a row.
func (l Limits) needsPromise(t *Task, signal string) bool {
	a := t.Last()
	return l.Resumes && signal == "" && !a.InSession && a.Feedback != askFeedback && a.Iteration < l.iterations(t) && t.over(l.TaskBudget) == ""
}

// askFeedback is the prompt of an agent that ended a turn without a promise.
const askFeedback = "You ended without a promise. If the whole task is done and committed, and every check passes, say so as your brief wants it; if you need a person, ask; else go on."

// freshFeedback is the prompt of an agent that continues where a full context ended another.
const freshFeedback = "An earlier session of yours ended since its context was full. What it did is committed in this worktree: begin with git log and git status. If you keep checkpoints: orch checkpoint resume."

// The signals of an agent's promise.
const (
	SignalBlocked  = "BLOCKED"
	SignalEscalate = "ESCALATE"
	SignalContinue = "CONTINUE"
	SignalFresh    = "CHECKPOINT" // its context is full: it goes on in a fresh session
)
