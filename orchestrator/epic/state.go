package epic

import (
	"slices"
	"time"

	"github.com/beadsorch/orch/orchestrator/reason"
)

// State is what replaying the journal gives. Its tasks are immutable: Apply
// replaces the one that it changes, so a copy of a State stays as it is.
type State struct {
	Epic          TaskID    `json:"epic"`              // the epic that is run
	Tasks         []*Task   `json:"tasks"`             // by id
	Base          Commit    `json:"base"`              // the epic branch's first commit that is not ours
	Tip           Commit    `json:"tip"`               // where the last landing, or a person's word, left the epic branch
	Moved         Moved     `json:"moved,omitzero"`    // where it was found instead, while that is not settled
	Done          Commit    `json:"done,omitempty"`    // the tip with which a run last ended with all tasks closed
	Run           Run       `json:"run"`               // the newest one
	Queue         []TaskID  `json:"queue,omitempty"`   // next to land first
	Stacks        []Stack   `json:"stacks,omitempty"`  // that are between the gate and the epic branch, oldest first
	Landing       Landing   `json:"landing,omitzero"`  // how landing goes
	Window        int       `json:"window"`            // candidates that are gated together at most
	Gate          GateState `json:"gate,omitempty"`    // of the untouched base
	Cooldown      time.Time `json:"cooldown,omitzero"` // no agent starts before
	Cooling       string    `json:"cooling,omitempty"` // why
	Cooled        int       `json:"cooled,omitempty"`  // cool-downs in a row
	FailureReport string    `json:"meta,omitempty"`    // wanted, or the id of the issue that tells of repeated failures
	Taken         []string  `json:"taken,omitempty"`   // ids of requests that were taken, the newest last
	Wishes        []Wish    `json:"wishes,omitempty"`  // requests that somebody waits for
	Into          IntoState `json:"into,omitzero"`     // the branch that the epic is landed on at the end

	index   map[TaskID]int // of Tasks
	before  *Run           // the newest run, while Run is that of a command that is none
	red     string         // why the gate was red on the untouched base, in a clause
	taken   TipMove        // what others did to the branch since the last landing, where it was taken as it is
	tip     tipState
	merged  merged
	tracker trackerState
	seeking seeking
	untaken int // requests that nobody has taken yet, and that are applied here

	tookOver  bool      // the epic was taken from another clone, and not given back since
	answering string    // the request that is being answered
	looking   bool      // sessions are being looked for
	looked    time.Time // when they were
}

// Task returns the task with the id, nil when there is none.
func (s State) Task(id TaskID) *Task {
	if i, ok := s.index[id]; ok {
		return s.Tasks[i]
	}
	return nil
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
func (t *Task) end(code reason.Code, feedback string, at time.Time) {
	if r, _ := reason.Of(code); r.Charges {
		t.Charged++
	}
	a := t.last()
	a.close(at)
	a.Failure, a.Feedback = code, feedback
	if t.State == Skipped {
		return
	}
	t.move(Waiting, at)
	t.abandon(at)
}

// close ends an attempt.
func (a *Attempt) close(at time.Time) { a.Ended, a.Phase = at, Ended }

// reopen makes an attempt that has ended one that may land.
func (a *Attempt) reopen() { a.Ended, a.Phase = time.Time{}, BetweenTurns }

// abandon gives up a task that a person closed meanwhile.
func (t *Task) abandon(at time.Time) {
	if t.closed() && t.Written != statusClosed {
		t.Why = "closed in the tracker by a person"
		t.move(Skipped, at)
	}
}

// resetForRetry gives a parked or skipped task a fresh start.
func (t *Task) resetForRetry(at time.Time) {
	t.Charged, t.Usage, t.Code, t.Why, t.SkipStatus, t.NotBefore = 0, Usage{}, "", "", "", time.Time{}
	t.move(Waiting, at)
}
