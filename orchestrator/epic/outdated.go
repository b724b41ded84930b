package epic

import (
	"fmt"
	"time"

	"github.com/beadsorch/orch/orchestrator/tracker"
)

// A tracker that is restored from a backup shows a task open again that has landed and was closed. The
// record tells: in the copy it was last written before the task had landed, and a person's word that it is to
// be done again comes after that. Where the record does not tell when it was written, an open task is
// taken for a person's word.

// Outdated reports whether the tracker's record of a task, n, is one from before the task landed, although
// the tracker has said since that it is closed.
func (t *Task) Outdated(n Node) bool {
	return t.State == Landed && n.Status != statusClosed && !n.UpdatedAt.IsZero() && n.UpdatedAt.Before(t.Since.Add(-tracker.ClosedWithin))
}

// Restored lists the tasks that have landed and of which the tracker has a record from before that.
func (s State) Restored() (out []*Task) {
	for _, t := range s.Tasks {
		if t.Dispatchable() && !t.Deleted && t.Outdated(t.Node) {
			out = append(out, t)
		}
	}
	return out
}

// withUpdate is n with the time of its record where something rests on that: the task has landed, and the tracker
// no longer says that it is closed.
func (s State) withUpdate(n Node, at time.Time) Node {
	if t := s.Task(n.ID); t != nil && t.State == Landed && n.Status != statusClosed && (t.Written == statusClosed || !t.UpdatedAt.IsZero()) {
		n.UpdatedAt = at.UTC()
	}
	return n
}

// TrackerOutdated says that the tracker has the task, which it was told has landed, as it was before: it is closed again.
type TrackerOutdated struct {
	ofTask
	noChange
}

// OutdatedIn are the events that tell of which tasks the nodes are records from before they landed.
func OutdatedIn(s State, nodes []Node) (events []Event) {
	for _, n := range nodes {
		if t := s.Task(n.ID); t != nil && !t.Deleted && t.Written == statusClosed && t.Outdated(n) {
			events = append(events, Event{Fact: TrackerOutdated{}, Task: n.ID,
				Reason: fmt.Sprintf("the tracker has it as of %s, before it landed, as a restored copy has: it is closed again", n.UpdatedAt.Format(time.DateTime))})
		}
	}
	return events
}
