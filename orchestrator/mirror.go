package orchestrator

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/fault"
	"github.com/beadsorch/orch/orchestrator/reason"
	"github.com/beadsorch/orch/orchestrator/tracker"
)

// survey reads the tracker, and answers with what is new.
func (x *dispatch) survey(ctx context.Context, s epic.State) []epic.Event {
	began := x.Now()
	issues, err := x.Tracker.Survey(ctx)
	if err != nil {
		return []epic.Event{trackerFailed(err, false)}
	}
	if _, err := epic.FindEpic(issues, x.Epic); err != nil {
		return []epic.Event{{Fact: epic.TrackerFailed{}, Reason: err.Error()}}
	}
	index := tracker.NewIndex(issues)
	x.mu.Lock()
	x.index = index
	x.mu.Unlock()
	r := epic.Diff(s, index, x.Now().Sub(began))
	return slices.Concat([]epic.Event{{Fact: r}}, x.landedBefore(s, r.Nodes), epic.OutdatedIn(s, r.Nodes))
}

// landedBefore finds tasks whose commit is on the epic branch although the
// journal, being younger, knows nothing of them.
func (x *dispatch) landedBefore(s epic.State, nodes []epic.Node) (events []epic.Event) {
	for _, n := range nodes {
		commit, landed := x.found[n.ID]
		believed := n.Status == string(tracker.StatusClosed) && !strings.HasPrefix(n.ClosedBy, epic.ActorPrefix)
		if landed && s.Task(n.ID) == nil && !n.Epic && !n.External && !believed {
			events = append(events, epic.Event{Fact: epic.TaskFound{Commit: commit}, Task: n.ID,
				Reason: "its commit is on the epic branch already"})
		}
	}
	return events
}

// writeTracker makes changes in the tracker, and answers with what it has now.
func (x *dispatch) writeTracker(ctx context.Context, s epic.State, changes []tracker.Change) []epic.Event {
	if slices.ContainsFunc(changes, func(c tracker.Change) bool { return c.Kind == tracker.Close }) {
		switch e := x.tip.look(ctx, s); e.Fact.(type) { // closed means landed, and still there
		case epic.TipSeen:
		case epic.MachineFailed:
			return []epic.Event{{Fact: epic.TrackerFailed{Write: true}, Code: reason.Machine, Reason: e.Reason}}
		default:
			return []epic.Event{{Fact: epic.TrackerWritten{}}, e}
		}
	}
	outcomes, err := x.Tracker.Apply(ctx, s.Run.Limits.Actor, changes)
	if err != nil {
		return []epic.Event{trackerFailed(err, true)}
	}
	var written epic.TrackerWritten
	var filed []epic.Event
	for i, o := range outcomes {
		c := changes[i]
		if c.Kind == tracker.Create {
			filed = append(filed, metaFiled(o))
			continue
		}
		written.Wrote = append(written.Wrote, x.writeResult(s, c, o.Err))
	}
	return append([]epic.Event{{Fact: written}}, filed...)
}

// trackerFailed is the answer when the tracker gave none. That a file of it may not be written is the machine's fault.
func trackerFailed(err error, write bool) epic.Event {
	e := epic.Event{Fact: epic.TrackerFailed{Write: write}, Reason: err.Error()}
	if _, ok := fault.Machine(err); ok || write && errors.Is(err, fs.ErrPermission) {
		e.Code = reason.Machine
	}
	return e
}

func metaFiled(o tracker.Outcome) epic.Event {
	if o.Err != nil {
		return epic.Event{Fact: epic.MetaFiled{Issue: "not filed"}, Reason: "the tracker refused the issue: " + o.Err.Error()}
	}
	return epic.Event{Fact: epic.MetaFiled{Issue: o.ID}, Reason: "filed " + o.ID + " in the tracker"}
}

func (x *dispatch) writeResult(s epic.State, c tracker.Change, err error) epic.WriteResult {
	w := epic.WriteResult{ID: epic.TaskID(c.ID), Kind: string(c.Kind)}
	var claimed *tracker.ClaimedError
	switch {
	case errors.As(err, &claimed):
		w.Refused, w.By = err.Error(), claimed.By
	case err != nil:
		w.Refused = err.Error()
	case c.Kind == tracker.Claim:
		w.Status, w.By = string(tracker.StatusInProgress), s.Run.Limits.Actor
	case c.Kind == tracker.Close:
		w.Status, w.By = string(tracker.StatusClosed), s.Run.Limits.Actor
	case c.Kind == tracker.Reopen:
		w.Status = string(tracker.StatusOpen)
	default:
		w.Status = string(c.Status)
	}
	return w
}
