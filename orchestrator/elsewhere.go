package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/git"
	"github.com/beadsorch/orch/orchestrator/land"
	"github.com/beadsorch/orch/orchestrator/reason"
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
		c, err := land.Named(ctx, repo, string(t.LandedIn), string(t.ID))
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
		case t.State == epic.Skipped, t.State == epic.Parked && t.Code == reason.LandedElsewhere:
		default:
			events = append(events, epic.Event{Fact: epic.TaskParked{}, Task: t.ID, Attempt: t.Last().Number, Code: reason.LandedElsewhere, Reason: s.Missing(t)})
		}
	}
	return events, nil
}

// ErrUnsettled says that the epic branch is not where the last landing left it.
var ErrUnsettled = errors.New("the epic branch is not where the last landing left it, and that is to be settled first")

// MergeBranch puts a commit of another clone's epic branch, which a person has fetched, onto the epic branch, as
// the person asks; only between Open and Run. It fails with ErrInPlace where the branch has it,
// ErrUnsettled, a [*land.ConflictError], and as git and the journal do.
func (o *Orchestrator) MergeBranch(ctx context.Context, c epic.Commit) (epic.TipMove, error) {
	s, b := o.loop.State, o.fx.branch()
	m := epic.TipMove{From: s.Tip, Forward: true}
	if s.Moved.Pending() && (s.Moved.To == "" || len(s.Moved.Lost) > 0) || s.Tip == "" {
		return m, ErrUnsettled
	}
	if s.Moved.Pending() {
		m.From = s.Moved.To // moved forward by a person: that is taken along
	}
	to, err := land.Join(ctx, o.fx.Repo, m.From, c, fmt.Sprintf("Merge the work of another clone for %s", s.Epic))
	if err != nil {
		return m, err
	}
	if m.To = to; to == m.From {
		return m, ErrInPlace
	}
	d, err := land.Since(ctx, o.fx.Repo, m.From, to)
	if err != nil {
		return m, err
	}
	m.Foreign = d
	if err := land.Move(ctx, o.fx.Repo, land.Step{Branch: b.name, From: m.From, To: to, Lease: *b.lease, Pin: land.TipRef(b.epic)}); err != nil {
		return m, fmt.Errorf("moving the epic branch: %w", err)
	}
	return m, o.loop.record(epic.Event{Fact: epic.BranchAccepted{TipMove: m}, Reason: "by a person: merged with the work of another clone"})
}
