package epic

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/beadsorch/orch/orchestrator/reason"
	"github.com/beadsorch/orch/orchestrator/text"
	"github.com/beadsorch/orch/orchestrator/tracker"
)

// parks sets aside what has no attempt left, what asks, and what a person has
// taken out of orch's hands.
func parks(s State, _ *clock) (ds []Decision) {
	if s.Holder() != "" {
		return nil // how its tasks stand is the concern of the clone that has the epic
	}
	for _, t := range s.Tasks {
		code, why := s.mustPark(t)
		if code == "" {
			continue
		}
		ds = append(ds, Decision{Event: Event{Fact: TaskParked{}, Task: t.ID, Attempt: t.Last().Number, Code: code, Reason: why}})
	}
	return ds
}

// mustPark is the code and the reason that a task is parked for; the code is "" for one that is not.
func (s State) mustPark(t *Task) (reason.Code, string) {
	switch t.State {
	case Queued:
		return s.mustParkQueued(t)
	case Waiting:
		return s.mustParkWaiting(t)
	}
	return "", ""
}

// mustParkQueued parks work that is not to land any more.
func (s State) mustParkQueued(t *Task) (reason.Code, string) {
	taken := s.takenOut(t)
	switch {
	case t.Deleted:
		return reason.TrackerDrift, "deleted from the tracker while orch worked on it; its commits are kept"
	case t.Elsewhere:
		return reason.LandedElsewhere, s.Missing(t) + "; what was done here is kept"
	case taken != "":
		return reason.TrackerDrift, taken + " while orch worked on it; its commits are kept"
	}
	return "", ""
}

// mustParkWaiting parks a task that is not to be begun again.
func (s State) mustParkWaiting(t *Task) (reason.Code, string) {
	a := t.Last()
	unseen := a.Number > 0 && !t.Since.After(a.Ended) // failed, and nothing has been decided since
	switch {
	case t.parkedBefore():
		return parkedFor(t.Parked)
	case unseen && a.Failure == reason.Question:
		return reason.Question, text.FirstLine(a.Feedback, "the agent asked for a person and gave no reason")
	case unseen && a.Failure == reason.Protected:
		return reason.Protected, a.Why
	case unseen && a.Failure == reason.WorkRefused:
		return reason.WorkRefused, a.Why
	case unseen && guards(a.Failure):
		return a.Failure, cmp.Or(a.Why, a.Failure.Means())
	case a.Number > 0 && t.over(s.Run.Limits.TaskBudget) != "":
		return reason.Budget, t.over(s.Run.Limits.TaskBudget) + " for one task"
	case t.Charged >= max(1, s.Run.Limits.Attempts):
		return a.Failure, attemptsUsed(t)
	case a.Number == 0 && s.abandonedByNobody(t), a.Number == 0 && s.leftByAnother(t) && s.holdsEpic() && !s.confirming():
		return reason.Orphaned, exitedWithoutCompleting
	}
	return "", ""
}

// parkedNote is the note in the tracker of a task that is parked.
func parkedNote(code reason.Code, why string) string { return fmt.Sprintf("[%s] %s", code, why) }

// parkedBy is the last line of an issue's notes, where that is a parkedNote; else "".
func parkedBy(notes string) string {
	notes = strings.TrimSpace(notes)
	note := text.Clause(notes[strings.LastIndex(notes, "\n")+1:], 1000)
	if code, _ := parkedFor(note); code == "" {
		return ""
	}
	return note
}

// parkedFor is the code and the reason of a parkedNote; the code is "" for what is none.
func parkedFor(note string) (code reason.Code, why string) {
	word, why, _ := strings.Cut(strings.TrimPrefix(note, "["), "]")
	if r, known := reason.Of(reason.Code(word)); !strings.HasPrefix(note, "[") || !known || !r.Blocks {
		return "", ""
	}
	return reason.Code(word), strings.TrimSpace(why)
}

// parkedBefore reports whether the tracker alone knows that an orch has parked the task: the journal which
// knew is lost.
func (t *Task) parkedBefore() bool {
	return t.State == Waiting && len(t.Attempts) == 0 && t.Status == statusBlocked && t.Written == "" && t.Parked != "" && t.Dispatchable()
}

// guards reports whether an attempt that ended for a code was ended by a guard, and is not tried again.
func guards(c reason.Code) bool {
	switch c {
	case reason.MaxIterations, reason.CircuitBreaker, reason.QualityRegression, reason.Stuck, reason.Regression, reason.Looping:
		return true
	}
	return false // a budget that is used up parks the task whatever ended its attempt
}

// exitedWithoutCompleting is the note on a task that is in progress in the
// tracker while no worktree, no process and no attempt of it exists.
const exitedWithoutCompleting = "Agent exited without completing"

// takenOver reports whether a waiting task is to be begun anew: it was in the hands of the clone that the
// epic was taken from.
func (s State) takenOver(t *Task) bool { return t.State == Waiting && s.taking(t) }

// taking reports whether the tracker says that a task is at the orch of another clone, which a person has
// said is gone, and does not refuse to say otherwise.
func (s State) taking(t *Task) bool {
	return s.takesOver() && s.anothers(t) && s.tracker.refused[refusal{t.ID, string(tracker.SetStatus)}] == ""
}

// leftByAnother reports whether a waiting task is in progress under the name of another orch, from which
// no person has taken the epic. Once the epic is held here, that orch is gone.
func (s State) leftByAnother(t *Task) bool {
	return t.State == Waiting && t.Last().Number == 0 && s.anothers(t) && actorEpic(t.Assignee) == s.Epic && !s.takesOver()
}

// takesOver reports whether a person has said that the clone which had the epic is gone: to this run, or to one
// before it that has not given the epic back.
func (s State) takesOver() bool { return s.Run.Limits.TakeOver || s.tookOver && s.holdsEpic() }

// abandonedByNobody reports whether a waiting task is in progress in the tracker without anybody's name.
func (s State) abandonedByNobody(t *Task) bool {
	return t.State == Waiting && t.Dispatchable() && t.Status == statusInProgress && t.Assignee == "" && (s.epicOurs() || s.closedEpic())
}

// closedEpic reports whether the tracker has the epic as closed.
func (s State) closedEpic() bool {
	t := s.Task(s.Epic)
	return t != nil && !t.Deleted && t.Status == statusClosed
}

// anothers reports whether the tracker says that a task is in the hands of an orch that is not this one.
func (s State) anothers(t *Task) bool {
	return t.Dispatchable() && t.Status == statusInProgress && t.Assignee != s.Run.Limits.Actor && strings.HasPrefix(t.Assignee, ActorPrefix)
}

// ActorPrefix begins the name under which any orch claims tasks.
const ActorPrefix = "orch/"

func attemptsUsed(t *Task) string {
	a := t.Last()
	tries := fmt.Sprintf("after %d attempts", t.Charged)
	if t.Charged == 1 {
		tries = "after 1 attempt"
	}
	switch a.Failure {
	case reason.MergeConflict:
		return fmt.Sprintf("conflict in %s %s", FirstOf(a.Files), tries)
	case reason.NoChange:
		why := "the agent ended without changing anything, " + tries
		if a.Why != "" {
			why += ": " + text.FirstLine(a.Why, "")
		}
		return why
	case reason.GateFailed:
		return fmt.Sprintf("gate red %s: %s", tries, text.FirstLine(a.Why, "no output"))
	}
	return fmt.Sprintf("%s, %s", text.FirstLine(a.Why, a.Failure.Means()), tries)
}
