package epic

import (
	"reflect"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/beadsorch/orch/orchestrator/reason"
	"github.com/beadsorch/orch/orchestrator/tracker"
)

// nodesOf is the part of the tracker that an epic's scheduling rests on: the
// epic, all below it, and what they wait for outside.
func nodesOf(x *tracker.Index, epic TaskID) []Node {
	ids := append([]string{string(epic)}, x.Descendants(string(epic))...)
	inside := map[string]bool{}
	for _, id := range ids {
		inside[id] = true
	}
	var nodes []Node
	outside := map[string]bool{}
	for _, id := range ids {
		issue, ok := x.Issue(id)
		if !ok {
			continue
		}
		n := nodeOf(x, issue)
		for _, row := range n.Needs {
			for _, need := range row {
				if !inside[string(need)] {
					outside[string(need)] = true
				}
			}
		}
		nodes = append(nodes, n)
	}
	for id := range outside {
		if issue, ok := x.Issue(id); ok {
			nodes = append(nodes, Node{ID: TaskID(id), Title: issue.Title, External: true, Status: string(issue.Status)})
		}
	}
	sort.Slice(nodes, func(i, j int) bool { return nodes[i].ID < nodes[j].ID })
	return nodes
}

func nodeOf(x *tracker.Index, issue tracker.Issue) Node {
	n := Node{
		ID: TaskID(issue.ID), Title: issue.Title, Status: string(issue.Status), Assignee: issue.Assignee,
		Priority: issue.Priority, CreatedAt: issue.CreatedAt.UTC(), Estimate: Minutes(issue.EstimatedMinutes),
		Epic: issue.Type == "epic", NotForAgents: !tracker.Workable(issue),
	}
	if issue.ClosedAt != nil {
		n.ClosedAt, n.ClosedBy = issue.ClosedAt.UTC(), issue.ClosedBy
		n.LandedIn, n.Waived = landingIn(issue.CloseReason), strings.HasPrefix(issue.CloseReason, waived)
	}
	if issue.Status == tracker.StatusBlocked {
		n.Parked = parkedBy(issue.Notes)
	}
	if issue.DeferUntil != nil {
		n.DeferTill = issue.DeferUntil.UTC()
	}
	if parent, ok := x.Parent(issue.ID); ok {
		n.Parent = TaskID(parent)
	}
	n.Agent = AgentOf(issue.Labels)
	for _, row := range x.Blockers(issue.ID) {
		ids := make([]TaskID, len(row))
		for i, id := range row {
			ids[i] = TaskID(id)
		}
		n.Needs = append(n.Needs, ids)
	}
	return n
}

// DefaultAgent is who does a task whose labels name nobody.
const DefaultAgent = "me"

// AgentOf is the agent that an issue's labels name, the last of them; "" for none.
func AgentOf(labels []string) (agent string) {
	for _, label := range labels {
		if name, ok := strings.CutPrefix(label, "agent:"); ok {
			agent = name
		}
	}
	return agent
}

// Diff is what the tracker's issues say of the epic that the state does not
// know yet; took is how long reading them took.
func Diff(s State, x *tracker.Index, took time.Duration) TrackerRead {
	r := TrackerRead{Took: took}
	seen := map[TaskID]bool{}
	for _, n := range nodesOf(x, s.Epic) {
		seen[n.ID] = true
		if issue, ok := x.Issue(string(n.ID)); ok {
			n = s.withUpdate(n, issue.UpdatedAt)
		}
		t := s.Task(n.ID)
		named := t != nil && t.State != Landed && t.Status == statusClosed && (t.ClosedBy == "" || t.Elsewhere) && n.ClosedBy != t.ClosedBy && n.ClosedBy != "" // a tracker may tell so later
		if t == nil || t.Deleted || named || !sameNode(t.Node, n) {
			r.Nodes = append(r.Nodes, n)
		}
	}
	for _, t := range s.Tasks {
		if !seen[t.ID] && !t.Deleted {
			r.Removed = append(r.Removed, t.ID)
		}
	}
	return r
}

// sameNode reports whether b says nothing that a did not. By whom and when a
// closed issue was closed is no news by itself, nor is the note of a parked one.
func sameNode(a, b Node) bool {
	if a.Status == b.Status {
		a.ClosedAt, a.ClosedBy = b.ClosedAt, b.ClosedBy
	}
	a.Parked = b.Parked
	return reflect.DeepEqual(a, b)
}

// ErrNotEpic says that an id is not an epic of the tracker.
type ErrNotEpic struct {
	ID     TaskID
	Exists bool            // it is there, but nothing is below it
	Open   []tracker.Issue // epics that are not closed
}

// Error says what the tracker has instead.
func (e *ErrNotEpic) Error() string { return "no epic " + string(e.ID) + " in this tracker" }

// FindEpic looks the epic up. It fails with *ErrNotEpic when the id is unknown,
// or is an issue that is no epic and has nothing below it.
func FindEpic(issues []tracker.Issue, epic TaskID) (tracker.Issue, error) {
	x := tracker.NewIndex(issues)
	issue, ok := x.Issue(string(epic))
	if ok && (issue.Type == "epic" || len(x.Children(string(epic))) > 0) {
		return issue, nil
	}
	missing := &ErrNotEpic{ID: epic, Exists: ok}
	for _, i := range issues {
		if i.Type == "epic" && i.Status != tracker.StatusClosed {
			missing.Open = append(missing.Open, i)
		}
	}
	slices.SortFunc(missing.Open, func(a, b tracker.Issue) int { return strings.Compare(a.ID, b.ID) })
	return tracker.Issue{}, missing
}

// WithSurvey gives the state as it is once the tracker's issues are known. It is for
// those who only look; a run records the difference.
func WithSurvey(s State, issues []tracker.Issue, now time.Time) State {
	if s.Epic == "" {
		return s
	}
	r := Diff(s, tracker.NewIndex(issues), 0)
	s = Apply(s, Event{At: now, Fact: r})
	if s.Run.Drain == reason.RunActive && !s.Run.Ended.IsZero() && s.Holder() == "" {
		s.Run.Drain, s.Run.DrainWhy = "", "" // the clone that had the epic has given it back
	}
	return s
}

// FromTracker is the state of an epic that orch has not run yet: what the tracker says of it,
// and nothing else.
func FromTracker(epic TaskID, issues []tracker.Issue, now time.Time) State {
	s := NewState()
	s.Epic, s.Run.Limits.Actor = epic, ActorPrefix+string(epic)
	return WithSurvey(s, issues, now)
}
