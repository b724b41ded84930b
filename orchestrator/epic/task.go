package epic

import "slices"

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
	return s.dequeue(e.Task).edit(e.Task, func(t *Task) {
		if t.Last().Open() {
			t.last().close(e.At)
		}
		t.Commit, t.Code, t.Why = f.Commit, "", ""
		t.move(Landed, e.At)
	})
}

// TaskParked says that the task does not go on without a person, for the event's Code.
type TaskParked struct{}

func (TaskParked) check(s State, e Event) error { return checkMovable(s, e) }

func (TaskParked) apply(s State, e Event) State {
	if r, _ := ReasonOf(e.Code); r.Failure {
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

// TaskRetried is a person's word that a parked or skipped task is tried again.
type TaskRetried struct {
	Hint string `json:"hint,omitempty" text:"long"` // an answer, or advice
}

func (TaskRetried) check(s State, e Event) error {
	if err := (ofTask{}).check(s, e); err != nil {
		return err
	}
	if t := s.Task(e.Task); t.State != Parked && t.State != Skipped {
		return forbid(e, "%s is %s; only a parked or skipped task is tried again", t.ID, t.State)
	}
	return nil
}

func (f TaskRetried) apply(s State, e Event) State {
	return s.edit(e.Task, func(t *Task) {
		t.release(e.At)
		if f.Hint != "" {
			t.Hints = append(slices.Clone(t.Hints), f.Hint)
		}
	})
}

// TaskSkipped is a person's word that the task is not done here.
type TaskSkipped struct {
	Status string `json:"status,omitempty" text:"plain"` // what the tracker is to say of it; "" leaves it as it is
}

func (TaskSkipped) check(s State, e Event) error { return checkMovable(s, e) }

func (f TaskSkipped) apply(s State, e Event) State {
	return s.dequeue(e.Task).edit(e.Task, func(t *Task) {
		t.Give, t.Code, t.Why = f.Status, "", e.Reason
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
	if t := s.Task(e.Task); t.State != Parked || t.Code != Protected || t.Last().Head == "" {
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
