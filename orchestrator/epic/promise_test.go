package epic_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	. "github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/reason"
	"github.com/beadsorch/orch/orchestrator/tracker"
)

// TestWorkOf counts each task once; the epic itself, which the tracker calls ready, never. Where
// orch has not run yet the tracker alone is asked.
func TestWorkOf(t *testing.T) {
	t.Parallel()
	of := func(id string, status tracker.Status, needs ...string) tracker.Issue {
		i := issue(id, "e", needs...)
		i.Status = status
		return i
	}
	bobs := of("e.1", "in_progress")
	bobs.Assignee = "bob"
	root := tracker.Issue{ID: "e", Title: "E", Type: tracker.TypeEpic, Status: tracker.StatusOpen}
	below := tracker.Issue{ID: "e.9", Title: "below", Type: tracker.TypeEpic, Status: tracker.StatusOpen, Dependencies: issue("e.9", "e").Dependencies}
	inner := of("e.9.1", "open")
	inner.Dependencies = issue("e.9.1", "e.9").Dependencies
	tests := map[string]struct {
		issues  []tracker.Issue
		want    Work
		promise Promise
	}{
		"nothing":                {nil, Work{}, LoopDone},
		"all closed":             {[]tracker.Issue{of("e.1", "closed")}, Work{Done: 1}, LoopDone},
		"ready":                  {[]tracker.Issue{of("e.1", "open"), of("e.2", "open", "e.1")}, Work{Ready: 1, Waiting: 1}, LoopContinue},
		"in progress":            {[]tracker.Issue{of("e.1", "in_progress"), of("e.2", "open", "e.1"), of("e.3", "open", "e.2")}, Work{InProgress: 1, Waiting: 2}, LoopContinue},
		"in bob's hands":         {[]tracker.Issue{bobs}, Work{InProgress: 1}, LoopContinue},
		"behind what is blocked": {[]tracker.Issue{of("e.1", "blocked"), of("e.2", "open", "e.1"), of("e.3", "open", "e.2"), of("e.4", "closed")}, Work{Blocked: 3, Done: 1}, LoopBlocked},
		"a circle":               {[]tracker.Issue{of("e.1", "open", "e.2"), of("e.2", "open", "e.1")}, Work{Blocked: 2}, LoopBlocked},
		"deferred":               {[]tracker.Issue{of("e.1", "deferred")}, Work{Blocked: 1}, LoopBlocked},
		"behind an epic":         {[]tracker.Issue{below, inner, of("e.1", "open", "e.9")}, Work{Ready: 1, Waiting: 1}, LoopContinue},
		"another epic's":         {[]tracker.Issue{{ID: "x", Title: "x", Status: "open", Type: "task"}}, Work{}, LoopDone},
	}
	for name, tt := range tests {
		s := FromTracker("e", append(tt.issues, root), noon)
		require.Equal(t, tt.want, WorkOf(s, noon), name)
		require.Equal(t, tt.promise, PromiseOf(s, noon).Promise, name)
	}
	require.Equal(t, "1 ready, 2 waiting", Work{Ready: 1, Waiting: 2}.String())
}

// TestPromiseAfterRun: a run that ended because the tracker was silent is an error until the
// tracker has been read since.
func TestPromiseAfterRun(t *testing.T) {
	t.Parallel()
	s := after(t, idle(t, open("e.1")), Event{Fact: RunEnded{Promise: LoopError}, At: noon.Add(time.Minute), Code: reason.TrackerDown})
	o := PromiseOf(s, noon.Add(time.Hour))
	require.Equal(t, LoopError, o.Promise)
	require.Equal(t, reason.TrackerDown, o.Code)
	s = after(t, s, Event{Fact: TrackerRead{}, At: noon.Add(2 * time.Minute)})
	require.Equal(t, Outlook{LoopContinue, "", "0 of 1 tasks closed; 1 ready"}, PromiseOf(s, noon.Add(time.Hour)))
}

// TestAMovedBranchIsNamedAtALimitToo: no run goes on before it is settled, whatever the newest one ended for.
func TestAMovedBranchIsNamedAtALimitToo(t *testing.T) {
	t.Parallel()
	for _, code := range []reason.Code{"", reason.RunIterations, reason.Interrupted, reason.EpicMoved} {
		s := idle(t, open("e.1"))
		s.Run.Drain, s.Run.DrainWhy = code, "why"
		o := PromiseOf(s.WithBranch(TipMove{From: "a", To: "b", Lost: []TaskID{"e.1"}}), noon)
		require.Equal(t, LoopBlocked, o.Promise, code)
		require.Equal(t, reason.EpicMoved, o.Code, code)
	}
}

// TestForeignCommitOnADoneEpic: nobody says that all is done before the gate has judged what others put on the branch,
// whatever it said of the branch before; and a session has that done.
func TestForeignCommitOnADoneEpic(t *testing.T) {
	t.Parallel()
	foreign := TipMove{From: "c", To: "x", Forward: true, Foreign: []string{"x theirs"}}
	done := after(t, idle(t, open("e.1")), landedOne...)
	done = after(t, done, Event{Fact: TrackerWritten{Wrote: []WriteResult{{ID: "e.1", Kind: "close", Status: "closed"}}}}, Event{Fact: RunEnded{Promise: LoopDone}, At: noon.Add(time.Minute)})
	require.Equal(t, LoopDone, PromiseOf(done, noon).Promise)
	require.Equal(t, LoopDone, PromiseOf(done.WithBranch(TipMove{}), noon).Promise)
	found := done.WithBranch(foreign)
	require.Equal(t, LoopContinue, PromiseOf(found, noon).Promise)
	who := Asker{Is: func(SessionHolder) bool { return false }, Gone: func(*Task) bool { return false }, MaxParallel: 1}
	require.False(t, OfferTo(found, who, noon).Hopeless())
	require.True(t, OfferTo(done, who, noon).Hopeless())
	who.Held = true
	require.True(t, OfferTo(found, who, noon).Hopeless(), "who has the epic has it judged")

	doubted := idle(t, Node{ID: "e.1", Parent: "e", Status: "closed", ClosedBy: "orch/e"})
	require.Equal(t, LoopContinue, PromiseOf(doubted, noon).Promise)
	require.False(t, OfferTo(doubted, Asker{Is: who.Is, Gone: who.Gone, MaxParallel: 1}, noon).Hopeless(), "who hands out opens it again")

	red := done
	red.Gate, red.Run.Drain, red.Run.DrainWhy = GateRed, reason.BaseRed, "red"
	require.Equal(t, LoopBlocked, PromiseOf(red, noon).Promise)
	require.Equal(t, LoopContinue, PromiseOf(red.WithBranch(foreign), noon).Promise, "it may be mended")
}

// TestARedBranchHoldsWhatWaitsToLand: a run that ends for the gate on the epic branch says that a person is needed,
// though work waits to land there.
func TestARedBranchHoldsWhatWaitsToLand(t *testing.T) {
	t.Parallel()
	s := after(t, idle(t, open("e.1")), startOf("e.1", 1), endOf("e.1", 1, AgentEnded{Changed: true, Head: "h"}))
	require.Equal(t, LoopContinue, PromiseOf(s, noon).Promise)
	s.Gate, s.Run.Drain, s.Run.DrainWhy = GateRed, reason.BaseRed, "red"
	require.Equal(t, LoopContinue, PromiseOf(s, noon).Promise, "it lands yet")
	held := after(t, s, Event{Fact: BranchHeld{Dir: "/w"}})
	require.Equal(t, LoopBlocked, PromiseOf(held, noon).Promise)
	require.Equal(t, LoopBlocked, PromiseOf(s.WithoutRun(noon), noon).Promise)
}
