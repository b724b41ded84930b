package epic

import (
	"fmt"
	"slices"
	"time"

	"github.com/beadsorch/orch/orchestrator/iteration"
)

// Candidates are the commits that would land, one a task, each on top of the one before.
type Candidates struct {
	Tasks   []TaskID `json:"tasks,omitempty"`   // in the order in which they land
	Old     Commit   `json:"old,omitempty"`     // the tip that they were built on
	Commits []Commit `json:"commits,omitempty"` // the candidate of each task
}

func (c Candidates) tasks() []TaskID { return c.Tasks }

// About reports whether the event is about a task.
func (e Event) About(id TaskID) bool {
	several, ok := e.Fact.(interface{ tasks() []TaskID })
	return e.Task == id || ok && slices.Contains(several.tasks(), id)
}

// Verdict is the gate's word on a tree.
type Verdict struct {
	Tree   string                  `json:"tree,omitempty" text:"plain"` // that it judged
	Passed bool                    `json:"passed,omitempty"`            // it was green
	Score  int                     `json:"score,omitempty"`             // 0 to 100
	Rules  []iteration.RuleOutcome `json:"rules,omitempty"`             // each with its outcome
	Log    string                  `json:"log,omitempty" text:"plain"`  // file with its output
	Took   time.Duration           `json:"took,omitempty"`              // to build and judge
}

// Size is how much a stack of candidates changes; for people.
type Size struct {
	Files   int `json:"files,omitempty"`   // how many change
	Added   int `json:"added,omitempty"`   // lines
	Deleted int `json:"deleted,omitempty"` // lines
}

// BaseCheckStarted is the intent to have the gate judge the epic branch as it is.
type BaseCheckStarted struct {
	anyTime
	Commit Commit `json:"commit,omitempty"` // that is judged
}

func (BaseCheckStarted) apply(s State, _ Event) State {
	s.Gate = GateChecking
	return s
}

// BaseChecked is the gate's word on the epic branch before any agent has touched it.
type BaseChecked struct {
	anyTime
	Commit Commit `json:"commit,omitempty"` // that was judged
	Verdict
	Output string `json:"output,omitempty" text:"long"` // of what failed
}

func (f BaseChecked) apply(s State, _ Event) State {
	s.Gate = GateGreen
	if !f.Passed {
		s.Gate = GateRed
	}
	if s.Moved.Accepted && (f.Passed || s.Run.Limits.AllowRedBase) {
		s.Moved = Moved{}
	}
	return s
}

// maxWindow is how many candidates are gated together at most.
const maxWindow = 16

// landingBackOff is the first wait after a landing that git, or another writer
// of the branch, made fail; it doubles.
const landingBackOff = 50 * time.Millisecond

// LandingStarted is the intent to build candidates and have the gate judge them.
type LandingStarted struct {
	Tasks []TaskID `json:"tasks"`         // in the order in which they land
	Old   Commit   `json:"old,omitempty"` // the tip that they are built on
}

func (f LandingStarted) tasks() []TaskID { return f.Tasks }

func (f LandingStarted) check(s State, e Event) error {
	if len(f.Tasks) == 0 {
		return forbid(e, "it names no tasks to land")
	}
	if len(s.Landing.Tasks) > 0 {
		return forbid(e, "another landing is under way")
	}
	for _, id := range f.Tasks {
		if t := s.Task(id); t == nil || t.State != Queued {
			return forbid(e, "task %s is not queued", id)
		}
	}
	return nil
}

func (f LandingStarted) apply(s State, e Event) State {
	s.Landing = Landing{Tasks: f.Tasks, Old: f.Old, Lost: s.Landing.Lost}
	for _, id := range f.Tasks {
		s = s.edit(id, func(t *Task) { t.move(Validating, e.At) })
	}
	return s.dequeue(f.Tasks...)
}

// LandingConflicted says that a candidate cannot be built on the epic branch.
type LandingConflicted struct {
	ofAttempt
	Old      Commit   `json:"old,omitempty"`                  // the tip that it conflicts with
	Files    []string `json:"files,omitempty"`                // in conflict
	Feedback string   `json:"feedback,omitempty" text:"long"` // for the agent
}

// apply gives a conflicting attempt back to its agent once; the second time the attempt has
// failed.
func (f LandingConflicted) apply(s State, e Event) State {
	return s.unstack(e.Task).edit(e.Task, func(t *Task) {
		a := t.last()
		seen := a.Conflict != ""
		a.Files, a.Conflict, a.Feedback = f.Files, f.Old, f.Feedback
		if seen || a.Iteration >= s.Run.Limits.iterations(t) || t.over(s.Run.Limits.TaskBudget) != "" {
			t.end(MergeConflict, f.Feedback, e.At)
			return
		}
		t.move(Running, e.At) // without an agent: Decide starts the next iteration
		if a.InSession {
			a.Phase, a.Iteration = HandedOver, a.Iteration+1
		}
	})
}

// LandingRefused says that the gate is not asked about a candidate, for the event's Code.
type LandingRefused struct {
	ofAttempt
	Old      Commit   `json:"old,omitempty"`                  // the tip that it was built on
	Files    []string `json:"files,omitempty"`                // that are why
	Feedback string   `json:"feedback,omitempty" text:"long"` // for the agent
}

func (f LandingRefused) apply(s State, e Event) State {
	return s.unstack(e.Task).edit(e.Task, func(t *Task) {
		t.end(e.Code, f.Feedback, e.At)
		t.last().Why, t.last().Files = e.Reason, f.Files
	})
}

// CandidateJudged is the gate's word on the last one's tree of a stack of candidates.
type CandidateJudged struct {
	Candidates
	Verdict
	Size
	Output string `json:"output,omitempty" text:"long"` // of what failed
}

func (f CandidateJudged) check(s State, e Event) error {
	for _, id := range f.Tasks {
		if !slices.Contains(s.Landing.Tasks, id) {
			return forbid(e, "task %s is not being landed", id)
		}
	}
	return nil
}

// apply lets a green stack move the branch. A red stack is taken apart; a red single task has
// failed.
func (f CandidateJudged) apply(s State, e Event) State {
	stays := f.Tasks
	for _, id := range s.Landing.Tasks { // left out of the stack: they conflicted with something not yet landed
		if !slices.Contains(stays, id) {
			s = s.toQueue(id, e.At)
		}
	}
	s.Landing.Tasks, s.Landing.Old = stays, f.Old
	if f.Passed || len(stays) == 1 {
		for _, id := range stays {
			s = s.edit(id, func(t *Task) { t.last().Gate = f.Rules })
		}
	}
	if f.Passed {
		s.Landing.Commits = f.Commits
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
		t.end(GateFailed, f.Output, e.At)
		t.last().Why = e.Reason
	})
}

// MoveStarted is the intent to move the epic branch to judged candidates.
type MoveStarted struct {
	anyTime
	Candidates
}

func (MoveStarted) apply(s State, _ Event) State {
	s.Landing.Moving = true
	return s
}

// TaskLanded says that the epic branch has the candidates, durably.
type TaskLanded struct {
	Candidates
	Size
	Secrets []string `json:"secrets,omitempty"` // what looks secret in the lines that come, as "FILE (NAME)"
}

// check holds P1: nothing lands without a green verdict on that very commit, and nothing
// lands twice.
func (f TaskLanded) check(s State, e Event) error {
	if len(f.Tasks) == 0 || len(f.Tasks) != len(f.Commits) {
		return forbid(e, "it names no commit for each task")
	}
	for i, id := range f.Tasks {
		t := s.Task(id)
		switch {
		case t == nil:
			return forbid(e, "task %s is not known", id)
		case t.State == Landed:
			return forbid(e, "task %s has landed already", id)
		case !s.judged(id, f.Commits[i]):
			return forbid(e, "no green verdict on %s of task %s", f.Commits[i], id)
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

func (f TaskLanded) apply(s State, e Event) State {
	for i, id := range f.Tasks {
		s = s.edit(id, func(t *Task) {
			t.last().close(e.At)
			t.Commit, t.Code, t.Why = f.Commits[i], "", ""
			t.move(Landed, e.At)
		})
	}
	s = s.machineWorks()
	s.Tip = f.Commits[len(f.Commits)-1]
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

// LandingLost says that a landing came to nothing though the work did not: somebody moved the
// branch, or git failed.
type LandingLost struct{ anyTime }

func (LandingLost) apply(s State, e Event) State {
	s.Landing.Lost++
	s = s.requeue(e.At)
	s.Landing.NotBefore, s.Landing.Why = e.At.Add(landingBackOff<<min(s.Landing.Lost-1, 8)), e.Reason
	return s
}

func (s State) dequeue(ids ...TaskID) State {
	s.Queue = slices.DeleteFunc(slices.Clone(s.Queue), func(id TaskID) bool { return slices.Contains(ids, id) })
	return s
}

func (s State) toQueue(id TaskID, at time.Time) State {
	s = s.edit(id, func(t *Task) { t.move(Queued, at) })
	s.Queue = append(slices.Clone(s.Queue), id)
	return s
}

// unstack takes a task out of the landing.
func (s State) unstack(id TaskID) State {
	s.Landing.Tasks = slices.DeleteFunc(slices.Clone(s.Landing.Tasks), func(other TaskID) bool { return other == id })
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

// IntoStarted is the intent to land the finished epic on a branch.
type IntoStarted struct {
	anyTime
	Branch string `json:"branch" text:"plain"` // that was asked for
	Tip    Commit `json:"tip"`                 // of the epic branch
}

func (IntoStarted) apply(s State, _ Event) State {
	s.Into = IntoState{Busy: true}
	return s
}

// EpicLandedInto says that the epic is on a branch.
type EpicLandedInto struct {
	Branch string `json:"branch" text:"plain"` // that has it
	Tip    Commit `json:"tip"`                 // of the epic branch
	Commit Commit `json:"commit,omitempty"`    // where Branch is now
}

func (f EpicLandedInto) check(_ State, e Event) error {
	if f.Tip == "" {
		return forbid(e, "it names no commit")
	}
	return nil
}

func (f EpicLandedInto) apply(s State, _ Event) State {
	s.Into = IntoState{Done: f.Tip, Branch: f.Branch}
	return s
}

// EpicNotLanded says that the branch that was asked for could not be given the epic.
type EpicNotLanded struct{ anyTime }

func (EpicNotLanded) apply(s State, e Event) State {
	s.Into = IntoState{Why: e.Reason}
	return s
}

// FirstOf names the first of the files, and how many more there are.
func FirstOf(files []string) string {
	switch len(files) {
	case 0:
		return "no file"
	case 1:
		return files[0]
	}
	return fmt.Sprintf("%s and %d more", files[0], len(files)-1)
}
