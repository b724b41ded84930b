package epic_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	. "github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/iteration"
	"github.com/beadsorch/orch/orchestrator/reason"
)

// loopStep is a step in the loop of a session that has an attempt at a task.
func loopStep(task TaskID, attempt int, f LoopStepped) Event {
	return Event{Fact: f, Task: task, Attempt: attempt}
}

// judged is an iteration as a session's rules judge it.
func judged(n, score int, s iteration.Signal) *iteration.Entry {
	e := &iteration.Entry{Iteration: n, Timestamp: noon.Add(time.Duration(n) * time.Minute), ValidationScore: score, Passed: score == 100, Signal: s}
	if !e.Passed {
		e.FirstUnmet, e.Failure = "tests", "tests: exit 1"
	}
	return e
}

// loopOf is a loop with one red iteration and a green one.
func loopOf(task TaskID, attempt int) []Event {
	return []Event{
		loopStep(task, attempt, LoopStepped{Step: LoopStarted, Iteration: 1, Config: &iteration.Config{MaxIterations: 5}}),
		loopStep(task, attempt, LoopStepped{Step: LoopValidated, Iteration: 1, Entry: judged(1, 50, iteration.Continue)}),
		loopStep(task, attempt, LoopStepped{Step: LoopAdvanced, Iteration: 2}),
		loopStep(task, attempt, LoopStepped{Step: LoopLimited, Iteration: 2, Config: &iteration.Config{MaxIterations: 3}}),
		loopStep(task, attempt, LoopStepped{Step: LoopValidated, Iteration: 2, Entry: judged(2, 100, iteration.Complete)}),
		loopStep(task, attempt, LoopStepped{Step: LoopEnded, Iteration: 2, Done: iteration.Complete}),
	}
}

// TestSessionLoop: the state has the loop of a session step by step, as often as a step comes.
func TestSessionLoop(t *testing.T) {
	t.Parallel()
	once, twice := handed(t), handed(t)
	_, ok := once.Task("e.1").SessionLoop()
	require.False(t, ok)
	require.Equal(t, 1, once.Task("e.1").Last().Iterations())
	for n, e := range loopOf("e.1", 1) {
		once, twice = after(t, once, e), after(t, twice, e, e)
		l, ok := once.Task("e.1").SessionLoop()
		require.True(t, ok)
		again, _ := twice.Task("e.1").SessionLoop()
		require.Equal(t, l, again, "a step that comes again")
		require.Equal(t, []int{1, 1, 2, 2, 2, 2}[n], l.Iteration)
		require.Len(t, l.History, []int{0, 1, 1, 1, 2, 2}[n])
		require.Equal(t, n == 1 || n > 3, l.Last != nil, "validated")
		require.Equal(t, []int{5, 5, 5, 3, 3, 3}[n], l.Config.MaxIterations)
	}
	a := once.Task("e.1").Last()
	require.Equal(t, []iteration.Entry{*judged(1, 50, iteration.Continue), *judged(2, 100, iteration.Complete)}, a.Rounds)
	require.Equal(t, 2, a.Iterations())
	require.Empty(t, a.EndedBy())
	// Another loop in the same attempt goes on counting, and its history is its own.
	s := after(t, once, loopOf("e.1", 1)[:2]...)
	l, _ := s.Task("e.1").SessionLoop()
	require.Equal(t, 1, l.Iteration)
	require.Empty(t, l.Done)
	require.Len(t, l.History, 1)
	require.Len(t, s.Task("e.1").Last().Rounds, 3)
	require.Equal(t, 3, s.Task("e.1").Last().Iterations())
	// A conflict is a turn of its own, which the next loop begins in.
	s = after(t, once, Event{Fact: LandRequested{}, Task: "e.1", Attempt: 1, Request: "r"}, Event{Fact: CollectStarted{}, Task: "e.1", Attempt: 1},
		endOf("e.1", 1, AgentEnded{Changed: true, Head: "h"}), Event{Fact: LandingStarted{Tasks: []TaskID{"e.1"}, Old: "tip"}},
		Event{Fact: LandingConflicted{Old: "tip", Files: []string{"f"}}, Task: "e.1", Attempt: 1})
	require.Equal(t, 3, s.Task("e.1").Last().Iterations())
	s = after(t, s, loopOf("e.1", 1)[0])
	require.Equal(t, 3, s.Task("e.1").Last().Iterations())
}

// TestGuardOfSession: what a guard has ended counts for the attempt, once it was given up.
func TestGuardOfSession(t *testing.T) {
	t.Parallel()
	stuck := LoopStepped{Step: LoopValidated, Iteration: 1, Entry: judged(1, 0, iteration.Escalate), Guard: iteration.Stuck}
	s := after(t, handed(t), loopOf("e.1", 1)[0], loopStep("e.1", 1, stuck))
	l, _ := s.Task("e.1").SessionLoop()
	require.Equal(t, iteration.Stuck, l.Guard())
	require.Empty(t, s.Task("e.1").Last().EndedBy(), "it goes on")
	lost := after(t, s, Event{Fact: AttemptLost{}, Task: "e.1", Attempt: 1, Code: reason.Orphaned})
	require.Equal(t, reason.Code(iteration.Stuck), lost.Task("e.1").Last().EndedBy())
	ended := loopStep("e.1", 1, LoopStepped{Step: LoopEnded, Iteration: 1, Done: iteration.Escalate})
	require.Equal(t, reason.Code(iteration.Stuck), after(t, s, ended).Task("e.1").Last().EndedBy())
	late := after(t, lost, ended)
	require.Equal(t, iteration.Escalate, late.Task("e.1").Last().Loop.Done, "what comes when the attempt is over is not lost")
	raised := after(t, s, loopStep("e.1", 1, LoopStepped{Step: LoopAdvanced, Iteration: 2}))
	require.Empty(t, raised.Task("e.1").Last().Loop.Guard)
}

// TestStepsOfOthers: a step without what it says, or of an attempt that no session has had, is refused.
func TestStepsOfOthers(t *testing.T) {
	t.Parallel()
	s := after(t, handed(t, open("e.2")), startOf("e.2", 1))
	for _, f := range []LoopStepped{
		{}, {Step: "jumped", Iteration: 1}, {Step: LoopAdvanced}, {Step: LoopAdvanced, Iteration: 1 << 40}, {Step: LoopStarted, Iteration: 1}, {Step: LoopLimited, Iteration: 1},
		{Step: LoopEnded, Iteration: 1}, {Step: LoopValidated, Iteration: 1}, {Step: LoopValidated, Iteration: 1, Entry: judged(2, 0, "")},
	} {
		require.ErrorIs(t, Check(s, loopStep("e.1", 1, f)), ErrForbidden, "%+v", f)
	}
	whole := loopOf("e.1", 1)[0].Fact.(LoopStepped)
	for _, e := range []Event{loopStep("", 1, whole), loopStep("e.1", 0, whole), loopStep("e.1", 2, whole), loopStep("e.2", 1, whole), loopStep("e.9", 1, whole)} {
		require.ErrorIs(t, Check(s, e), ErrForbidden, "%+v", e)
	}
}

// TestStepsChangeNoWay: whenever the steps of a session are written down, before its landing, in the
// middle of it or after, the epic goes the same way, and the history is the same.
func TestStepsChangeNoWay(t *testing.T) {
	t.Parallel()
	events := story()
	given := 0 // behind which the session has its attempt
	for n, e := range events {
		if _, ok := e.Fact.(AttemptHanded); ok {
			given = n
		}
	}
	want := after(t, NewState(), append(append([]Event{}, events...), loopOf("e.3", 3)...)...)
	var wantLoop iteration.Loop
	wantLoop, _ = want.Task("e.3").SessionLoop()
	for n := given + 1; n <= len(events); n++ {
		for split := range loopOf("e.3", 3) {
			first, rest := loopOf("e.3", 3)[:split], loopOf("e.3", 3)[split:]
			s := after(t, NewState(), at(events[:given+1], 0)...)
			s = after(t, s, first...)
			s = after(t, s, at(events[given+1:n], given+1)...)
			s = after(t, s, rest...)
			s = after(t, s, at(events[n:], n)...)
			l, ok := s.Task("e.3").SessionLoop()
			require.True(t, ok)
			require.Equal(t, wantLoop, l)
			require.Equal(t, way(t, want), way(t, s), "behind event %d, split at %d", n, split)
		}
	}
}

// at gives events the times of a story, of which they are a part from the event n on.
func at(events []Event, n int) (out []Event) {
	for i, e := range events {
		e.At = noon.Add(time.Duration(n+i) * time.Second)
		out = append(out, e)
	}
	return out
}

// way is a state without the loops of sessions.
func way(t *testing.T, s State) string {
	t.Helper()
	var tasks []Task
	for _, task := range s.Tasks {
		own := *task
		own.Attempts = append([]Attempt{}, task.Attempts...)
		for n := range own.Attempts {
			own.Attempts[n].Loop, own.Attempts[n].Rounds = SessionLoop{}, nil
		}
		tasks = append(tasks, own)
	}
	s.Tasks = nil
	b, err := json.Marshal([]any{s, tasks})
	require.NoError(t, err)
	return string(b)
}
