package epic

import (
	"slices"
	"time"

	"github.com/beadsorch/orch/orchestrator/reason"
	"github.com/beadsorch/orch/orchestrator/text"
)

// TaskID is the tracker's id of an issue: a task, or an epic.
type TaskID string

// String is the id as a person is shown it: one line, nothing in it that drives
// a terminal, not too long.
func (id TaskID) String() string { return text.Clause(string(id), 64) }

// TaskState says where a task is on its way. The strings are kept in files.
type TaskState string

// The states, and who moves a task on from each.
const (
	Waiting    TaskState = "waiting"    // its blockers, or a free place: Decide
	Running    TaskState = "running"    // its agent
	Queued     TaskState = "queued"     // the landing queue
	Validating TaskState = "validating" // the gate
	Landed     TaskState = "landed"     // nobody; a person who reopens it
	Parked     TaskState = "parked"     // a person
	Skipped    TaskState = "skipped"    // a person
)

// Ready is how a waiting task is shown when nothing but a free place is missing.
const Ready TaskState = "ready"

// Node is what the tracker says of one issue, as far as scheduling needs it.
type Node struct {
	ID           TaskID     `json:"id"`                               // in the tracker
	Title        string     `json:"title,omitempty"`                  // one line
	Epic         bool       `json:"epic,omitempty"`                   // an epic: never dispatched, closed when all below it is done
	External     bool       `json:"outside,omitempty"`                // not below this epic; known because something in it waits for it
	NotForAgents bool       `json:"held,omitempty"`                   // of a type that no agent works on (a gate, a message), or pinned
	Parent       TaskID     `json:"parent,omitempty"`                 // the epic that it is directly below
	Status       string     `json:"status" text:"plain"`              // the tracker's own word
	Assignee     string     `json:"assignee,omitempty" text:"plain"`  // who has it there; "" nobody
	Agent        string     `json:"agent,omitempty" text:"plain"`     // from the label agent:<name>
	Priority     int        `json:"priority"`                         // 0 is most urgent
	CreatedAt    time.Time  `json:"created_at"`                       // UTC
	Estimate     Minutes    `json:"estimate,omitempty"`               // the tracker's, 0 for none
	DeferTill    time.Time  `json:"defer_until,omitzero"`             // not ready before
	ClosedAt     time.Time  `json:"closed_at,omitzero"`               // zero while it is not closed
	UpdatedAt    time.Time  `json:"updated_at,omitzero"`              // when it was last changed; only of a landed task that was closed, and is not any more
	ClosedBy     string     `json:"closed_by,omitempty" text:"plain"` // "" when the tracker does not tell
	LandedIn     Commit     `json:"landed_in,omitempty"`              // the commit that an orch has closed it for, shortened; "" for none
	Parked       string     `json:"parked,omitempty"`                 // the note with which an orch has said that it is blocked; "" for none
	Waived       bool       `json:"waived,omitempty"`                 // orch has closed it because a person has skipped it
	Needs        [][]TaskID `json:"needs,omitempty"`                  // one of each row must be done first; inherited rows included
}

// Minutes is a whole number of minutes, the tracker's unit of an estimate.
type Minutes int

// Task is a node with what orch did about it.
type Task struct {
	Node
	State         TaskState   `json:"state"`              // where it is on its way
	Attempts      []Attempt   `json:"attempts,omitempty"` // oldest first; only the last can be open
	Charged       int         `json:"charged,omitempty"`  // attempts that count against the limit
	Usage                     // since a person last released it
	NotBefore     time.Time   `json:"not_before,omitzero"` // back-off
	Code          reason.Code `json:"code,omitempty"`      // why it is parked
	Why           string      `json:"why,omitempty"`       // the same, in one clause
	Since         time.Time   `json:"since,omitzero"`      // when State last changed
	Commit        Commit      `json:"commit,omitempty"`    // what landed it
	Written       string      `json:"told,omitempty"`      // the status that the tracker is known to have from us
	Deleted       bool        `json:"deleted,omitempty"`   // no longer in the tracker
	Limit         int         `json:"limit,omitempty"`     // iterations of an attempt, as a person has set it; 0: as its agent has it
	ClosedByAgent bool        `json:"doubted,omitempty"`   // closed in the tracker by an agent, which is only its word
	Elsewhere     bool        `json:"elsewhere,omitempty"` // closed in the tracker by the orch of another clone, and its work was not found here
	Hints         []string    `json:"hints,omitempty"`     // answers and advice of a person, oldest first
	SkipStatus    string      `json:"give,omitempty"`      // what a person who skipped it wants in the tracker

	late bool // it came up after the run had started an agent, which may have filed it
}

// Last returns the newest attempt; its Number is 0 when there was none.
func (t *Task) Last() Attempt {
	if len(t.Attempts) == 0 {
		return Attempt{}
	}
	return t.Attempts[len(t.Attempts)-1]
}

// Done reports whether what waits for the task may go on: it landed, a person has skipped it and wants it
// closed, or the tracker counts it as done (bd: closed or pinned).
func (t *Task) Done() bool {
	return t.State == Landed || t.waived() || t.closed() || t.Status == statusPinned
}

// waived reports whether a person has skipped the task and wants it closed, whether the tracker has been told or not.
func (t *Task) waived() bool { return t.State == Skipped && t.SkipStatus == giveClosed }

// isLeft reports whether the task is one that agents are given, and is not done.
func (t *Task) isLeft() bool { return t.Dispatchable() && !t.Deleted && !t.Done() }

// closed reports whether the tracker says so and it is believed.
func (t *Task) closed() bool { return t.Status == statusClosed && !t.ClosedByAgent && !t.Elsewhere }

// Dispatchable reports whether the issue is one that agents are given at all.
func (t *Task) Dispatchable() bool { return !t.Epic && !t.External && !t.NotForAgents }

// The tracker's statuses that the rules here speak of (bd's own words).
const (
	statusOpen       = "open"
	statusInProgress = "in_progress"
	statusBlocked    = "blocked"
	statusClosed     = "closed"
	statusPinned     = "pinned"
)

// TaskFound says that a commit of the task is on the epic branch, although the journal did
// not know.
type TaskFound struct {
	Commit Commit `json:"commit"` // that landed it
}

func (f TaskFound) check(s State, e Event) error {
	if f.Commit == "" {
		return forbid(e, "it names no commit")
	}
	return checkMovable(s, e)
}

// checkMovable says whether the task can be taken out of orch's hands.
func checkMovable(s State, e Event) error {
	if err := (ofTask{}).check(s, e); err != nil {
		return err
	}
	switch s.Task(e.Task).State {
	case Landed:
		return forbid(e, "%s has landed", e.Task)
	case Validating:
		return forbid(e, "%s is being landed", e.Task)
	}
	return nil
}

func (f TaskFound) apply(s State, e Event) State {
	s.taken = TipMove{} // what others put on the branch is landed work
	return s.dequeue(e.Task).edit(e.Task, func(t *Task) {
		if t.Last().Open() {
			t.last().close(e.At)
		}
		t.Commit, t.Code, t.Why, t.Elsewhere = f.Commit, "", "", false
		t.move(Landed, e.At)
	})
}

// TaskParked says that the task does not go on without a person, for the event's Code.
type TaskParked struct{}

func (TaskParked) check(s State, e Event) error { return checkMovable(s, e) }

func (TaskParked) apply(s State, e Event) State {
	if r, _ := reason.Of(e.Code); r.Failure && !s.Task(e.Task).parkedBefore() {
		s.Run.Failures++
	}
	return s.dequeue(e.Task).edit(e.Task, func(t *Task) {
		if t.Last().Open() {
			t.last().close(e.At)
		}
		t.Code, t.Why = e.Code, e.Reason
		t.move(Parked, e.At)
	})
}

// blockedInTracker reports whether nothing but the tracker, which says that it is blocked, keeps a person from
// trying the task again: a person has blocked it there, or orch has, whose journal is lost.
func (t *Task) blockedInTracker() bool {
	return t.State == Waiting && t.Status == statusBlocked && t.Written != statusBlocked && t.Dispatchable() && !t.Deleted
}

// closedWithoutUs reports whether a task that orch has nothing under way for is closed in the tracker by a person.
func (t *Task) closedWithoutUs() bool {
	return t.State == Waiting && t.closed() && t.Dispatchable() && !t.Deleted
}

// TaskRetried is a person's word that a task is tried again which is parked, skipped, or blocked or closed in the tracker.
type TaskRetried struct {
	Hint string `json:"hint,omitempty" text:"long"` // an answer, or advice
}

func (TaskRetried) check(s State, e Event) error {
	if err := (ofTask{}).check(s, e); err != nil {
		return err
	}
	if t := s.Task(e.Task); t.State != Parked && t.State != Skipped && !t.blockedInTracker() && !t.closedWithoutUs() {
		return forbid(e, "%s is %s; only a task that is parked, skipped, or blocked in the tracker is tried again", t.ID, s.StateOf(t, e.At))
	}
	return nil
}

func (f TaskRetried) apply(s State, e Event) State {
	return s.edit(e.Task, func(t *Task) {
		if t.Status == statusClosed { // it is done here after all, and counts as open until then
			t.Elsewhere, t.ClosedByAgent = false, true
		}
		if t.Status == statusBlocked {
			t.Written = statusBlocked // it is orch's now to say otherwise
		}
		t.resetForRetry(e.At)
		if f.Hint != "" {
			t.Hints = append(slices.Clone(t.Hints), f.Hint)
		}
	})
}

// Reason is why the task needs a person, or has last failed; "" for neither.
func (t *Task) Reason() reason.Code {
	if t.Code == "" && t.State == Skipped && !t.Done() {
		return reason.Skipped
	}
	return t.Code
}

// TaskSkipped is a person's word that the task is not done here.
type TaskSkipped struct {
	Status string `json:"status,omitempty" text:"plain"` // what the tracker is to say of it; "" leaves it as it is
}

func (TaskSkipped) check(s State, e Event) error { return checkMovable(s, e) }

func (f TaskSkipped) apply(s State, e Event) State {
	return s.dequeue(e.Task).edit(e.Task, func(t *Task) {
		t.SkipStatus, t.Code, t.Why = f.Status, "", e.Reason
		t.Elsewhere = t.Elsewhere && f.Status != giveClosed
		t.move(Skipped, e.At)
	})
}

// TaskAccepted is a person's word that what a parked attempt has done lands, if the gate
// passes it, although it changes protected paths.
type TaskAccepted struct{}

func (TaskAccepted) check(s State, e Event) error {
	if err := (ofTask{}).check(s, e); err != nil {
		return err
	}
	if t := s.Task(e.Task); t.State != Parked || t.Code != reason.Protected || t.Last().Head == "" {
		return forbid(e, "%s is not parked for protected paths", t.ID)
	}
	return nil
}

// apply puts the attempt back into the queue: a person has seen exactly this commit.
func (TaskAccepted) apply(s State, e Event) State {
	return s.edit(e.Task, func(t *Task) {
		a := t.last()
		a.reopen()
		a.Failure, a.Feedback, a.Why, a.Files, a.Accepted = "", "", "", nil, a.Head
		t.Code, t.Why = "", ""
	}).toQueue(e.Task, e.At)
}

// TaskLimited is a person's word how many iterations an attempt at the task may have.
type TaskLimited struct {
	Iterations int `json:"iterations"` // at least 1
}

func (f TaskLimited) check(s State, e Event) error {
	if f.Iterations < 1 {
		return forbid(e, "it names no number of iterations")
	}
	return ofTask{}.check(s, e)
}

func (f TaskLimited) apply(s State, e Event) State {
	return s.edit(e.Task, func(t *Task) { t.Limit = f.Iterations })
}
