package epic

import (
	"slices"
	"time"

	"github.com/beadsorch/orch/orchestrator/iteration"
)

// fastExitWindow is how long a fast exit counts for the breaker.
const fastExitWindow = 60 * time.Second

func startAttempt(s State, e Event) State {
	if !e.Agent.InSession {
		s.Run.Iterations++
	}
	if e.Request != "" {
		s = s.granted(e)
	}
	return s.edit(e.Task, func(t *Task) {
		t.Attempts = append(t.Attempts, Attempt{
			Number: e.Attempt, Iteration: 1, Base: e.Agent.Base, Started: e.At,
			Agent: true, Session: e.Agent.Session, InSession: e.Agent.InSession, Holder: e.Agent.Holder,
		})
		t.move(Running, e.At)
	})
}

// endAgent applies the end of an agent process: on into the queue, or the
// attempt has failed, or it was not the attempt's fault.
func endAgent(s State, e Event) State {
	a := e.Agent
	s.Run.add(a.Usage)
	s.exited, s.collecting = without(s.exited, e.Task), without(s.collecting, e.Task)
	s.tip.fresh = false
	if a.End == EndedMachine {
		s = machineFailed(s, e)
	}
	if a.End == EndedItself {
		s = s.machineWorks()
		s.Run.GoodEnds++
		s.Run.FastExits, s.Run.Probing, s.Cooled = nil, false, 0
	}
	s = cool(s, e)
	if a.Fast && (s.Run.GoodEnds == 0 || a.End == EndedNoStart) {
		recent := slices.DeleteFunc(slices.Clone(s.Run.FastExits), func(f FastExit) bool { return e.At.Sub(f.At) > fastExitWindow })
		s.Run.FastExits = append(recent, FastExit{Task: e.Task, At: e.At, Why: e.Reason})
	}
	s.tracker.stale = true
	s = s.edit(e.Task, func(t *Task) { endAttempt(t, e, s.Run.Limits) })
	if s.Task(e.Task).State == Queued {
		s.Queue = append(slices.Clone(s.Queue), e.Task)
	}
	return s
}

// cool lets the whole pool wait when the client's service asks for it. Agents
// that were told so at the same time make one cool-down, not several.
func cool(s State, e Event) State {
	if e.Agent.End != EndedLimit && e.Agent.End != EndedUsage {
		return s
	}
	wait := e.Agent.RetryAfter
	if wait <= 0 {
		wait = s.Run.Limits.PoolBackOff << min(s.Cooled, 5)
	}
	if !e.At.Before(s.Cooldown) {
		s.Cooled++
	}
	if until := e.At.Add(wait); until.After(s.Cooldown) {
		s.Cooldown, s.Cooling = until, e.Reason
	}
	return s
}

// openBreaker charges nobody for an agent that does not start, and has one
// agent probe before all others.
func openBreaker(s State, e Event) State {
	for _, f := range s.Run.FastExits {
		s = s.edit(f.Task, func(t *Task) {
			if t.State == Parked && t.Code == AgentCrashed || t.State == Waiting {
				t.release(e.At)
			}
		})
	}
	s.Run.Probing, s.Run.Failures = true, 0
	s.Cooldown, s.Cooling = e.Until, e.Reason
	return s
}

func endAttempt(t *Task, e Event, limits Limits) {
	a, got := t.last(), e.Agent
	a.Agent, a.Worked = false, a.Worked+got.Took
	if got.Head != "" {
		a.Head = got.Head
	}
	a.Why = e.Reason
	if got.Session != "" && got.Session != a.Session {
		a.Session, a.Counted = got.Session, 0
	}
	a.Counted += got.Tokens
	a.add(got.Usage)
	t.add(got.Usage)
	if e.Round != nil {
		a.Rounds = append(slices.Clone(a.Rounds), e.Round.Entry)
	}
	switch {
	case got.End == EndedStopped, t.State == Skipped:
		t.end(Orphaned, "", e.At)
	case got.End == EndedMachine:
		t.end(Machine, "", e.At)
		t.NotBefore = e.At.Add(machineBackOff)
	case e.Code == TooLarge:
		t.end(TooLarge, e.Text, e.At)
	case got.End == EndedLimit, got.End == EndedUsage, got.End == EndedAuth, got.End == EndedDisk:
		t.end(e.Code, "", e.At)
	case got.End == EndedTime, got.End == EndedIdle:
		t.end(NoProgress, e.Reason, e.At)
	case got.End == EndedCrash, got.End == EndedNoStart:
		t.end(AgentCrashed, e.Reason, e.At)
		t.NotBefore = e.At.Add(limits.CrashBackOff << min(t.Charged-1, 6))
	case got.Signal == SignalBlocked, got.Signal == SignalEscalate:
		t.end(Question, e.Text, e.At)
	case e.Round != nil && !e.Round.Passed:
		goOn(t, e, limits)
	case t.over(limits.TaskBudget) != "" && (got.Signal == SignalContinue || got.Signal == SignalFresh):
		t.end(Budget, e.Text, e.At)
	case got.Signal == SignalContinue && a.Iteration < limits.iterations(t):
		a.Feedback = e.Text // stays open; Decide starts the next iteration
	case got.Signal == SignalFresh && a.Iteration < limits.iterations(t):
		a.Feedback, a.Session, a.Counted = freshFeedback, "", 0
	case got.Signal == SignalContinue, got.Signal == SignalFresh:
		t.end(MaxIterations, "", e.At)
	case len(got.Unmerged) > 0:
		a.Files = got.Unmerged
		t.end(MergeConflict, e.Text, e.At)
	case !got.Changed:
		t.end(NoChange, e.Text, e.At)
	case limits.asks(t, got.Signal):
		a.Feedback = askFeedback
	default:
		t.move(Queued, e.At)
	}
}

// goOn gives an agent the feedback of its rules, for another turn of the same attempt; a
// guard ends one that does not get better.
func goOn(t *Task, e Event, limits Limits) {
	a, r := t.last(), e.Round
	guard, why := iteration.Trip(a.Rounds, iteration.DefaultThreshold)
	code := map[string]Code{iteration.CircuitBreaker: CircuitBreaker, iteration.QualityRegression: Regression, iteration.Stuck: Looping}[guard]
	switch {
	case code != "":
		a.Why = why
		t.end(code, r.Feedback, e.At)
	case t.over(limits.TaskBudget) != "":
		t.end(Budget, r.Feedback, e.At)
	case a.Iteration >= limits.iterations(t):
		a.Why = r.Failure
		t.end(MaxIterations, r.Feedback, e.At)
	default:
		a.Feedback = r.Feedback // stays open; Decide starts the next iteration
	}
}

// asks reports whether an agent that ended a turn is asked whether it is done: one that
// promised nothing, in a conversation that can go on, once in a row.
func (l Limits) asks(t *Task, signal string) bool {
	a := t.Last()
	return l.Resumes && signal == "" && !a.InSession && a.Feedback != askFeedback && a.Iteration < l.iterations(t) && t.over(l.TaskBudget) == ""
}

// askFeedback is what an agent is told that ended a turn without a promise.
const askFeedback = "You ended without a promise. If the whole task is done and committed, and every check passes, say so as your brief wants it; if you need a person, ask; else go on."

// freshFeedback is what an agent is told that goes on where a full context ended another.
const freshFeedback = "An earlier session of yours ended since its context was full. What it did is committed in this worktree: begin with git log and git status. If you keep checkpoints: orch checkpoint resume."
