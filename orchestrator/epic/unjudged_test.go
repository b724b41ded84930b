package epic_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	. "github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/iteration"
	"github.com/beadsorch/orch/orchestrator/reason"
)

// The tests here are of ends of turns that say nothing of an outcome, as journals of before have
// them: they replay to the same state for ever.

// TestUnjudgedRounds: an agent whose rules are red goes on in the same attempt, with their words; a
// guard parks one that does not get better, at once.
func TestUnjudgedRounds(t *testing.T) {
	t.Parallel()
	turn := func(id TaskID, score int, unmet string) Event {
		f := AgentEnded{Session: "s", Changed: true, Head: "h"}
		f.Round = &Round{Entry: iteration.Entry{ValidationScore: score, Passed: unmet == "", FirstUnmet: unmet}, Feedback: "mend " + unmet}
		if unmet != "" {
			f.Round.Failure = unmet + ": exit 1"
		}
		return endOf(id, 1, f)
	}
	green := func(id TaskID) Event { // by its rules, and yet it wants to go on
		e := turn(id, 100, "")
		f := e.Fact.(AgentEnded)
		f.Signal, f.Said = SignalContinue, "mend the rest"
		e.Fact = f
		return e
	}
	again := func(t *testing.T, s State) State {
		ds := decisions(s, noon.Add(time.Second))
		require.Len(t, ds, 1)
		require.Equal(t, Iterate, ds[0].Act, ds[0].Reason)
		return after(t, s, ds[0].Event)
	}
	for name, c := range map[string]struct {
		turns []Event
		limit int
		code  reason.Code
		state TaskState
	}{
		"it gets better":     {[]Event{turn("e.1", 50, "tests"), turn("e.1", 50, "tests"), turn("e.1", 100, "")}, 15, "", Queued},
		"it does not":        {[]Event{turn("e.1", 50, "tests"), turn("e.1", 60, "lint"), turn("e.1", 50, "tests")}, 15, reason.CircuitBreaker, Waiting},
		"it may not go on":   {[]Event{turn("e.1", 50, "tests"), turn("e.1", 50, "tests")}, 2, reason.MaxIterations, Waiting},
		"it oscillates":      {[]Event{turn("e.1", 50, "tests"), turn("e.1", 50, "tests"), green("e.1"), turn("e.1", 50, "tests"), turn("e.1", 50, "tests")}, 15, "", Running},
		"it gets worse":      {[]Event{green("e.1"), turn("e.1", 80, "tests"), turn("e.1", 60, "lint")}, 15, reason.Regression, Waiting},
		"it is green itself": {[]Event{turn("e.1", 100, "")}, 15, "", Queued},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			limits := testLimits()
			limits.Iterations = c.limit
			s := after(t, started(t, limits, open("e.1")), startOf("e.1", 1))
			for n, e := range c.turns {
				if n > 0 {
					require.Contains(t, s.Task("e.1").Last().Feedback, "mend")
					s = again(t, s)
				}
				f := e.Fact.(AgentEnded)
				round := *f.Round
				round.Iteration = n + 1
				f.Round = &round
				e.Fact = f
				s = after(t, s, e)
			}
			require.Equal(t, c.state, s.Task("e.1").State)
			require.Equal(t, c.code, s.Task("e.1").Last().Failure)
			if c.code == reason.MaxIterations {
				require.Contains(t, decisions(s, noon.Add(time.Second))[0].Reason, "tests: exit 1")
			}
			if c.code == reason.CircuitBreaker {
				ds := decisions(s, noon.Add(time.Second))
				require.Equal(t, TaskParked{}, ds[0].Fact)
				require.Contains(t, ds[0].Reason, "3 consecutive failures. Last failure: tests: exit 1")
			}
		})
	}
}

// TestUnjudgedFullContext: an agent whose context is full goes on in the same worktree, in a session
// of its own, as often as it may go on at all.
func TestUnjudgedFullContext(t *testing.T) {
	t.Parallel()
	limits := testLimits()
	limits.Iterations, limits.Resumes = 2, true
	s := after(t, started(t, limits, open("e.1")), startOf("e.1", 1), endOf("e.1", 1, AgentEnded{Signal: SignalFresh, Session: "full", Usage: Usage{Tokens: 7}}))
	require.True(t, s.Task("e.1").Last().Open())
	ds := decisions(s, noon.Add(time.Second))
	require.Len(t, ds, 1)
	require.Equal(t, Iterate, ds[0].Act)
	require.Equal(t, Turn{Iteration: 2, Base: s.Task("e.1").Last().Base}, ds[0].Turn())
	s = after(t, s, ds[0].Event, endOf("e.1", 1, AgentEnded{Signal: SignalFresh, Session: "full too", Usage: Usage{Tokens: 5}}))
	require.Equal(t, int64(12), s.Task("e.1").Last().Tokens, "of both conversations")
	require.Equal(t, int64(5), s.Task("e.1").Last().SessionTokens, "of the newest")
	require.Equal(t, reason.MaxIterations, s.Task("e.1").Last().Failure)
}

// TestUnjudgedTaskBudget: a task that has used up what one may is parked, whichever way its agent
// would go on; what is done lands all the same, and a person who retries it gives it as much
// once more.
func TestUnjudgedTaskBudget(t *testing.T) {
	t.Parallel()
	dear := AgentEnded{Changed: true, Head: "h", Usage: Usage{CostUSD: 3, Tokens: 10}}
	with := func(set func(*AgentEnded)) AgentEnded {
		a := dear
		set(&a)
		return a
	}
	red := endOf("e.1", 1, with(func(a *AgentEnded) {
		a.Round = &Round{Entry: iteration.Entry{ValidationScore: 50, FirstUnmet: "tests"}, Feedback: "mend it"}
	}))
	for name, c := range map[string]struct {
		end  Event
		park bool
	}{
		"it wants to go on":     {endOf("e.1", 1, with(func(a *AgentEnded) { a.Signal = SignalContinue })), true},
		"its context is full":   {endOf("e.1", 1, with(func(a *AgentEnded) { a.Signal = SignalFresh })), true},
		"its rules are red":     {red, true},
		"it changed nothing":    {endOf("e.1", 1, with(func(a *AgentEnded) { a.Changed = false })), true},
		"it crashed":            {endOf("e.1", 1, with(func(a *AgentEnded) { a.End = EndedCrash })), true},
		"it is done":            {endOf("e.1", 1, dear), false},
		"it used less than all": {endOf("e.1", 1, AgentEnded{Signal: SignalContinue, Usage: Usage{CostUSD: 2, Tokens: 9}}), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, set := range []func(*Limits){func(l *Limits) { l.TaskBudget.CostUSD = 3 }, func(l *Limits) { l.TaskBudget.Tokens = 10 }} {
				limits := testLimits()
				set(&limits)
				endsForBudget(t, limits, c.end, c.park)
			}
		})
	}
}

// TestUnjudgedAsked: an agent that ends a turn without a promise is asked once whether it is done,
// where its conversation can go on; then its work counts as it is.
func TestUnjudgedAsked(t *testing.T) {
	t.Parallel()
	silent := func(change func(*AgentEnded)) Event {
		a := AgentEnded{Session: "s", Changed: true, Head: "h"}
		change(&a)
		return endOf("e.1", 1, a)
	}
	nothing := silent(func(*AgentEnded) {})
	limits := testLimits()
	limits.Resumes, limits.Iterations = true, 4
	s := after(t, started(t, limits, open("e.1")), startOf("e.1", 1), nothing)
	d := decisions(s, noon.Add(time.Second))[0]
	require.Equal(t, Iterate, d.Act)
	require.Contains(t, d.Reason, "asked whether it is done")
	require.True(t, d.Turn().Resume)
	require.Contains(t, s.Task("e.1").Last().Feedback, "without a promise")
	require.Equal(t, Queued, after(t, s, d.Event, nothing).Task("e.1").State, "once")

	for name, tt := range map[string]struct {
		limits func(*Limits)
		end    Event
	}{
		"it said that it is done":           {func(*Limits) {}, silent(func(a *AgentEnded) { a.Signal = "COMPLETE" })},
		"its client knows no conversations": {func(l *Limits) { l.Resumes = false }, nothing},
		"it may not go on":                  {func(l *Limits) { l.Iterations = 1 }, nothing},
		"its budget is used up":             {func(l *Limits) { l.TaskBudget.Tokens = 1 }, silent(func(a *AgentEnded) { a.Tokens = 1 })},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			limits := limits
			tt.limits(&limits)
			require.Equal(t, Queued, after(t, started(t, limits, open("e.1")), startOf("e.1", 1), tt.end).Task("e.1").State)
		})
	}
}
