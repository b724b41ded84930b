package epic

import (
	"fmt"
	"slices"
	"time"

	"github.com/beadsorch/orch/orchestrator/reason"
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

// Size is how much a stack of candidates changes; for people.
type Size struct {
	Files   int `json:"files,omitempty"`   // how many change
	Added   int `json:"added,omitempty"`   // lines
	Deleted int `json:"deleted,omitempty"` // lines
}

// Stack is candidates between the gate and the epic branch. A task is in one stack at most.
type Stack struct {
	Candidates      // whose Commits are set once the gate has passed the last one's tree
	Moving     bool `json:"moving,omitempty"` // the branch is being moved
}

// green reports whether the gate has passed the stack.
func (k Stack) green() bool { return len(k.Commits) > 0 }

// top is the commit that the branch is moved to; "" while the stack is not green.
func (k Stack) top() Commit {
	if !k.green() {
		return ""
	}
	return k.Commits[len(k.Commits)-1]
}

// moving reports whether the branch is being moved.
func (s State) moving() bool {
	return slices.ContainsFunc(s.Stacks, func(k Stack) bool { return k.Moving })
}

// GreenStacks are the stacks that the gate has passed, and that may be on the branch already.
func (s State) GreenStacks() (green []Stack) {
	for _, k := range s.Stacks {
		if k.green() {
			green = append(green, k)
		}
	}
	return green
}

// Landing is how landing goes.
type Landing struct {
	Lost      int       `json:"lost,omitempty"`      // landings in a row that failed though the work did not
	NotBefore time.Time `json:"not_before,omitzero"` // back-off
	Why       string    `json:"why,omitempty"`       // the newest loss, in a clause
}

// stack finds the stack that holds all the tasks; -1 where none does.
func (s State) stack(tasks ...TaskID) int {
	return slices.IndexFunc(s.Stacks, func(k Stack) bool {
		for _, id := range tasks {
			if !slices.Contains(k.Tasks, id) {
				return false
			}
		}
		return true
	})
}

// editStack returns s with change applied to a copy of a stack; one that holds no task then is
// gone.
func (s State) editStack(i int, change func(*Stack)) State {
	if i < 0 {
		return s
	}
	s.Stacks = slices.Clone(s.Stacks)
	change(&s.Stacks[i])
	if len(s.Stacks[i].Tasks) == 0 {
		s.Stacks = slices.Delete(s.Stacks, i, i+1)
	}
	return s
}

const (
	// maxStacks is how many stacks are judged at once.
	maxStacks = 1
	// maxWindow is how many candidates are gated together at most.
	maxWindow = 16
	// landingBackOff is the first wait after a landing that git, or another writer of the
	// branch, made fail; it doubles.
	landingBackOff = 50 * time.Millisecond
)

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
	for i, id := range f.Tasks {
		if t := s.Task(id); t == nil || t.State != Queued || slices.Contains(f.Tasks[:i], id) {
			return forbid(e, "task %s is not queued", id)
		}
	}
	return nil
}

func (f LandingStarted) apply(s State, e Event) State {
	s.Stacks = append(slices.Clone(s.Stacks), Stack{Candidates: Candidates{Tasks: f.Tasks, Old: f.Old}})
	s.Landing = Landing{Lost: s.Landing.Lost}
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
			t.end(reason.MergeConflict, f.Feedback, e.At)
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
	if len(s.Stacks) > 0 && s.stack(f.Tasks...) < 0 || len(s.Stacks) == 0 && len(f.Tasks) > 0 {
		return forbid(e, "no stack that is being landed holds %s", listText(f.Tasks))
	}
	return nil
}

// apply lets a green stack move the branch. A red stack is taken apart; a red single task has
// failed.
func (f CandidateJudged) apply(s State, e Event) State {
	i := s.stack(f.Tasks...)
	if i < 0 {
		return s
	}
	for _, id := range s.Stacks[i].Tasks { // left out of the stack: they conflicted with something not yet landed
		if !slices.Contains(f.Tasks, id) {
			s = s.toQueue(id, e.At)
		}
	}
	s = s.editStack(i, func(k *Stack) { k.Candidates = Candidates{Tasks: f.Tasks, Old: f.Old} })
	if f.Passed || len(f.Tasks) == 1 {
		for _, id := range f.Tasks {
			s = s.edit(id, func(t *Task) { t.last().Gate = f.Rules })
		}
	}
	switch {
	case len(f.Tasks) == 0:
		s.Landing, s.Window = Landing{}, 1
		return s
	case f.Passed:
		return s.editStack(i, func(k *Stack) { k.Commits = f.Commits })
	case len(f.Tasks) > 1:
		s.Window = len(f.Tasks) / 2
		return s.requeue(i, e.At)
	}
	s = s.editStack(i, func(k *Stack) { k.Tasks = nil })
	s.Landing, s.Window = Landing{}, 1
	return s.edit(f.Tasks[0], func(t *Task) {
		t.end(reason.GateFailed, f.Output, e.At)
		t.last().Why = e.Reason
	})
}

// MoveStarted is the intent to move the epic branch to the candidates of a green stack.
type MoveStarted struct {
	Candidates
}

func (f MoveStarted) check(s State, e Event) error {
	if i := s.stack(f.Tasks...); i < 0 || !s.Stacks[i].green() {
		return forbid(e, "no green stack holds %s", listText(f.Tasks))
	}
	return nil
}

func (f MoveStarted) apply(s State, _ Event) State {
	return s.editStack(s.stack(f.Tasks...), func(k *Stack) { k.Moving = true })
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
	i := s.stack(id)
	if i < 0 {
		return false
	}
	n := slices.Index(s.Stacks[i].Tasks, id)
	return n < len(s.Stacks[i].Commits) && s.Stacks[i].Commits[n] == commit
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
	s.tip, s.taken = tipState{seen: e.At}, TipMove{}
	s.Moved = Moved{} // the gate has judged all of what was accepted, and where else the branch was found is over
	for _, id := range f.Tasks {
		s = s.unstack(id)
	}
	s.Landing, s.Run.Failures = Landing{}, 0
	s.Window = min(s.Window*2, maxWindow)
	s.tracker.stale = true
	s.Gate = GateGreen
	return s
}

// LandingLost says that a landing came to nothing though the work did not: somebody moved the
// branch, or git failed.
type LandingLost struct {
	anyTime
	Tasks []TaskID `json:"tasks,omitempty"` // of the stack; none: of all stacks
}

func (f LandingLost) tasks() []TaskID { return f.Tasks }

func (f LandingLost) apply(s State, e Event) State {
	s.Landing.Lost++
	if len(f.Tasks) == 0 {
		s = s.requeueAll(e.At)
	} else if i := s.stack(f.Tasks...); i >= 0 {
		s = s.requeue(i, e.At)
	}
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

// unstack takes a task out of the stack that holds it.
func (s State) unstack(id TaskID) State {
	return s.editStack(s.stack(id), func(k *Stack) {
		k.Tasks = slices.DeleteFunc(slices.Clone(k.Tasks), func(other TaskID) bool { return other == id })
	})
}

// requeue puts the tasks of a stack back to the front of the queue.
func (s State) requeue(i int, at time.Time) State {
	tasks := s.Stacks[i].Tasks
	for _, id := range tasks {
		s = s.edit(id, func(t *Task) { t.move(Queued, at) })
	}
	s.Queue = append(slices.Clone(tasks), s.Queue...)
	s.Landing = Landing{Lost: s.Landing.Lost}
	return s.editStack(i, func(k *Stack) { k.Tasks = nil })
}

// requeueAll does so with all stacks, the oldest first.
func (s State) requeueAll(at time.Time) State {
	for len(s.Stacks) > 0 {
		s = s.requeue(len(s.Stacks)-1, at)
	}
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

// moves lets a green stack onto the epic branch, one at a time. One that was built on what is
// not the tip any more, since another has landed, or has failed below it, waits to land anew.
func moves(s State, _ *clock) []Decision {
	if !s.settled() || s.moving() || s.tracker.read.IsZero() && s.tracker.failures == 0 { // another clone may have the epic by now
		return nil
	}
	for _, k := range s.Stacks {
		if id, ok := s.landedElsewhere(k); ok && k.green() {
			return decideOne(Nothing, Event{Fact: LandingLost{Tasks: k.Tasks}, Reason: string(id) + " has landed in another clone"})
		}
	}
	for _, k := range s.Stacks {
		if k.green() && (k.Old == s.Tip || k.Old == "") {
			return decideOne(Move, Event{Fact: MoveStarted{Candidates: k.Candidates}})
		}
	}
	for i, k := range s.Stacks {
		if k.green() && !slices.ContainsFunc(s.Stacks[:i], func(below Stack) bool { return !below.green() || below.top() == k.Old }) {
			return decideOne(Nothing, Event{Fact: LandingLost{Tasks: k.Tasks}, Reason: "the epic branch is not where the candidates were built on"})
		}
	}
	return nil
}

// landedElsewhere names a task of the stack that another clone has closed meanwhile; ok is false without one.
func (s State) landedElsewhere(k Stack) (id TaskID, ok bool) {
	i := slices.IndexFunc(k.Tasks, func(id TaskID) bool { return s.Task(id).Elsewhere })
	if i < 0 {
		return "", false
	}
	return k.Tasks[i], true
}

// landings takes from the queue as many candidates as the window lets be gated
// together. The window grows with green stacks and is halved by a red one.
func landings(s State, now *clock) []Decision {
	if s.Run.Interrupt || s.Run.Mode == ModeSettle || !s.settled() || s.unjudgedForeign() || len(s.Stacks) >= maxStacks || len(s.Queue) == 0 || now.Before(s.Landing.NotBefore) || s.landingFails() {
		return nil
	}
	n := min(len(s.Queue), max(1, s.Window))
	return decideOne(Gate, Event{Fact: LandingStarted{Tasks: slices.Clone(s.Queue[:n]), Old: s.Tip}})
}

// landingFails reports whether landing has failed so often, for reasons that no
// agent can mend, that a person must look.
func (s State) landingFails() bool { return s.Landing.Lost >= maxLostLandings }
