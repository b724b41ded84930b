package epic_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	. "github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/iteration"
	"github.com/beadsorch/orch/orchestrator/reason"
	"github.com/beadsorch/orch/orchestrator/validation"
)

// says is a turn that an agent ended with these words; its rules, where red names one, were asked.
func says(words string, red ...string) AgentEnded {
	turn := iteration.Turn{Output: words}
	if len(red) > 0 {
		turn.Verdict = &validation.Verdict{Passed: red[0] == "", Score: 100}
		if red[0] != "" {
			turn.Verdict.Score, turn.Verdict.Checks = 50, []validation.Check{{Rule: "lint", Passed: true}, {Rule: red[0], Why: "exit 1"}}
		}
	}
	return AgentEnded{Changed: true, Head: "h", Session: "s"}.ToJudge(iteration.Config{}, turn)
}

func with(f AgentEnded, set func(*AgentEnded)) AgentEnded {
	set(&f)
	return f
}

const (
	complete = "<promise>COMPLETE</promise>"
	goOn     = "<promise>CONTINUE</promise>"
	isFull   = "<promise>CONTEXT LIMIT - CHECKPOINT</promise>"
	asks     = "<promise>BLOCKED</promise>\nReason: which?"
)

// TestOutcomes: what becomes of an attempt whose turns were judged: what the outcome says, but that
// git says whether there is work, and the gate whether it is right.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		turns  []AgentEnded
		limit  int
		code   reason.Code
		state  TaskState
		reason string // of the next decision
	}{
		"it is done":                      {[]AgentEnded{says(complete, "")}, 15, "", Queued, ""},
		"it is done, without rules":       {[]AgentEnded{says(complete)}, 15, "", Queued, ""},
		"it says so, and is red":          {[]AgentEnded{says(complete, "tests")}, 15, "", Running, "red: tests: exit 1"},
		"it goes on":                      {[]AgentEnded{says(goOn, "")}, 15, "", Running, "the agent asked to go on"},
		"it gets better":                  {[]AgentEnded{says(complete, "tests"), says(complete, "tests"), says(complete, "")}, 15, "", Queued, ""},
		"it does not":                     {[]AgentEnded{says(complete, "tests"), says(complete, "lint"), says(complete, "tests")}, 15, reason.CircuitBreaker, Waiting, "Circuit breaker tripped after 3 consecutive failures. Last failure: tests: exit 1"},
		"it asks, and the breaker trips":  {[]AgentEnded{says("", "a"), says("", "b"), says(asks, "c")}, 15, reason.CircuitBreaker, Waiting, "Circuit breaker"},
		"it may not go on":                {[]AgentEnded{says(complete, "tests"), says(complete, "tests")}, 2, reason.MaxIterations, Waiting, "Maximum iterations (2) reached. The task needs a person. Last failure: tests: exit 1"},
		"it asks a person":                {[]AgentEnded{says(asks)}, 15, reason.Question, Waiting, "which?"},
		"it asks, and has done nothing":   {[]AgentEnded{with(says(asks), nothing)}, 15, reason.Question, Waiting, "which?"},
		"it has done nothing":             {[]AgentEnded{with(says(complete), nothing)}, 15, reason.NoChange, Waiting, ""},
		"it has done and said nothing":    {[]AgentEnded{with(says(""), nothing)}, 15, reason.NoChange, Waiting, ""},
		"it goes on, with nothing so far": {[]AgentEnded{with(says(goOn), nothing)}, 15, "", Running, "the agent asked to go on"},
		"it left a conflict":              {[]AgentEnded{with(says(""), func(f *AgentEnded) { f.Unmerged = []string{"f"} })}, 15, reason.MergeConflict, Waiting, ""},
		"its context is full":             {[]AgentEnded{says(isFull)}, 15, "", Running, "in a fresh session"},
		"it is full in the last":          {[]AgentEnded{says(isFull)}, 1, reason.MaxIterations, Waiting, "Maximum iterations (1)"},
		"it crashed":                      {[]AgentEnded{with(says(complete), func(f *AgentEnded) { f.End = EndedCrash })}, 15, reason.AgentCrashed, Waiting, ""},
		"it is asked":                     {[]AgentEnded{says("")}, 15, "", Running, "asked whether it is done"},
		"it is asked once":                {[]AgentEnded{says(""), says("", "")}, 15, "", Queued, ""},
		"it is asked anew":                {[]AgentEnded{says(""), says(goOn), says("")}, 15, "", Running, "asked whether it is done"},
		"it cannot be asked":              {[]AgentEnded{says("")}, 1, "", Queued, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			limits := testLimits()
			limits.Iterations, limits.Resumes = c.limit, true
			s := after(t, started(t, limits, open("e.1")), startOf("e.1", 1))
			for n, f := range c.turns {
				if n > 0 {
					require.Equal(t, Running, s.Task("e.1").State, "turn %d", n)
					s = after(t, s, decisions(s, noon.Add(time.Second))[0].Event)
				}
				s = after(t, s, endOf("e.1", 1, f))
			}
			require.Equal(t, c.state, s.Task("e.1").State)
			require.Equal(t, c.code, s.Task("e.1").Last().Failure)
			if c.reason != "" {
				require.Contains(t, decisions(s, noon.Add(time.Second))[0].Reason, c.reason)
			}
		})
	}
}

func nothing(f *AgentEnded) { f.Changed = false }

// TestOutcomeIsFollowed: what was decided is decided, whatever an orch would say now that replays it
// with other limits.
func TestOutcomeIsFollowed(t *testing.T) {
	t.Parallel()
	s := after(t, started(t, testLimits(), open("e.1")), startOf("e.1", 1))
	e := Current(s, endOf("e.1", 1, says("", "tests")))
	b, err := json.Marshal(e)
	require.NoError(t, err)
	var again Event
	require.NoError(t, json.Unmarshal(b, &again))
	require.Equal(t, e, again, "nothing that it was judged by is kept beside what was said")
	require.Equal(t, again, Current(s, again), "it is judged once")

	limits := testLimits()
	limits.Iterations, limits.TaskBudget.Tokens = 1, 1
	strict := after(t, started(t, limits, open("e.1")), startOf("e.1", 1), again)
	require.Equal(t, Running, strict.Task("e.1").State)
	require.Contains(t, strict.Task("e.1").Last().Feedback, "FAILED tests")
}

// TestFullContext: an agent whose context is full goes on in the same worktree, in a session of its
// own, as often as it may go on at all; also where its client alone says so.
func TestFullContext(t *testing.T) {
	t.Parallel()
	limits := testLimits()
	limits.Iterations, limits.Resumes = 2, true
	full := AgentEnded{Session: "full", Usage: Usage{Tokens: 7}}.ToJudge(iteration.Config{}, iteration.Turn{Full: true})
	s := after(t, started(t, limits, open("e.1")), startOf("e.1", 1), endOf("e.1", 1, full))
	ds := decisions(s, noon.Add(time.Second))
	require.Len(t, ds, 1)
	require.Equal(t, Iterate, ds[0].Act)
	require.Equal(t, Turn{Iteration: 2, Base: s.Task("e.1").Last().Base}, ds[0].Turn())
	s = after(t, s, ds[0].Event, endOf("e.1", 1, full))
	require.Equal(t, int64(14), s.Task("e.1").Last().Tokens, "of both conversations")
	require.Equal(t, int64(7), s.Task("e.1").Last().SessionTokens, "of the newest")
	require.Equal(t, reason.MaxIterations, s.Task("e.1").Last().Failure)
}

// TestTaskBudget: a task that has used up what one may is parked, whichever way its agent
// would go on; what is done lands all the same, and a person who retries it gives it as much
// once more.
func TestTaskBudget(t *testing.T) {
	t.Parallel()
	dear := func(f *AgentEnded) { f.Usage = Usage{CostUSD: 3, Tokens: 10} }
	for name, c := range map[string]struct {
		end  AgentEnded
		park bool
	}{
		"it wants to go on":     {with(says(goOn), dear), true},
		"its context is full":   {with(says(isFull), dear), true},
		"its rules are red":     {with(says(complete, "tests"), dear), true},
		"it changed nothing":    {with(with(says(complete), dear), nothing), true},
		"it crashed":            {AgentEnded{End: EndedCrash, Usage: Usage{CostUSD: 3, Tokens: 10}}, true},
		"it is done":            {with(says(complete), dear), false},
		"it says nothing":       {with(says(""), dear), false},
		"it used less than all": {with(says(goOn), func(f *AgentEnded) { f.Usage = Usage{CostUSD: 2, Tokens: 9} }), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, set := range []func(*Limits){func(l *Limits) { l.TaskBudget.CostUSD = 3 }, func(l *Limits) { l.TaskBudget.Tokens = 10 }} {
				limits := testLimits()
				limits.Resumes = true
				set(&limits)
				endsForBudget(t, limits, endOf("e.1", 1, c.end), c.park)
			}
		})
	}
}

// endsForBudget holds that the end of an attempt at e.1 parks the task for its budget, or that it does
// not, and that a person who retries it has it begun again.
func endsForBudget(t *testing.T, limits Limits, end Event, park bool) {
	t.Helper()
	s := after(t, started(t, limits, open("e.1")), startOf("e.1", 1), end)
	d := decisions(s, noon.Add(time.Minute))[0]
	require.Equal(t, park, d.Fact == (TaskParked{}), d.Reason)
	if !park {
		return
	}
	require.Equal(t, reason.Budget, d.Code)
	require.Contains(t, d.Reason, "for one task")
	s = after(t, s, d.Event, Event{Fact: TaskRetried{}, Task: "e.1"})
	require.Equal(t, Start, decisions(s, noon.Add(time.Hour))[0].Act)
}

// TestLimitedMeanwhile: a person lowers or raises what a task's attempts may have while its agent
// works, and the end of that turn goes by it.
func TestLimitedMeanwhile(t *testing.T) {
	t.Parallel()
	for limit, want := range map[int]reason.Code{1: reason.MaxIterations, 2: ""} {
		limits := testLimits()
		limits.Iterations = 3 - limit
		s := after(t, started(t, limits, open("e.1")), startOf("e.1", 1), Event{Fact: TaskLimited{Iterations: limit}, Task: "e.1"}, endOf("e.1", 1, says(goOn)))
		require.Equal(t, want, s.Task("e.1").Last().Failure)
	}
}

// TestGuardsAreCodes: each guard of package iteration is a reason code of the same name, which parks
// a task.
func TestGuardsAreCodes(t *testing.T) {
	t.Parallel()
	for _, guard := range []string{iteration.MaxIterations, iteration.CircuitBreaker, iteration.QualityRegression, iteration.Stuck, iteration.Budget} {
		r, ok := reason.Of(reason.Code(guard))
		require.True(t, ok, guard)
		require.True(t, r.Charges && r.Failure, guard)
	}
}
