package epic_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	. "github.com/beadsorch/orch/orchestrator/epic"
)

// TestPhases follows an attempt from event to event.
func TestPhases(t *testing.T) {
	t.Parallel()
	of := func(f Fact) Event { return Event{Fact: f, Task: "e.1", Attempt: 1} }
	s := started(t, testLimits(), open("e.1"))
	for _, step := range []struct {
		fact Fact
		want Phase
	}{
		{AttemptStarted{Turn: Turn{Base: "tip"}}, Starting},
		{AgentStarted{}, Working},
		{AgentExited{}, Inspecting},
		{AgentEnded{End: EndedItself, Signal: SignalContinue, Changed: true, Head: "h"}, BetweenTurns},
		{IterationStarted{Turn: Turn{Iteration: 2}}, Starting},
		{AttemptStopped{}, Stopping},
		{AgentStarted{}, Stopping}, // it was told too late
		{AgentEnded{End: EndedItself, Changed: true, Head: "h"}, BetweenTurns},
		{TaskSkipped{}, BetweenTurns},
		{TaskParked{}, Ended},
		{CleanStarted{}, Removing},
		{AttemptCleaned{}, Removed},
	} {
		s = after(t, s, of(step.fact))
		require.Equal(t, step.want, s.Task("e.1").Last().Phase, "after %s", of(step.fact).Kind())
		require.Equal(t, step.want != Ended && step.want != Removing && step.want != Removed, s.Task("e.1").Last().Open())
	}
	s = after(t, started(t, testLimits(), open("e.1")), of(AttemptStarted{InSession: true}), of(AttemptHanded{}))
	require.Equal(t, HandedOver, s.Task("e.1").Last().Phase)
	s = after(t, s, of(AttemptLost{Head: "h"}))
	require.Equal(t, Ended, s.Task("e.1").Last().Phase)
}

// TestStoppedAgainInALaterTurn: an agent that ended by itself although it was to stop can be
// stopped in its next turn.
func TestStoppedAgainInALaterTurn(t *testing.T) {
	t.Parallel()
	of := func(f Fact) Event { return Event{Fact: f, Task: "e.1", Attempt: 1} }
	s := after(t, started(t, testLimits(), open("e.1")), startOf("e.1", 1), of(AttemptStopped{}),
		endOf("e.1", 1, AgentEnded{Signal: SignalContinue, Changed: true, Head: "h"}), of(IterationStarted{Turn: Turn{Iteration: 2}}), Event{Fact: InterruptStarted{}})
	require.Equal(t, []string{"stop e.1"}, acts(s, noon))
}

// TestSecondAttemptIsRemoved: the worktree of an attempt is removed although that of one before
// it was, in the same run.
func TestSecondAttemptIsRemoved(t *testing.T) {
	t.Parallel()
	s := after(t, started(t, testLimits(), open("e.1"), open("e.2")), Event{Fact: TrackerBusy{}})
	for n := 1; n <= 2; n++ {
		s = after(t, s, startOf("e.1", n), endOf("e.1", n, AgentEnded{End: EndedStopped}), Event{Fact: TaskSkipped{}, Task: "e.1"}, Event{Fact: RunPaused{}})
		require.Equal(t, []string{"clean e.1"}, acts(s, noon))
		s = after(t, s, Event{Fact: CleanStarted{}, Task: "e.1", Attempt: n}, Event{Fact: AttemptCleaned{}, Task: "e.1", Attempt: n}, Event{Fact: RunContinued{}}, Event{Fact: TaskRetried{}, Task: "e.1"})
	}
}
