package epic

import (
	"slices"
	"time"
)

// maxWindow is how many candidates are gated together at most.
const maxWindow = 16

// landingBackOff is the first wait after a landing that git, or another writer
// of the branch, made fail; it doubles.
const landingBackOff = 50 * time.Millisecond

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
	case LandingRefused:
		s.Landing.Tasks = slices.DeleteFunc(slices.Clone(s.Landing.Tasks), func(id TaskID) bool { return id == e.Task })
		return s.edit(e.Task, func(t *Task) {
			t.end(e.Code, e.Text, e.At)
			t.last().Why, t.last().Files = e.Reason, e.Files
		})
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

// accept puts a parked attempt back into the queue: a person has seen exactly this commit.
func accept(s State, e Event) State {
	return s.edit(e.Task, func(t *Task) {
		a := t.last()
		a.Ended, a.Failure, a.Feedback, a.Why, a.Files, a.Accepted = time.Time{}, "", "", "", nil, a.Head
		t.Code, t.Why = "", ""
	}).toQueue(e.Task, e.At)
}

// conflict gives a conflicting attempt back to its agent once; the second time
// the attempt has failed.
func conflict(t *Task, e Event, limits Limits) {
	a := t.last()
	seen := a.Conflict != ""
	a.Files, a.Conflict, a.Feedback = e.Files, e.Land.Old, e.Text
	if seen || a.Iteration >= limits.iterations(t) || t.over(limits.TaskBudget) != "" {
		t.end(MergeConflict, e.Text, e.At)
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
		t.end(GateFailed, e.Text, e.At)
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
	s = s.machineWorks()
	s.Tip = e.Land.Commits[len(e.Land.Commits)-1]
	s.tip = tipState{seen: e.At}
	if s.Moved.Accepted { // the gate has judged all of it
		s.Moved = Moved{}
	}
	s.Landing, s.Run.Failures = Landing{}, 0
	s.Window = min(s.Window*2, maxWindow)
	s.tracker.stale = true
	s.Gate = GateGreen
	return s
}
