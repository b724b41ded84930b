package orchestrator

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/git"
	"github.com/beadsorch/orch/orchestrator/land"
)

// seekLandings looks on the epic branch for what other clones have landed.
func (x *dispatch) seekLandings(ctx context.Context, s epic.State) []epic.Event {
	events, err := SeekElsewhere(ctx, x.Repo, s.Tip, s)
	if err != nil {
		return []epic.Event{machineFailed("looking for what other clones have landed", err)}
	}
	var tasks []epic.TaskID
	for _, t := range s.Sought() {
		tasks = append(tasks, t.ID)
	}
	return append(events, epic.Event{Fact: epic.LandingSeekEnded{Tip: s.Tip, Tasks: tasks}})
}

// SeekElsewhere says of each task that the orch of another clone has closed whether tip has its work:
// TaskFound or, where that is not known yet, TaskParked. It fails as git does.
func SeekElsewhere(ctx context.Context, repo *git.Repo, tip epic.Commit, s epic.State) ([]epic.Event, error) {
	named, landings := map[epic.TaskID]epic.Commit{}, map[string]git.Commit{}
	for _, t := range s.Sought() {
		c, err := land.Named(ctx, repo, string(t.LandedIn), string(s.Epic), string(t.ID))
		if err != nil {
			return nil, err
		}
		if c != "" {
			named[t.ID], landings[string(t.ID)] = c, c
		}
	}
	var lost []string
	if len(landings) > 0 {
		var err error
		if lost, err = land.Lost(ctx, repo, tip, landings); errors.Is(err, git.ErrNoSuchRef) {
			lost = slices.Collect(maps.Keys(landings)) // tip was collected
		} else if err != nil {
			return nil, err
		}
	}
	var events []epic.Event
	for _, t := range s.Sought() {
		switch c := named[t.ID]; {
		case c != "" && !slices.Contains(lost, string(t.ID)):
			events = append(events, epic.Event{Fact: epic.TaskFound{Commit: c}, Task: t.ID, Reason: "the epic branch has what another clone has landed"})
		case t.State == epic.Skipped, t.State == epic.Parked && t.Code == epic.LandedElsewhere:
		default:
			events = append(events, epic.Event{Fact: epic.TaskParked{}, Task: t.ID, Attempt: t.Last().Number, Code: epic.LandedElsewhere, Reason: t.Missing()})
		}
	}
	return events, nil
}
