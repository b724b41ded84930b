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

func (s State) mustPark(t *Task) (reason.Code, string) {
	a := t.Last()
	unseen := t.State == Waiting && a.Number > 0 && !t.Since.After(a.Ended) // failed, and nothing has been decided since
	switch {
	case t.State == Queued && t.Deleted:
		return reason.TrackerDrift, "deleted from the tracker while orch worked on it; its commits are kept"
	case t.State == Queued && t.Elsewhere:
		return reason.LandedElsewhere, t.Missing() + "; what was done here is kept"
	case t.State == Queued && s.mustStop(t) != "":
		return reason.TrackerDrift, s.mustStop(t) + " while orch worked on it; its commits are kept"
	case unseen && a.Failure == reason.Question:
		return reason.Question, text.FirstLine(a.Feedback, "the agent asked for a person and gave no reason")
	case unseen && a.Failure == reason.Protected:
		return reason.Protected, a.Why
	case unseen && guards(a.Failure):
		return a.Failure, cmp.Or(a.Why, a.Failure.Means())
	case t.State == Waiting && a.Number > 0 && t.over(s.Run.Limits.TaskBudget) != "":
		return reason.Budget, t.over(s.Run.Limits.TaskBudget) + " for one task"
	case t.State == Waiting && t.Charged >= max(1, s.Run.Limits.Attempts):
		return a.Failure, attemptsUsed(t)
	case a.Number == 0 && s.abandonedByNobody(t), a.Number == 0 && s.leftByAnother(t) && s.holdsEpic():
		return reason.Orphaned, exitedWithoutCompleting
	}
	return "", ""
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
	return t.State == Waiting && t.Last().Number == 0 && s.anothers(t) && !s.takesOver()
}

// takesOver reports whether a person has said that the clone which had the epic is gone: to this run, or to one
// before it that has not given the epic back.
func (s State) takesOver() bool { return s.Run.Limits.TakeOver || s.tookOver && s.holdsEpic() }

// abandonedByNobody reports whether a waiting task is in progress in the tracker without anybody's name.
func (s State) abandonedByNobody(t *Task) bool {
	return t.State == Waiting && t.Dispatchable() && t.Status == statusInProgress && t.Assignee == "" && s.epicOurs()
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
		return "the agent ended without changing anything, " + tries
	case reason.GateFailed:
		return fmt.Sprintf("gate red %s: %s", tries, text.FirstLine(a.Why, "no output"))
	}
	return fmt.Sprintf("%s, %s", text.FirstLine(a.Why, a.Failure.Means()), tries)
}
