package epic

import (
	"maps"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/beadsorch/orch/orchestrator/reason"
	"github.com/beadsorch/orch/orchestrator/tracker"
)

// trackerState is what a run knows of the tracker; it is not journaled, since a
// new run reads the tracker anew.
type trackerState struct {
	busy     bool          // one call at a time
	read     time.Time     // the newest survey of this run
	wrote    time.Time     // the newest answer to a write
	cost     time.Duration // of the newest survey
	stale    bool          // something was written, landed or ended since
	failures int           // in a row, of calls that were not writes
	notYet   time.Time
	code     reason.Code // of the newest failure, where it is known

	unwritten  int       // writes that have failed, in a row; a reading says nothing of them
	writeAgain time.Time // the next try

	claimed  bool // the epic was ours in this run
	reopened bool // the epic was opened to be claimed, and not read since it was
	why      string
	lost     Outlook            // why its word is not known, for somebody who only looks; its Reason is "" where it is
	refused  map[refusal]string // writes that the tracker refuses, with its words: not tried again until it changes
}

// refusal is a kind of change to an issue that the tracker did not make.
type refusal struct {
	id   TaskID
	kind string
}

// ReadAt is when the tracker's newest reading that differed from what was known
// came in; zero when it was never read.
func (s State) ReadAt() time.Time { return s.tracker.read }

// TrackerBusy is the intent to call the tracker.
type TrackerBusy struct{ anyTime }

func (TrackerBusy) apply(s State, _ Event) State {
	s.tracker.busy = true
	return s
}

// TrackerFailed says that the tracker did not answer.
type TrackerFailed struct {
	anyTime
	Write bool `json:"write,omitempty"` // it was to be written to
}

func (f TrackerFailed) apply(s State, e Event) State {
	s.tracker.busy = false
	s.tracker.code, s.tracker.why = e.Code, e.Reason
	if e.Code == "" {
		s.tracker.why = "the tracker does not answer: " + e.Reason
	}
	again := func(failures int) time.Time { return e.At.Add(trackerBackOff << min(failures-1, 5)) }
	if f.Write {
		s.tracker.unwritten++
		s.tracker.writeAgain = again(s.tracker.unwritten)
		s.tracker.why = "the tracker cannot be written to: " + e.Reason
		return s
	}
	s.tracker.failures++
	s.tracker.notYet = again(s.tracker.failures)
	return s
}

// WriteResult is the answer to one change that the tracker was asked for.
type WriteResult struct {
	ID      TaskID `json:"id"`                            // of the issue
	Kind    string `json:"kind,omitempty" text:"plain"`   // of the change
	Status  string `json:"status,omitempty" text:"plain"` // which it has now; "" when refused
	Refused string `json:"refused,omitempty"`             // the tracker's words
	By      string `json:"by,omitempty" text:"plain"`     // who holds it
}

// TrackerWritten says which statuses the tracker has from us.
type TrackerWritten struct {
	anyTime
	Wrote []WriteResult `json:"wrote,omitempty"` // a change each
}

func (f TrackerWritten) apply(s State, e Event) State {
	s.tracker.busy, s.tracker.failures, s.tracker.stale, s.tracker.wrote = false, 0, true, e.At
	s.tracker.unwritten, s.tracker.writeAgain = 0, time.Time{}
	s.tip.fresh = false
	for _, w := range f.Wrote {
		if w.ID == s.Epic && w.Refused == "" && w.Kind == string(tracker.SetStatus) && w.Status == statusOpen && s.Run.Limits.TakeOver && !s.tracker.claimed {
			s.Cooldown, s.Cooling = e.At.Add(2*s.Run.Limits.SurveyEvery), "the clone that had the epic may be there still: it has time to see that it was taken over"
		}
		s = applyWrite(s, w)
	}
	return s
}

// applyWrite applies the tracker's answer to one change.
func applyWrite(s State, w WriteResult) State {
	if s.Task(w.ID) == nil {
		return s
	}
	if w.Refused != "" {
		s.tracker.refused = maps.Clone(s.tracker.refused)
		if s.tracker.refused == nil {
			s.tracker.refused = map[refusal]string{}
		}
		s.tracker.refused[refusal{w.ID, w.Kind}] = w.Refused
	}
	if w.ID == s.Epic && w.Refused == "" {
		s.tracker.reopened = w.Kind == string(tracker.Reopen) || s.tracker.reopened && w.Status == statusInProgress
		s.tookOver = w.Status == statusInProgress && (s.Run.Limits.TakeOver || s.tookOver)
		s.tracker.claimed = s.tracker.claimed || w.Status == statusInProgress
	}
	return s.edit(w.ID, func(t *Task) {
		if w.Refused == "" {
			t.Status, t.Written, t.Assignee, t.UpdatedAt = w.Status, w.Status, w.By, time.Time{}
			t.ClosedByAgent = w.Status == statusClosed && t.Dispatchable() && t.State != Landed && t.State != Skipped // a person has had it tried again meanwhile
		} else if w.By != "" {
			t.Assignee, t.Status = w.By, statusInProgress
		}
	})
}

// TrackerRead is how the tracker differs from what the state knew.
type TrackerRead struct {
	anyTime
	Nodes   []Node        `json:"nodes,omitempty"`   // that are new, or differ
	Removed []TaskID      `json:"removed,omitempty"` // that are no longer there
	Took    time.Duration `json:"took"`              // to read all of it
}

func (f TrackerRead) apply(s State, e Event) State {
	s.tracker.busy, s.tracker.failures, s.tracker.stale = false, 0, false
	s.tracker.read, s.tracker.cost, s.tracker.lost = e.At, f.Took, Outlook{}
	s.Tasks, s.index = slices.Clone(s.Tasks), maps.Clone(s.index)
	s.tracker.refused = maps.Clone(s.tracker.refused)
	alone := s.holdsEpic() && f.leavesEpic(s.Epic, s.Run.Limits.Actor)
	for _, n := range f.Nodes {
		maps.DeleteFunc(s.tracker.refused, func(r refusal, _ string) bool { return r.id == n.ID }) // it may be allowed now
		i, known := s.index[n.ID]
		if !known {
			t := &Task{Node: n, State: Waiting, Since: e.At, late: s.Run.Iterations > 0}
			t.reconcile(Node{}, s.Run.Limits.Actor, alone, e.At)
			s.index[n.ID] = len(s.Tasks)
			s.Tasks = append(s.Tasks, t)
			continue
		}
		t := *s.Tasks[i]
		was := t.Node
		t.Node, t.Deleted = n, false
		t.reconcile(was, s.Run.Limits.Actor, alone, e.At)
		s.Tasks[i] = &t
	}
	for _, id := range f.Removed {
		if i, known := s.index[id]; known {
			t := *s.Tasks[i]
			t.Deleted = true
			s.Tasks[i] = &t
		}
	}
	sort.Slice(s.Tasks, func(i, j int) bool { return s.Tasks[i].ID < s.Tasks[j].ID })
	for i, t := range s.Tasks {
		s.index[t.ID] = i
	}
	s.tracker.claimed = s.tracker.claimed || s.holdsEpic()
	s.tracker.reopened = s.tracker.reopened && !s.holdsEpic()
	return s
}

// leavesEpic reports whether an epic that actor held before the reading is held by it still.
func (f TrackerRead) leavesEpic(epic TaskID, actor string) bool {
	i := slices.IndexFunc(f.Nodes, func(n Node) bool { return n.ID == epic })
	return i < 0 || f.Nodes[i].Status == statusInProgress && f.Nodes[i].Assignee == actor
}

// reconcile brings a task's state in line with what a person did in the tracker, which said was before.
// What the tracker has from us (Written) is no news. With alone no other clone can have written any of it.
func (t *Task) reconcile(was Node, actor string, alone bool, at time.Time) {
	if t.Epic && t.Status != t.Written {
		t.Written = ""
	}
	if !t.Dispatchable() || t.Status == t.Written && t.Written != "" {
		return
	}
	told := t.Written
	t.Written = ""
	t.ClosedByAgent = t.doubted(was, actor, alone)
	t.Elsewhere = t.State != Landed && !t.ClosedByAgent && t.SkipStatus != giveClosed && t.closedElsewhere(actor)
	switch {
	case t.State == Waiting, t.State == Parked && t.closed():
		t.abandon(at)
	case t.reopened(was, told):
		t.resetForRetry(at)
	}
	if !t.Outdated(t.Node) {
		t.UpdatedAt = time.Time{}
	}
}

// doubted reports whether the task is closed in the tracker by an agent, which is only its word. A close that
// was taken for a person's is looked at again only when the tracker names later who made it. One that says
// the task has landed, of which no maker is told, is another clone's unless none can have made it.
func (t *Task) doubted(was Node, actor string, alone bool) bool {
	namedLater := was.Status == statusClosed && was.ClosedBy == "" && t.ClosedBy != "" && t.SkipStatus == ""
	if t.Status != statusClosed || t.State == Landed || t.State == Skipped && !namedLater {
		return false
	}
	noNews := t.Status == was.Status && t.ClosedBy == was.ClosedBy && t.LandedIn == was.LandedIn
	switch landing := t.ClosedBy == "" && t.LandedIn != ""; {
	case noNews && t.ClosedByAgent:
		return true
	case landing && (!alone || noNews && t.Elsewhere):
		return false
	}
	return t.closedByAgent(actor)
}

// reopened reports whether a task that was over is to be done after all. The tracker said was before, and
// told was what it had from us.
func (t *Task) reopened(was Node, told string) bool {
	open := t.Status == statusOpen
	switch t.State {
	case Skipped:
		byNoPerson := t.ClosedByAgent || t.Elsewhere && t.SkipStatus == ""
		return byNoPerson || open && was.Status != statusOpen
	case Parked:
		return open && told == statusBlocked || t.Code == reason.LandedElsewhere && t.Status != statusClosed
	case Landed:
		return open && (told == statusClosed || !was.UpdatedAt.IsZero()) && !t.Outdated(t.Node)
	}
	return false
}

// closedByAgent reports whether an agent, rather than a person, closed the task
// in the tracker: it was closed under the name that agents are given; or the
// tracker tells no name, and an attempt was open then. A session's model has the
// name of its person; the orch of another clone has one of its own, and closes what has landed there.
func (t *Task) closedByAgent(actor string) bool {
	during := slices.ContainsFunc(t.Attempts, func(a Attempt) bool {
		began, ended := a.Started.Add(-tracker.ClosedWithin), a.Ended.Add(tracker.ClosedWithin)
		return (t.ClosedBy == "" || a.InSession) && (a.Open() || t.ClosedAt.After(began) && !t.ClosedAt.After(ended))
	})
	return !isClone(t.ClosedBy, actor) && (during || strings.HasPrefix(t.ClosedBy, ActorPrefix))
}
