package core

import (
	"maps"
	"slices"
	"time"

	"github.com/beadsorch/orch/orchestrator/iteration"
)

// maxWindow is how many candidates are gated together at most.
const maxWindow = 16

// landingBackOff is the first wait after a landing that git, or another writer
// of the branch, made fail; it doubles.
const landingBackOff = 50 * time.Millisecond

// fastExitWindow is how long a fast exit counts for the breaker.
const fastExitWindow = 60 * time.Second

// NewState is the state before the first event.
func NewState() State { return State{Window: 1, index: map[TaskID]int{}} }

// Apply gives the state after e. It changes nothing of s: what is shared with
// the result is never written again. e must have passed Check.
func Apply(s State, e Event) State {
	switch e.Kind {
	case RunStarted:
		return applyRun(s, e)
	case RunEnded:
		s.Run.Ended, s.Run.Promise = e.At, e.Text
	case DrainStarted:
		if s.Run.Drain == "" {
			s.Run.Drain, s.Run.DrainWhy = e.Code, e.Reason
		}
	case KillStarted:
		s.Run.Kill = true
	case RunPaused, RunContinued:
		s.Run.Paused = e.Kind == RunPaused
	case TrackerRead, TrackerWritten, TrackerBusy, TrackerFailed:
		return applyTracker(s, e)
	case BaseCheckStarted:
		s.Gate = GateChecking
	case BaseChecked:
		s.Gate = GateGreen
		if !e.Land.Passed {
			s.Gate = GateRed
		}
	case LandingStarted, LandingConflicted, CandidateJudged, TaskLanded, LandingLost:
		return applyLanding(s, e)
	case BreakerOpened:
		return openBreaker(s, e)
	case MetaWanted:
		s.Meta = "wanted"
	case MetaFiled:
		s.Meta = e.Text
	case MoveStarted:
		s.Landing.Moving = true
	case IntoStarted:
		s.Into = IntoState{Busy: true}
	case EpicLandedInto:
		s.Into = IntoState{Done: e.Land.Commits[0], Branch: e.Reason}
	case EpicNotLanded:
		s.Into = IntoState{Why: e.Reason}
	default:
		return applyTask(s, e)
	}
	return s
}

func applyRun(s State, e Event) State {
	s.Epic, s.Run = e.Epic, *e.Run
	s.Run.Started = e.At
	if e.Land != nil {
		s.Tip = e.Land.Commits[0]
		if s.Base == "" {
			s.Base = s.Tip
		}
	}
	if s.Gate == GateChecking || s.Gate == GateRed {
		s.Gate = GateUnknown
	}
	s.Into = IntoState{Done: s.Into.Done, Branch: s.Into.Branch}
	s.Cooldown, s.Cooled = time.Time{}, 0
	s.tracker, s.cleans, s.exited = trackerState{}, nil, nil
	return s
}

// put returns s with t in place of the task of its id.
func (s State) put(t Task) State {
	s.Tasks = slices.Clone(s.Tasks)
	s.Tasks[s.index[t.ID]] = &t
	return s
}

// edit returns s with change applied to a copy of the task.
func (s State) edit(id TaskID, change func(*Task)) State {
	t := *s.Task(id)
	t.Attempts = slices.Clone(t.Attempts)
	change(&t)
	return s.put(t)
}

// move sets the state of a task, and since when.
func (t *Task) move(to TaskState, at time.Time) {
	if t.State != to {
		t.State, t.Since = to, at
	}
}

// last is the newest attempt, to be changed; only inside edit.
func (t *Task) last() *Attempt { return &t.Attempts[len(t.Attempts)-1] }

// fail ends the open attempt at the task's cost, and gives the task back to Decide.
func (t *Task) fail(code Code, feedback string, at time.Time) {
	t.end(code, feedback, at)
	t.Charged++
}

// end ends the open attempt at nobody's cost.
func (t *Task) end(code Code, feedback string, at time.Time) {
	a := t.last()
	a.Ended, a.Agent, a.Failure, a.Feedback = at, false, code, feedback
	if t.State == Skipped {
		return
	}
	t.move(Waiting, at)
	t.leave(at)
}

// leave gives up a task that a person closed meanwhile.
func (t *Task) leave(at time.Time) {
	if t.closed() && t.Told != statusClosed {
		t.Why = "closed in the tracker by a person"
		t.move(Skipped, at)
	}
}

func applyTask(s State, e Event) State {
	switch e.Kind {
	case AttemptStarted:
		return startAttempt(s, e)
	case AgentEnded:
		return endAgent(s, e)
	case CleanStarted:
		s.cleans = with(s.cleans, e.Task)
		return s
	case AgentExited:
		s.exited = with(s.exited, e.Task)
		return s
	case TaskParked:
		return park(s, e)
	case IterationStarted:
		s.Run.Iterations++
	}
	if e.Task == "" {
		return s // leftover_found
	}
	return s.edit(e.Task, func(t *Task) {
		switch e.Kind {
		case IterationStarted:
			a := t.last()
			a.Iteration, a.Agent = e.Agent.Iteration, true
			t.move(Running, e.At)
		case AttemptHanded:
			t.last().Handed = true
		case AttemptStopped:
			t.last().Stopping = true
		case AttemptLost:
			t.last().Head = e.Agent.Head
			t.end(Orphaned, e.Reason, e.At)
		case AttemptCleaned:
			if len(t.Attempts) > 0 {
				t.last().Cleaned = true
			}
		case TaskFound:
			t.Commit = e.Land.Commits[0]
			t.move(Landed, e.At)
		case TaskLimited:
			t.Limit = e.Agent.Iteration
		case TaskRetried:
			t.release(e.At)
			if e.Text != "" {
				t.Hints = append(slices.Clone(t.Hints), e.Text)
			}
		case TaskSkipped:
			t.Give, t.Code, t.Why = e.Text, "", e.Reason
			t.move(Skipped, e.At)
		case WorkerPanicked:
			if t.Last().Open() {
				t.fail(AgentCrashed, "", e.At)
			}
		}
	})
}

// with is a copy of a set that has id too.
func with(set map[TaskID]bool, id TaskID) map[TaskID]bool {
	more := map[TaskID]bool{id: true}
	maps.Copy(more, set)
	return more
}

// without is a copy of a set that has not id.
func without(set map[TaskID]bool, id TaskID) map[TaskID]bool {
	less := maps.Clone(set)
	delete(less, id)
	return less
}

// release gives a parked or skipped task a fresh start.
func (t *Task) release(at time.Time) {
	t.Charged, t.Usage, t.Code, t.Why, t.Give, t.NotBefore = 0, Usage{}, "", "", "", time.Time{}
	t.move(Waiting, at)
}

func startAttempt(s State, e Event) State {
	if s.Run.Mode != Hand {
		s.Run.Iterations++
	}
	return s.edit(e.Task, func(t *Task) {
		t.Attempts = append(t.Attempts, Attempt{
			Number: e.Attempt, Iteration: 1, Base: e.Agent.Base, Started: e.At,
			Agent: true, Session: e.Agent.Session, InSession: e.Agent.InSession,
		})
		t.move(Running, e.At)
	})
}

func park(s State, e Event) State {
	if failure(e.Code) {
		s.Run.Failures++
	}
	s = s.dequeue(e.Task)
	return s.edit(e.Task, func(t *Task) {
		if t.Last().Open() {
			t.last().Ended, t.last().Agent = e.At, false
		}
		t.Code, t.Why = e.Code, e.Reason
		t.move(Parked, e.At)
	})
}

// failure reports whether a task parked for this reason counts as a failure of
// the work, as against a question or a fact about the tracker.
func failure(c Code) bool {
	switch c {
	case GateFailed, MergeConflict, NoChange, NoProgress, AgentCrashed, MaxIterations:
		return true
	}
	return false
}

// endAgent applies the end of an agent process: on into the queue, or the
// attempt has failed, or it was not the attempt's fault.
func endAgent(s State, e Event) State {
	a := e.Agent
	s.Run.add(a.Usage)
	s.exited = without(s.exited, e.Task)
	if a.End == EndedItself {
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
	case got.End == EndedLimit, got.End == EndedUsage, got.End == EndedAuth, got.End == EndedDisk:
		t.end(e.Code, "", e.At)
	case got.End == EndedTime, got.End == EndedIdle:
		t.fail(NoProgress, e.Reason, e.At)
	case got.End == EndedCrash, got.End == EndedNoStart:
		t.fail(AgentCrashed, e.Reason, e.At)
		t.NotBefore = e.At.Add(limits.CrashBackOff << min(t.Charged-1, 6))
	case got.Signal == SignalBlocked, got.Signal == SignalEscalate:
		t.end(Question, e.Text, e.At)
	case e.Round != nil && !e.Round.Passed:
		goOn(t, e, limits)
	case t.over(limits.TaskBudget) != "" && (got.Signal == SignalContinue || got.Signal == SignalFresh):
		t.fail(Budget, e.Text, e.At)
	case got.Signal == SignalContinue && a.Iteration < limits.iterations(t):
		a.Feedback = e.Text // stays open; Decide starts the next iteration
	case got.Signal == SignalFresh && a.Iteration < limits.iterations(t):
		a.Feedback, a.Session, a.Counted = freshFeedback, "", 0
	case got.Signal == SignalContinue, got.Signal == SignalFresh:
		t.fail(MaxIterations, "", e.At)
	case len(got.Unmerged) > 0:
		a.Files = got.Unmerged
		t.fail(MergeConflict, e.Text, e.At)
	case !got.Changed:
		t.fail(NoChange, e.Text, e.At)
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
		t.fail(code, r.Feedback, e.At)
	case t.over(limits.TaskBudget) != "":
		t.fail(Budget, r.Feedback, e.At)
	case a.Iteration >= limits.iterations(t):
		a.Why = r.Failure
		t.fail(MaxIterations, r.Feedback, e.At)
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

func (s State) dequeue(ids ...TaskID) State {
	s.Queue = slices.DeleteFunc(slices.Clone(s.Queue), func(id TaskID) bool { return slices.Contains(ids, id) })
	return s
}

func applyLanding(s State, e Event) State {
	switch e.Kind {
	case LandingStarted:
		s.Landing = Landing{Tasks: e.Land.Tasks, Old: e.Land.Old, Lost: s.Landing.Lost}
		for _, id := range e.Land.Tasks {
			s = s.edit(id, func(t *Task) { t.move(Validating, e.At) })
		}
		return s.dequeue(e.Land.Tasks...)
	case LandingConflicted:
		s.Landing.Tasks = slices.DeleteFunc(slices.Clone(s.Landing.Tasks), func(id TaskID) bool { return id == e.Task })
		return s.edit(e.Task, func(t *Task) { conflict(t, e, s.Run.Limits) })
	case CandidateJudged:
		return judge(s, e)
	case TaskLanded:
		return landed(s, e)
	}
	s.Landing.Lost++ // landing_lost
	s = s.requeue(e.At)
	s.Landing.NotBefore, s.Landing.Why = e.At.Add(landingBackOff<<min(s.Landing.Lost-1, 8)), e.Reason
	return s
}

// conflict gives a conflicting attempt back to its agent once; the second time
// the attempt has failed.
func conflict(t *Task, e Event, limits Limits) {
	a := t.last()
	seen := a.Conflict != ""
	a.Files, a.Conflict, a.Feedback = e.Files, e.Land.Old, e.Text
	if seen || a.Iteration >= limits.iterations(t) || t.over(limits.TaskBudget) != "" {
		t.fail(MergeConflict, e.Text, e.At)
		return
	}
	t.move(Running, e.At) // without an agent: Decide starts the next iteration
	if a.InSession {
		a.Agent, a.Iteration = true, a.Iteration+1
	}
}

// judge applies the gate's word on a stack of candidates. A green stack may
// move the branch. A red stack is taken apart; a red single task has failed.
func judge(s State, e Event) State {
	stays := e.Land.Tasks
	for _, id := range s.Landing.Tasks { // left out of the stack: they conflicted with something not yet landed
		if !slices.Contains(stays, id) {
			s = s.toQueue(id, e.At)
		}
	}
	s.Landing.Tasks, s.Landing.Old = stays, e.Land.Old
	if e.Land.Passed || len(stays) == 1 {
		for _, id := range stays {
			s = s.edit(id, func(t *Task) { t.last().Gate = e.Land.Rules })
		}
	}
	if e.Land.Passed {
		s.Landing.Commits = e.Land.Commits
		return s
	}
	if len(stays) > 1 {
		s.Window = len(stays) / 2
		return s.requeue(e.At)
	}
	s.Landing, s.Window = Landing{}, 1
	if len(stays) == 0 {
		return s
	}
	return s.edit(stays[0], func(t *Task) {
		t.fail(GateFailed, e.Text, e.At)
		t.last().Why = e.Reason
	})
}

func (s State) toQueue(id TaskID, at time.Time) State {
	s = s.edit(id, func(t *Task) { t.move(Queued, at) })
	s.Queue = append(slices.Clone(s.Queue), id)
	return s
}

// requeue puts what was being landed back to the front of the queue.
func (s State) requeue(at time.Time) State {
	for _, id := range s.Landing.Tasks {
		s = s.edit(id, func(t *Task) { t.move(Queued, at) })
	}
	s.Queue = append(slices.Clone(s.Landing.Tasks), s.Queue...)
	s.Landing = Landing{Lost: s.Landing.Lost}
	return s
}

func landed(s State, e Event) State {
	for i, id := range e.Land.Tasks {
		s = s.edit(id, func(t *Task) {
			t.last().Ended = e.At
			t.Commit, t.Code, t.Why = e.Land.Commits[i], "", ""
			t.move(Landed, e.At)
		})
	}
	s.Tip = e.Land.Commits[len(e.Land.Commits)-1]
	s.Landing, s.Run.Failures = Landing{}, 0
	s.Window = min(s.Window*2, maxWindow)
	s.tracker.stale = true
	if s.Gate != GateGreen {
		s.Gate = GateGreen
	}
	return s
}
