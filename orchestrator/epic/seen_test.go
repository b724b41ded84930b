package epic_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	. "github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/reason"
	"github.com/beadsorch/orch/orchestrator/tracker"
)

// TestPausedIsAPersons: a paused run that has nothing under way moves only by a person; one that was
// killed, or has ended, is not paused any more.
func TestPausedIsAPersons(t *testing.T) {
	t.Parallel()
	s := after(t, idle(t, open("e.1"), open("e.2")), Event{Fact: RunPaused{}})
	require.Equal(t, Outlook{LoopBlocked, "", "paused; orch continue e"}, PromiseOf(s, noon))
	require.Equal(t, LoopBlocked, PromiseOf(s.Seen(true, nil, noon), noon).Promise)
	require.Equal(t, LoopContinue, PromiseOf(s.Seen(false, nil, noon), noon).Promise, "killed: the next run is not paused")

	works := after(t, s, Event{Fact: AttemptStarted{Turn: Turn{Iteration: 1, Base: "tip0"}}, Task: "e.1", Attempt: 1})
	require.Equal(t, LoopContinue, PromiseOf(works, noon).Promise, "what runs goes on to its end")

	require.Equal(t, LoopContinue, PromiseOf(after(t, s, Event{Fact: RunContinued{}}), noon).Promise)
	ended := after(t, s, Event{Fact: DrainStarted{}, Code: reason.Interrupted, Reason: "asked"}, Event{Fact: RunEnded{Promise: LoopContinue}})
	require.Equal(t, LoopContinue, PromiseOf(ended, noon).Promise)
}

// TestKilledAtALimit: nobody is at work on what the agents of a killed run had in hand. At a limit that was set
// it waits for a person, as what is ready does; work that waits to land goes on by itself.
func TestKilledAtALimit(t *testing.T) {
	t.Parallel()
	works := after(t, idle(t, open("e.1"), open("e.2")), startOf("e.1", 1))
	killed := works.Seen(false, nil, noon)
	require.Equal(t, LoopContinue, PromiseOf(killed, noon).Promise)
	require.Equal(t, Counts{Total: 2, Ready: 2}, Count(killed, noon))
	require.Equal(t, Ready, killed.StateOf(killed.Task("e.1"), noon))
	require.True(t, killed.Task("e.1").Last().Open(), "the next run looks at its work")
	require.True(t, killed.Run.CutOff())
	require.Equal(t, Running, works.Task("e.1").State, "the state itself stays")

	limit := after(t, works, Event{Fact: DrainStarted{}, Code: reason.TimeUp, Reason: "Maximum duration (3 seconds) reached"})
	require.Equal(t, LoopContinue, PromiseOf(limit.Seen(true, nil, noon), noon).Promise, "an agent is at work")
	seen := limit.Seen(false, nil, noon)
	require.True(t, seen.AtLimit())
	require.Equal(t, Outlook{LoopBlocked, reason.TimeUp, "Maximum duration (3 seconds) reached"}, PromiseOf(seen, noon))

	// A short command leaves it as it was, and meets the same.
	next := RunStarted{Epic: "e", Number: 1, Mode: ModeNext, Limits: limit.Run.Limits, Tip: limit.Tip}
	begun := after(t, limit, Event{Fact: next, At: noon})
	lost := after(t, begun, Event{Fact: AttemptLost{}, Task: "e.1", Attempt: 1, Code: reason.Orphaned}, Event{Fact: RunEnded{Promise: LoopBlocked}, At: noon})
	for _, s := range []State{begun.Seen(false, nil, noon), lost, lost.Seen(false, nil, noon)} {
		require.True(t, s.Run.CutOff())
		require.Equal(t, PromiseOf(seen, noon), PromiseOf(s, noon))
		require.Equal(t, Count(seen, noon), Count(s, noon))
	}
}

// TestSeenTakesRequests: what was asked for counts before anybody has taken it, and what is not
// possible, or only for a run that goes on, does not.
func TestSeenTakesRequests(t *testing.T) {
	t.Parallel()
	s := after(t, idle(t, open("e.1")), Event{Fact: TaskParked{}, Task: "e.1", Code: reason.Question, Reason: "which?"}, Event{Fact: RunEnded{Promise: LoopBlocked}})
	require.Equal(t, LoopBlocked, PromiseOf(s, noon).Promise)
	answer := Event{Fact: TaskRetried{Hint: "the first"}, Task: "e.1", Request: "1-a", At: noon}
	seen := s.Seen(false, []Event{answer}, noon)
	require.Equal(t, LoopContinue, PromiseOf(seen, noon).Promise)
	require.Equal(t, 1, Count(seen, noon).Ready)
	require.Equal(t, Parked, s.Task("e.1").State, "the state itself stays")

	require.Equal(t, LoopBlocked, PromiseOf(s.Seen(false, []Event{{Fact: TaskRetried{}, Task: "e.7", Request: "1-b"}}, noon), noon).Promise, "no such task")
	drain := Event{Fact: DrainStarted{}, Code: reason.TimeUp, Request: "1-c"}
	require.Empty(t, s.Seen(false, []Event{drain}, noon).Run.Drain, "its run is over")

	skip := Event{Fact: TaskSkipped{Status: "closed"}, Task: "e.1", Request: "1-d"}
	o := PromiseOf(s.Seen(false, []Event{skip}, noon), noon)
	require.Equal(t, LoopContinue, o.Promise, "somebody has to tell the tracker")
	require.Contains(t, o.Reason, "not taken yet")
}

// TestSkipCountsBeforeItIsTaken: a reading of the tracker, which has yet to be told, takes nothing back of what was asked.
func TestSkipCountsBeforeItIsTaken(t *testing.T) {
	t.Parallel()
	after2 := open("e.2")
	after2.Needs = [][]TaskID{{"e.1"}}
	s := after(t, idle(t, open("e.1"), after2), Event{Fact: RunEnded{Promise: LoopContinue}})
	issues := []tracker.Issue{{ID: "e", Type: tracker.TypeEpic, Status: "open"}, issue("e.1", "e"), issue("e.2", "e", "e.1")}
	skip := func(status string) State {
		asked := Event{Fact: TaskSkipped{Status: status}, Task: "e.1", Request: "1-a", At: noon}
		return WithSurvey(s.Seen(false, []Event{asked}, noon), issues, noon.Add(time.Second))
	}
	require.Equal(t, Counts{Total: 2, Done: 1, Ready: 1}, Count(skip("closed"), noon))
	require.Equal(t, Skipped, skip("blocked").Task("e.1").State)
	require.Equal(t, LoopBlocked, PromiseOf(skip("blocked"), noon).Promise)
}

// TestRetriedWhileItIsBeingClosed: the tracker's answer to a close that was under way when a person had the task tried
// again is not its end.
func TestRetriedWhileItIsBeingClosed(t *testing.T) {
	t.Parallel()
	s := after(t, idle(t, open("e.1")), Event{Fact: TaskSkipped{Status: "closed"}, Task: "e.1"}, Event{Fact: TrackerBusy{}},
		Event{Fact: TaskRetried{}, Task: "e.1"}, Event{Fact: TrackerWritten{Wrote: []WriteResult{{ID: "e.1", Kind: "close", Status: "closed"}}}, At: noon})
	require.Equal(t, Ready, s.StateOf(s.Task("e.1"), noon))
	require.Contains(t, told(s, noon.Add(time.Minute)), "e.1 open")
}

// TestTrackerLost: without its tracker an epic is never done.
func TestTrackerLost(t *testing.T) {
	t.Parallel()
	closed := open("e.1")
	closed.Status, closed.ClosedBy = "closed", "bob"
	done := after(t, idle(t, closed), Event{Fact: RunEnded{Promise: LoopDone}})
	require.Equal(t, LoopDone, PromiseOf(done, noon).Promise)
	require.Equal(t, Outlook{LoopError, reason.TrackerDown, "the tracker does not answer: bd is gone"}, PromiseOf(done.WithoutTracker(reason.TrackerDown, "bd is gone"), noon))
	o := PromiseOf(done.WithoutTracker(reason.TrackerDrift, "it has no epic e"), noon)
	require.Equal(t, LoopError, o.Promise)
	require.Equal(t, reason.TrackerDrift, o.Code)
	back := WithSurvey(done.WithoutTracker(reason.TrackerDown, "bd is gone"), []tracker.Issue{{ID: "e", Type: tracker.TypeEpic, Status: "open"}, issue("e.1", "e")}, noon.Add(time.Second))
	require.NotEqual(t, LoopError, PromiseOf(back, noon).Promise)
}

// TestShortCommandsAreNoRuns: next and land leave the newest run as it was, with its limit; where
// there was none, there is none.
func TestShortCommandsAreNoRuns(t *testing.T) {
	t.Parallel()
	limit := after(t, idle(t, open("e.1"), open("e.2")), Event{Fact: DrainStarted{}, Code: reason.TimeUp, Reason: "Maximum duration (3 seconds) reached"}, Event{Fact: RunEnded{Promise: LoopBlocked}})
	require.True(t, limit.AtLimit())
	land := after(t, limit, Event{Fact: RunStarted{Epic: "e", Number: limit.Run.Number, Mode: ModeLand, Limits: limit.Run.Limits, Tip: limit.Tip}}, Event{Fact: RunEnded{Promise: LoopContinue}})
	require.Equal(t, limit.Run, land.Run)
	require.Equal(t, PromiseOf(limit, noon), PromiseOf(land, noon))

	red := after(t, idle(t, open("e.1")), Event{Fact: DrainStarted{}, Code: reason.BaseRed, Reason: "red"}, Event{Fact: RunEnded{Promise: LoopBlocked}})
	next := RunStarted{Epic: "e", Number: red.Run.Number, Mode: ModeNext, Limits: red.Run.Limits, Tip: red.Tip}
	require.Empty(t, after(t, red, Event{Fact: next}, Event{Fact: RunEnded{Promise: LoopContinue}}).Run.Drain, "it was mended meanwhile")
	require.Equal(t, reason.BaseRed, after(t, idle(t, open("e.1")), Event{Fact: RunEnded{Promise: LoopContinue}}, Event{Fact: next},
		Event{Fact: DrainStarted{}, Code: reason.BaseRed, Reason: "red"}, Event{Fact: RunEnded{Promise: LoopBlocked}}).Run.Drain, "the next one meets it too")

	none := RunStarted{Epic: "e", Mode: ModeNext, Limits: Limits{Actor: "orch/e/here", MaxParallel: 2}}
	first := after(t, NewState(), Event{Fact: none, At: noon}, Event{Fact: TrackerRead{Nodes: []Node{open("e.1")}}, At: noon}, Event{Fact: RunEnded{Promise: LoopContinue}, At: noon})
	require.Zero(t, first.Run.Number)
	require.Equal(t, "orch/e/here", first.Run.Limits.Actor, "who has claimed what is known")
	require.True(t, first.Driven())
	later := noon.Add(time.Hour)
	second := after(t, first, Event{Fact: none, At: later}, Event{Fact: RunEnded{Promise: LoopContinue}, At: later})
	require.Zero(t, Summarize(second, later).Took, "no run has begun")
	require.False(t, NewState().Driven())
	run := none
	run.Number, run.Mode = 1, ModeRun
	require.Equal(t, 1, after(t, first, Event{Fact: run, At: noon}).Run.Number)
}

// TestStateOf: a task that a person has closed is theirs, though a killed run has left its attempt open;
// it is counted as it is shown.
func TestStateOf(t *testing.T) {
	t.Parallel()
	closed := open("e.1")
	closed.Status, closed.ClosedBy, closed.ClosedAt = "closed", "bob", noon.Add(time.Minute)
	s := after(t, idle(t, open("e.1")), startOf("e.1", 1), readNodes(closed))
	require.Equal(t, Running, s.Task("e.1").State)
	require.Equal(t, Skipped, s.StateOf(s.Task("e.1"), noon))
	require.Equal(t, Counts{Total: 1, Done: 1}, Count(s, noon))
}
