package epic

import (
	"slices"
	"time"
)

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
	a.close(at)
	a.Failure, a.Feedback = code, feedback
	if t.State == Skipped {
		return
	}
	t.move(Waiting, at)
	t.leave(at)
}

// close ends an attempt.
func (a *Attempt) close(at time.Time) { a.Ended, a.Phase = at, Ended }

// reopen makes an attempt that has ended one that may land.
func (a *Attempt) reopen() { a.Ended, a.Phase = time.Time{}, BetweenTurns }

// leave gives up a task that a person closed meanwhile.
func (t *Task) leave(at time.Time) {
	if t.closed() && t.Told != statusClosed {
		t.Why = "closed in the tracker by a person"
		t.move(Skipped, at)
	}
}

// release gives a parked or skipped task a fresh start.
func (t *Task) release(at time.Time) {
	t.Charged, t.Usage, t.Code, t.Why, t.Give, t.NotBefore = 0, Usage{}, "", "", "", time.Time{}
	t.move(Waiting, at)
}
