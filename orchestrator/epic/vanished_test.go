package epic_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	. "github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/reason"
)

// TestVanishedIsNotDone: a tracker that has lost all tasks of the epic does not say that they are done.
func TestVanishedIsNotDone(t *testing.T) {
	t.Parallel()
	s := after(t, NewState(), running(testLimits()), readNodes(open("e.1"), open("e.2")))
	s = after(t, s, Event{Fact: TrackerRead{Removed: []TaskID{"e.1", "e.2"}}})
	sum := Summarize(s, noon)
	require.Equal(t, LoopBlocked, sum.Promise)
	require.Equal(t, reason.TrackerDrift, sum.Code)
	s = after(t, NewState(), running(testLimits()), readNodes(open("e.1"), open("e.2")))
	s = after(t, s, Event{Fact: TrackerRead{Removed: []TaskID{"e.1"}}})
	require.Equal(t, 1, Summarize(s, noon).Counts.Total, "one that a person deleted is not missed")
}

// TestFailedCleanIsTriedByTheNextRun, and by that one alone; it keeps no run from its end.
func TestFailedCleanIsTriedByTheNextRun(t *testing.T) {
	t.Parallel()
	s := after(t, NewState(), story()[:14]...) // up to the landing of e.1
	require.Equal(t, Landed, s.Task("e.1").State)
	failed := []Event{{Fact: CleanStarted{}, Task: "e.1", Attempt: 1}, {Fact: AttemptCleaned{}, Task: "e.1", Attempt: 1, Reason: "too many open files"}}
	s = after(t, s, failed...)
	require.False(t, s.Task("e.1").Last().Phase == Removed)
	for _, d := range decisions(s, noon) {
		require.NotEqual(t, Clean, d.Act, "no second time in one run")
	}
	s = after(t, s, Event{Fact: RunEnded{}}, Event{Fact: RunStarted{Epic: s.Epic, Number: s.Run.Number + 1, Mode: s.Run.Mode, Limits: s.Run.Limits}})
	s = after(t, s, Event{Fact: TaskParked{}, Task: "e.3", Code: reason.Question}, Event{Fact: TaskParked{}, Task: "e.2", Code: reason.Question})
	cleans := false
	for range 5 {
		for _, d := range decisions(s, noon) {
			cleans = cleans || d.Act == Clean
			s = after(t, s, d.Event)
		}
	}
	require.True(t, cleans, "the next run tries again")
}
