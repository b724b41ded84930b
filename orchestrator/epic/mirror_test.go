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

// told is what the tracker would be told at a time, as "id status" or "id claim".
func told(s State, now time.Time) (out []string) {
	for _, d := range decisions(s, now) {
		for _, c := range d.Changes {
			word := string(c.Kind)
			if c.Kind == tracker.SetStatus {
				word = string(c.Status)
			}
			out = append(out, c.ID+" "+word)
		}
	}
	return out
}

// idle is a state in which the tracker has just been read and nothing is asked of it.
func idle(t *testing.T, nodes ...Node) State {
	t.Helper()
	limits := testLimits()
	limits.SurveyEvery = time.Hour
	return after(t, NewState(), running(limits), Event{Fact: BaseCheckStarted{}}, green, readNodes(nodes...))
}

var landedOne = []Event{
	startOf("e.1", 1), endOf("e.1", 1, AgentEnded{Changed: true, Head: "h"}),
	{Fact: LandingStarted{Tasks: []TaskID{"e.1"}}},
	{Fact: CandidateJudged{Candidates: Candidates{Tasks: []TaskID{"e.1"}, Commits: []Commit{"c"}}, Verdict: Verdict{Passed: true}}},
	{Fact: TaskLanded{Candidates: Candidates{Tasks: []TaskID{"e.1"}, Commits: []Commit{"c"}}}},
}

// TestMirror: what the tracker is told follows from the state.
func TestMirror(t *testing.T) {
	t.Parallel()
	later := noon.Add(time.Minute)
	mine := Node{ID: "e.1", Parent: "e", Status: "in_progress", Assignee: "orch/e"}
	tests := map[string]struct {
		nodes  []Node
		events []Event
		want   []string
	}{
		"a running task is claimed":      {[]Node{open("e.1")}, []Event{startOf("e.1", 1)}, []string{"e.1 claim"}},
		"one that is claimed is not":     {[]Node{mine}, []Event{startOf("e.1", 1)}, nil},
		"a landed task is closed":        {[]Node{open("e.1"), {ID: "e.2", Parent: "e", Status: "in_progress", Assignee: "bob"}}, landedOne, []string{"e.1 close"}},
		"and with the last one the epic": {[]Node{open("e.1")}, landedOne, []string{"e close", "e.1 close"}},
		"a parked task is blocked":       {[]Node{open("e.1")}, []Event{startOf("e.1", 1), endOf("e.1", 1, AgentEnded{Signal: SignalBlocked}), {Fact: TaskParked{}, Task: "e.1", Attempt: 1, Code: reason.Question}}, []string{"e.1 blocked"}},
		"what a person changed is left as it is": {[]Node{open("e.1")}, []Event{startOf("e.1", 1),
			readNodes(Node{ID: "e.1", Parent: "e", Status: "deferred"}), endOf("e.1", 1, AgentEnded{End: EndedStopped})}, []string{"e open"}},
		"a skipped task as the person said": {[]Node{open("e.1")}, []Event{{Fact: TaskSkipped{Status: "closed"}, Task: "e.1", Reason: "not needed"}}, []string{"e.1 close"}},
		"an interrupted one is given back":  {[]Node{mine}, []Event{startOf("e.1", 1), {Fact: DrainStarted{}, Code: reason.Interrupted}, endOf("e.1", 1, AgentEnded{End: EndedStopped})}, []string{"e.1 open"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := after(t, idle(t, tt.nodes...), tt.events...)
			require.ElementsMatch(t, tt.want, told(s, later))
		})
	}
}

// TestOneCallAtATime: while a call is under way nothing more is asked; then all
// that has gathered goes in one.
func TestOneCallAtATime(t *testing.T) {
	t.Parallel()
	s := after(t, idle(t, open("e.1"), open("e.2"), open("e.3")), startOf("e.1", 1), startOf("e.2", 1), startOf("e.3", 1))
	require.Empty(t, told(s, noon.Add(time.Second)), "a claim waits: the task may land before")
	require.Equal(t, []string{"e.1 claim", "e.2 claim", "e.3 claim"}, told(s, noon.Add(time.Minute)))
	busy := after(t, s, Event{Fact: TrackerBusy{}})
	require.Empty(t, told(busy, noon.Add(time.Minute)))
	answered := after(t, busy, Event{Fact: TrackerWritten{Wrote: []WriteResult{
		{ID: "e.1", Status: "in_progress", By: "orch/e"}, {ID: "e.2", Refused: "no", Kind: "claim"}, {ID: "e.3", Status: "in_progress", By: "orch/e"}}}})
	require.Empty(t, told(answered, noon.Add(time.Minute)), "what was refused is not asked again")
	changed := after(t, answered, readNodes(func() Node { n := open("e.2"); n.Title = "changed"; return n }()))
	require.Equal(t, []string{"e.2 claim"}, told(changed, noon.Add(2*time.Minute)), "until it has changed")
}

// TestTrackerThatDoesNotAnswer is asked again later and later, and in the end the
// run ends without it, saying so.
func TestTrackerThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	s := idle(t, Node{ID: "e.1", Parent: "e", Status: "in_progress", Assignee: "bob"})
	s = after(t, s, Event{Fact: TrackerWritten{}}) // so that it has to be read once more before the end
	at := noon.Add(time.Hour)
	since := at
	var waits []time.Duration
	for range 40 {
		ds := decisions(s, at)
		if len(ds) == 1 && ds[0].Act == Finish {
			sum := Summarize(s, at)
			require.Equal(t, LoopError, sum.Promise)
			require.Equal(t, reason.TrackerDown, sum.Code)
			require.Contains(t, sum.Reason, "it is asleep")
			require.IsNonDecreasing(t, waits)
			require.Greater(t, len(waits), 2)
			return
		}
		if len(ds) == 1 && ds[0].Act == LookAtTip {
			s = after(t, s, ds[0].Event, Event{Fact: TipSeen{}, At: at})
			continue
		}
		if len(ds) == 1 && (ds[0].Act == Survey || ds[0].Act == Write) {
			failed := Event{Fact: TrackerFailed{}, At: at, Reason: "it is asleep"}
			s = after(t, s, ds[0].Event, failed)
			waits = append(waits, at.Sub(since))
			since = at
			continue
		}
		require.Empty(t, ds)
		at = wakeOf(s, at)
	}
	t.Fatal("the run does not end")
}

// TestTakeOver: the clone that had the epic is given time to see that it was taken over before an
// agent starts here.
func TestTakeOver(t *testing.T) {
	t.Parallel()
	limits := testLimits()
	limits.TakeOver, limits.SurveyEvery = true, time.Hour
	theirs := Event{Fact: TrackerRead{Nodes: []Node{{ID: "e", Epic: true, Status: "in_progress", Assignee: "orch/e/other:1"}, open("e.1")}}}
	s := after(t, NewState(), running(limits), Event{Fact: BaseCheckStarted{}}, green, theirs)
	require.Equal(t, []string{"write e open"}, acts(s, noon.Add(time.Minute)))
	at := noon.Add(time.Minute)
	s = after(t, s, Event{Fact: TrackerWritten{Wrote: []WriteResult{{ID: "e", Kind: "status", Status: "open"}}}, At: at},
		Event{Fact: TrackerWritten{Wrote: []WriteResult{{ID: "e", Kind: "claim", Status: "in_progress", By: "orch/e"}}}, At: at},
		Event{Fact: TrackerRead{}, At: at})
	require.NotContains(t, acts(s, at.Add(limits.SurveyEvery)), "start e.1")
	require.Contains(t, acts(s, at.Add(2*limits.SurveyEvery)), "start e.1")

	// What the other had in hand begins anew, once it has had time to see that it was taken over.
	hand := Event{Fact: TrackerRead{Nodes: []Node{{ID: "e.2", Parent: "e", Status: "in_progress", Assignee: "orch/e/other:1"}}}, At: at}
	mid := after(t, s, hand)
	require.NotContains(t, acts(mid, at.Add(limits.SurveyEvery)), "task_parked e.2")
	require.NotContains(t, strings.Join(acts(mid, at.Add(limits.SurveyEvery)), " "), "e.2 open")
	require.Contains(t, strings.Join(acts(after(t, mid, Event{Fact: AttemptStarted{Turn: Turn{Iteration: 1}}, Task: "e.1", Attempt: 1, At: at.Add(2 * limits.SurveyEvery)},
		Event{Fact: TrackerRead{}, At: at.Add(2 * limits.SurveyEvery)}), at.Add(2*limits.SurveyEvery+time.Minute)), " "), "e.2 open")

	limits.TakeOver = false
	s = after(t, NewState(), running(limits), Event{Fact: BaseCheckStarted{}}, green, theirs)
	require.Equal(t, []string{"drain_started"}, acts(s, noon.Add(time.Minute)))
}
