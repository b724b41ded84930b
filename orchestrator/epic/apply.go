package epic

import (
	"maps"
	"slices"
	"time"
)

// NewState is the state before the first event.
func NewState() State { return State{Window: 1, index: map[TaskID]int{}} }

// Apply gives the state after e. It changes nothing of s: what is shared with
// the result is never written again. e must have passed Check.
func Apply(s State, e Event) State {
	if e.Request != "" {
		s = s.take(e)
	}
	switch e.Kind {
	case RunStarted:
		return applyRun(s, e)
	case RunEnded:
		s.Run.Ended, s.Run.Promise = e.At, e.Text
		if e.Text == string(LoopDone) {
			s.Done = s.Tip
		}
	case AnswerStarted, RequestAnswered, CollectStarted, SessionLookStarted, SessionLookEnded:
		return applyRequest(s, e)
	case RequestRefused, LandRequested, NextRequested: // taken above
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
		if s.Moved.Accepted && (e.Land.Passed || s.Run.Limits.AllowRedBase) {
			s.Moved = Moved{}
		}
	case BranchMoved, BranchAccepted, BranchRestored, BranchHeld, TipLookStarted, TipLookEnded, TipSeen, RestoreStarted:
		return applyTip(s, e)
	case MachineFailed:
		return machineFailed(s, e)
	case LandingStarted, LandingConflicted, LandingRefused, CandidateJudged, TaskLanded, LandingLost:
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
		if s.Base == "" || len(s.Landings()) == 0 {
			s.Base = s.Tip
		}
	}
	s.Moved, s.tip = Moved{}, tipState{seen: e.At}
	s.Landing.Lost, s.Landing.NotBefore, s.Landing.Why = 0, time.Time{}, ""
	if s.Gate == GateChecking || s.Gate == GateRed {
		s.Gate = GateUnknown
	}
	s.Into = IntoState{Done: s.Into.Done, Branch: s.Into.Branch}
	s.Cooldown, s.Cooled = time.Time{}, 0
	s.tracker, s.cleans, s.unclean, s.exited = trackerState{}, nil, nil, nil
	s.answering, s.collecting, s.looking, s.looked = "", nil, false, time.Time{}
	s.Wishes = slices.DeleteFunc(slices.Clone(s.Wishes), func(w Wish) bool { return w.Kind == NextRequested }) // who asked a run that is gone asks anew
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

// end ends the open attempt for a reason, at the task's cost where the reason charges it, and
// gives the task back to Decide.
func (t *Task) end(code Code, feedback string, at time.Time) {
	if r, _ := ReasonOf(code); r.Charges {
		t.Charged++
	}
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
	case AttemptCleaned:
		if e.Reason != "" { // it could not be: the next run tries again
			s.unclean = with(s.unclean, e.Task)
			return s
		}
	case AgentExited:
		s.exited = with(s.exited, e.Task)
		return s
	case TaskParked:
		return park(s, e)
	case TaskSkipped, TaskFound:
		s = s.dequeue(e.Task)
	case TaskAccepted:
		return accept(s, e)
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
			if t.Last().Open() {
				t.last().Ended, t.last().Agent = e.At, false
			}
			t.Commit, t.Code, t.Why = e.Land.Commits[0], "", ""
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
				t.end(AgentCrashed, "", e.At)
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

func park(s State, e Event) State {
	if r, _ := ReasonOf(e.Code); r.Failure {
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
