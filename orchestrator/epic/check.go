package epic

import (
	"errors"
	"fmt"
	"slices"
)

// ErrForbidden is what Check's errors wrap: an event that the state does not
// allow. In a journal it means that the journal was edited or belongs to another
// epic; from the loop itself it is a bug.
var ErrForbidden = errors.New("event not allowed here")

// Check says whether e may follow s. Its errors wrap ErrForbidden.
func Check(s State, e Event) error {
	if what := missing(e); what != "" {
		return forbid(e, "it names no %s", what)
	}
	if err := checkRun(s, e); err != nil {
		return err
	}
	if e.Task == "" {
		return nil
	}
	t := s.Task(e.Task)
	if t == nil {
		return forbid(e, "task %s is not known", e.Task)
	}
	return checkTask(s, t, e)
}

// missing is the part that an event of its kind has to have, and e has not.
func missing(e Event) string {
	switch e.Kind {
	case AttemptStarted, IterationStarted, AgentEnded, AttemptLost:
		if e.Task == "" || e.Agent == nil {
			return "task and agent"
		}
	case TaskLimited:
		if e.Task == "" || e.Agent == nil || e.Agent.Iteration < 1 {
			return "task and number of iterations"
		}
	case AttemptHanded, AttemptStopped, AttemptCleaned, AgentExited, CleanStarted, TaskParked, TaskRetried, TaskSkipped, TaskAccepted, LandingRefused:
		if e.Task == "" {
			return "task"
		}
	case LandRequested:
		if e.Task == "" || e.Request == "" {
			return "task and request"
		}
	case NextRequested:
		if e.Agent == nil || e.Request == "" {
			return "session and request"
		}
	case RequestAnswered:
		if e.Request == "" {
			return "request"
		}
	case LandingConflicted, TaskFound:
		if e.Task == "" || e.Land == nil || e.Kind == TaskFound && len(e.Land.Commits) == 0 {
			return "task and landing"
		}
	case TrackerRead:
		if e.Read == nil {
			return "reading"
		}
	case LandingStarted:
		if e.Land == nil || len(e.Land.Tasks) == 0 {
			return "tasks to land"
		}
	case BaseChecked, CandidateJudged:
		if e.Land == nil {
			return "verdict"
		}
	case EpicLandedInto:
		if e.Land == nil || len(e.Land.Commits) == 0 {
			return "commit"
		}
	}
	return ""
}

func forbid(e Event, format string, args ...any) error {
	return fmt.Errorf("%s: %s: %w", e.Kind, fmt.Sprintf(format, args...), ErrForbidden)
}

func checkRun(s State, e Event) error {
	switch e.Kind {
	case RunStarted:
		if e.Run == nil || e.Epic == "" || e.Land != nil && len(e.Land.Commits) == 0 {
			return forbid(e, "it names no epic, or no commit of it")
		}
		if s.Epic != "" && s.Epic != e.Epic {
			return forbid(e, "the journal belongs to epic %s, not %s", s.Epic, e.Epic)
		}
		if e.Run.Number != s.Run.Number+1 {
			return forbid(e, "run %d follows run %d", e.Run.Number, s.Run.Number)
		}
	case LandingStarted:
		if len(s.Landing.Tasks) > 0 {
			return forbid(e, "another landing is under way")
		}
		for _, id := range e.Land.Tasks {
			if t := s.Task(id); t == nil || t.State != Queued {
				return forbid(e, "task %s is not queued", id)
			}
		}
	case CandidateJudged:
		for _, id := range e.Land.Tasks {
			if !slices.Contains(s.Landing.Tasks, id) {
				return forbid(e, "task %s is not being landed", id)
			}
		}
	case TaskLanded:
		return checkLanded(s, e)
	case BranchMoved, BranchAccepted, BranchRestored:
		return checkTip(s, e)
	default:
		if s.Run.Number == 0 {
			return forbid(e, "no run has started")
		}
	}
	return nil
}

// checkLanded holds P1: nothing lands without a green verdict on that very
// commit, and nothing lands twice.
func checkLanded(s State, e Event) error {
	if e.Land == nil || len(e.Land.Tasks) == 0 || len(e.Land.Tasks) != len(e.Land.Commits) {
		return forbid(e, "it names no commit for each task")
	}
	for i, id := range e.Land.Tasks {
		t := s.Task(id)
		switch {
		case t == nil:
			return forbid(e, "task %s is not known", id)
		case t.State == Landed:
			return forbid(e, "task %s has landed already", id)
		case !s.judged(id, e.Land.Commits[i]):
			return forbid(e, "no green verdict on %s of task %s", e.Land.Commits[i], id)
		}
	}
	return nil
}

// judged reports whether commit is the candidate of the task that the gate passed.
func (s State) judged(id TaskID, commit Commit) bool {
	for i, task := range s.Landing.Tasks {
		if task == id && i < len(s.Landing.Commits) && s.Landing.Commits[i] == commit {
			return true
		}
	}
	return false
}

func checkTask(s State, t *Task, e Event) error {
	last := t.Last()
	switch e.Kind {
	case AttemptStarted:
		if last.Open() {
			return forbid(e, "attempt %d of %s is open", last.Number, t.ID)
		}
		if e.Attempt != last.Number+1 {
			return forbid(e, "attempt %d of %s follows attempt %d", e.Attempt, t.ID, last.Number)
		}
		if t.State != Waiting {
			return forbid(e, "%s is %s", t.ID, t.State)
		}
	case IterationStarted, AgentEnded, AttemptStopped, AttemptLost, AttemptHanded, LandingConflicted, LandingRefused:
		if !last.Open() || e.Attempt != last.Number {
			return forbid(e, "attempt %d of %s is not open", e.Attempt, t.ID)
		}
		if e.Kind == AgentEnded && !last.Agent {
			return forbid(e, "no agent of %s runs", t.ID)
		}
		if e.Kind == IterationStarted && last.Agent {
			return forbid(e, "an agent of %s runs", t.ID)
		}
		if e.Kind == IterationStarted && t.State != Running {
			return forbid(e, "%s is %s", t.ID, t.State)
		}
	case TaskParked, TaskSkipped, TaskFound:
		if t.State == Landed {
			return forbid(e, "%s has landed", t.ID)
		}
		if t.State == Validating {
			return forbid(e, "%s is being landed", t.ID)
		}
	case TaskAccepted:
		if t.State != Parked || t.Code != Protected || last.Head == "" {
			return forbid(e, "%s is not parked for protected paths", t.ID)
		}
	case LandRequested:
		if !last.Open() || !last.InSession || !last.Agent || !last.Handed || t.State != Running {
			return forbid(e, "no session works on %s", t.ID)
		}
	case TaskRetried:
		if t.State != Parked && t.State != Skipped {
			return forbid(e, "%s is %s; only a parked or skipped task is tried again", t.ID, t.State)
		}
	}
	return nil
}
