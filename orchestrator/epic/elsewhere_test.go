package epic_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	. "github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/reason"
	"github.com/beadsorch/orch/orchestrator/tracker"
)

const otherClone = "orch/e/h:0123456789ab"

// closedAs is how the tracker has e.1 when somebody has closed it.
func closedAs(by, reason string) []tracker.Issue {
	at := noon
	return []tracker.Issue{
		{ID: "e", Type: tracker.TypeEpic, Status: tracker.StatusOpen},
		{ID: "e.1", Type: tracker.TypeTask, Status: tracker.StatusClosed, ClosedAt: &at, ClosedBy: by, CloseReason: reason, Dependencies: []tracker.Dependency{{IssueID: "e.1", DependsOnID: "e", Type: tracker.DepParent}}},
	}
}

// TestWhoClosed: only what the orch of another clone has closed, and no person had it close, is to be looked for.
func TestWhoClosed(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		by, reason string
		sought     bool
	}{
		"another clone":                     {otherClone, "landed in 0123456789ab", true},
		"another clone, nobody tells":       {"", "landed in 0123456789ab", true},
		"an agent of another clone":         {otherClone, "done", true},
		"a person there":                    {otherClone, SkipReason("no need"), false},
		"a person there, nobody tells":      {"", SkipReason(""), false},
		"a person":                          {"ann", "landed in 0123456789ab", false},
		"nobody tells":                      {"", "landed in time", false},
		"nobody tells, too short for an id": {"", "landed in 0123456789a", false},
	} {
		s := FromTracker("e", closedAs(tt.by, tt.reason), noon)
		require.Equal(t, tt.sought, len(s.Sought()) == 1, name)
		want := LoopDone
		if tt.sought {
			want = LoopBlocked
		}
		require.Equal(t, want, PromiseOf(s, noon).Promise, name)
	}
}

// TestElsewhere: what depends on work of another clone begins only once that is here, also when the epic
// branch gets it later; a person's word holds until the close is another one.
func TestElsewhere(t *testing.T) {
	t.Parallel()
	limits := testLimits()
	limits.Actor = "orch/e/h:ba9876543210"
	one := Node{ID: "e.1", Parent: "e", Status: "closed", ClosedBy: otherClone, LandedIn: "0123456789ab"}
	s := after(t, NewState(), Event{At: noon, Fact: RunStarted{Epic: "e", Number: 1, Mode: ModeRun, Tip: "tip", Limits: limits}},
		Event{At: noon, Fact: TrackerRead{Nodes: []Node{{ID: "e", Epic: true, Status: "in_progress", Assignee: limits.Actor}, one, {ID: "e.2", Parent: "e", Status: "open", Needs: [][]TaskID{{"e.1"}}}}}},
		Event{At: noon, Fact: BaseChecked{Verdict: Verdict{Passed: true}}})
	require.Equal(t, SeekLandings, decideAct(s))
	parked := after(t, s, Event{Fact: LandingSeekStarted{}}, Event{At: noon, Fact: TaskParked{}, Task: "e.1", Code: reason.LandedElsewhere, Reason: "r"}, Event{Fact: LandingSeekEnded{Tip: "tip", Tasks: []TaskID{"e.1"}}})
	require.NotEqual(t, SeekLandings, decideAct(parked), "once for each tip")
	require.False(t, parked.IsReady(parked.Task("e.2"), noon))
	require.Equal(t, reason.DepFailed, ObstacleOf(parked, parked.Task("e.2"), noon).Code)
	require.Equal(t, reason.LandedElsewhere, PromiseOf(parked, noon).Code)

	later := after(t, parked, Event{At: noon, Fact: BranchAccepted{TipMove: TipMove{From: "tip", To: "tip2", Forward: true}}}, Event{At: noon, Fact: BaseChecked{Verdict: Verdict{Passed: true}}})
	require.Equal(t, SeekLandings, decideAct(later), "the branch is another")
	found := after(t, later, Event{Fact: LandingSeekStarted{}}, Event{At: noon, Fact: TaskFound{Commit: "0123456789abcdef"}, Task: "e.1"}, Event{Fact: LandingSeekEnded{Tip: "tip2", Tasks: []TaskID{"e.1"}}})
	require.Equal(t, Landed, found.Task("e.1").State)
	require.True(t, found.IsReady(found.Task("e.2"), noon))
	require.Equal(t, LandingSeekEnded{}, Current(found, Event{Fact: TaskParked{}, Task: "e.1", Code: reason.LandedElsewhere}).Fact, "an answer that came too late")

	renamed := one
	renamed.Title = "another title"
	retried := after(t, parked, Event{At: noon, Fact: TaskRetried{}, Task: "e.1"}, Event{At: noon, Fact: TrackerRead{Nodes: []Node{renamed}}})
	require.Empty(t, retried.Sought(), "read once more before the tracker had it open")
	require.True(t, retried.IsReady(retried.Task("e.1"), noon))
	skipped := after(t, parked, Event{At: noon, Fact: TaskSkipped{Status: "closed"}, Task: "e.1"}, Event{At: noon, Fact: TrackerRead{Nodes: []Node{renamed}}})
	require.True(t, skipped.Task("e.1").Done())
	opened := one
	opened.Status, opened.ClosedBy, opened.LandedIn = "open", "", ""
	require.Equal(t, Waiting, after(t, parked, Event{At: noon, Fact: TrackerRead{Nodes: []Node{opened}}}).Task("e.1").State, "opened again by somebody")
}

func decideAct(s State) Act {
	ds, _ := Decide(s, noon.Add(time.Second))
	if len(ds) == 0 {
		return Nothing
	}
	return ds[0].Act
}

// FuzzClosedAs: whatever the tracker says of a close, a task that names a commit is looked for by an id, and one
// that is done is not looked for.
func FuzzClosedAs(f *testing.F) {
	f.Add(otherClone, "landed in 0123456789ab")
	f.Add("", "landed in 0123456789abcdefg")
	f.Add("orch/", "skipped by a person")
	f.Fuzz(func(t *testing.T, by, reason string) {
		s := FromTracker("e", closedAs(by, reason), noon)
		one := s.Task("e.1")
		require.Empty(t, strings.Trim(string(one.LandedIn), "0123456789abcdef"))
		require.False(t, one.Done() && one.Elsewhere)
		if strings.HasPrefix(by, ActorPrefix) && !one.Waived {
			require.False(t, one.Done(), "an orch's word alone")
		}
		require.NotEmpty(t, s.Missing(one))
	})
}

// TestElsewhereWhileOpen: a close that says the task has landed, by nobody whom the tracker names, is another
// clone's also where an attempt was open here when it was made; unless this clone had the epic all the while.
func TestElsewhereWhileOpen(t *testing.T) {
	t.Parallel()
	const actor = "orch/e/h:ba9876543210"
	limits := testLimits()
	limits.Actor = actor
	one := Node{ID: "e.1", Parent: "e", Status: "closed", ClosedAt: noon.Add(time.Minute), LandedIn: "0123456789ab"}
	mine, back, over := epicOf("in_progress", actor), epicOf("open", ""), epicOf("closed", otherClone)
	for name, tt := range map[string]struct {
		epic   Node
		closed Node
		sought bool
	}{
		"the other has closed the epic":     {over, one, true},
		"the other has given the epic back": {back, one, true},
		"the epic was here all the while":   {mine, one, false},
		"it says nothing of a landing":      {over, Node{ID: "e.1", Parent: "e", Status: "closed", ClosedAt: noon.Add(time.Minute)}, false},
	} {
		s := after(t, NewState(), Event{At: noon, Fact: RunStarted{Epic: "e", Number: 1, Mode: ModeRun, Tip: "tip", Limits: limits}},
			Event{At: noon, Fact: TrackerRead{Nodes: []Node{mine, open("e.1", "e")}}}, Event{At: noon, Fact: BaseCheckStarted{}}, green,
			Event{At: noon, Fact: AttemptStarted{Turn: Turn{Iteration: 1, Base: "tip"}}, Task: "e.1", Attempt: 1},
			Event{At: noon.Add(time.Hour), Fact: RunStarted{Epic: "e", Number: 2, Mode: ModeRun, Tip: "tip", Limits: limits}})
		seen := Apply(s, Event{At: noon.Add(time.Hour), Fact: TrackerRead{Nodes: []Node{tt.epic, tt.closed}}}).Left(noon.Add(time.Hour))
		require.Equal(t, tt.sought, len(seen.Sought()) == 1, name+", for who looks")
		s = after(t, s, Event{At: noon.Add(time.Hour), Fact: AttemptLost{}, Task: "e.1", Attempt: 1, Code: reason.Orphaned, Reason: "r"},
			Event{At: noon.Add(time.Hour), Fact: TrackerRead{Nodes: []Node{tt.epic, tt.closed}}})
		require.Equal(t, tt.sought, len(s.Sought()) == 1, name)
		renamed := tt.closed
		renamed.Title = "another title"
		s = after(t, s, Event{At: noon.Add(time.Hour), Fact: TrackerRead{Nodes: []Node{epicOf("in_progress", actor), renamed}}})
		require.Equal(t, tt.sought, len(s.Sought()) == 1, name+", read again")
	}
}

// TestNobodyIsDoneWhileAnotherCloneHasTheEpic: all tasks are closed, and another clone has the epic: it may land more.
func TestNobodyIsDoneWhileAnotherCloneHasTheEpic(t *testing.T) {
	t.Parallel()
	issues := closedAs("ann", "done")
	require.Equal(t, LoopDone, PromiseOf(FromTracker("e", issues, noon), noon).Promise)
	for i := range issues {
		if issues[i].ID == "e" {
			issues[i].Status, issues[i].Assignee = "in_progress", otherClone
		}
	}
	s := FromTracker("e", issues, noon)
	o := PromiseOf(s, noon)
	require.Equal(t, LoopBlocked, o.Promise)
	require.Equal(t, reason.RunActive, o.Code)
	require.Equal(t, reason.RunActive, OfferTo(s, Asker{Is: bert.Same, Gone: func(*Task) bool { return false }, MaxParallel: 1}, noon).Code)
}
