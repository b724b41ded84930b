package iteration_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/iteration"
	"github.com/beadsorch/orch/orchestrator/validation"
)

var now = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// verdict has n rules, of which the named one and those behind it do not pass.
func verdict(failed string, score int) validation.Verdict {
	if failed == "" {
		return validation.Verdict{Passed: true, Score: 100, Checks: []validation.Check{{Rule: "tests", Passed: true}}}
	}
	return validation.Verdict{Score: score, Checks: []validation.Check{{Rule: "compiles", Passed: true}, {Rule: failed, Why: "exit 1"}}}
}

func start(t *testing.T, c iteration.Config) iteration.Loop {
	t.Helper()
	if c.MaxIterations == 0 {
		c.MaxIterations = 15
	}
	l, err := iteration.Start("t-1", c)
	require.NoError(t, err)
	return l
}

const (
	complete = "All done.\n<promise>COMPLETE</promise>"
	blocked  = "<promise>BLOCKED</promise>\nReason: which database?"
)

// TestSignals is the protocol's table: rules and promises make a signal, guards override.
func TestSignals(t *testing.T) {
	t.Parallel()
	type step struct {
		failed string
		score  int
		says   string
	}
	red, green := step{"tests", 50, ""}, step{}
	for name, c := range map[string]struct {
		config iteration.Config
		steps  []step
		want   iteration.Signal
		guard  string
	}{
		"red":                           {iteration.Config{}, []step{red}, iteration.Continue, ""},
		"green without a promise":       {iteration.Config{}, []step{green}, iteration.Continue, ""},
		"green and promised":            {iteration.Config{}, []step{{says: complete}}, iteration.Complete, ""},
		"promised, and red":             {iteration.Config{}, []step{{"tests", 50, complete}}, iteration.Continue, ""},
		"blocked":                       {iteration.Config{}, []step{{"tests", 50, blocked}}, iteration.Blocked, ""},
		"blocked comes before complete": {iteration.Config{}, []step{{says: complete + "\n" + blocked}}, iteration.Blocked, ""},
		"escalate":                      {iteration.Config{}, []step{{says: "<promise>ESCALATE</promise>"}}, iteration.Escalate, ""},
		"promised in a fence":           {iteration.Config{}, []step{{says: "```\n<promise>COMPLETE</promise>\n```"}}, iteration.Continue, ""},
		"a promise of its own":          {iteration.Config{CompletionPromises: []string{"<promise>SHIPPED</promise>"}}, []step{{says: "<promise>SHIPPED</promise>"}}, iteration.Complete, ""},
		"and no other":                  {iteration.Config{CompletionPromises: []string{"<promise>SHIPPED</promise>"}}, []step{{says: complete}}, iteration.Continue, ""},
		"complete in the last":          {iteration.Config{MaxIterations: 2}, []step{green, {says: complete}}, iteration.Complete, ""},
		"the last is over":              {iteration.Config{MaxIterations: 2}, []step{green, green}, iteration.Escalate, iteration.MaxIterations},
		"the breaker":                   {iteration.Config{}, []step{red, red, red}, iteration.Escalate, iteration.CircuitBreaker},
		"the breaker at one":            {iteration.Config{CircuitBreakerThreshold: 1}, []step{red}, iteration.Escalate, iteration.CircuitBreaker},
		"the breaker overrides":         {iteration.Config{}, []step{red, red, {"tests", 50, blocked}}, iteration.Escalate, iteration.CircuitBreaker},
		"green resets the breaker":      {iteration.Config{}, []step{red, red, green, red, red}, iteration.Continue, ""},
		"it gets worse":                 {iteration.Config{CircuitBreakerThreshold: 9}, []step{{"a", 80, ""}, {"b", 70, ""}, {"c", 60, ""}}, iteration.Escalate, iteration.QualityRegression},
		"a little worse":                {iteration.Config{CircuitBreakerThreshold: 9}, []step{{"a", 80, ""}, {"b", 75, ""}, {"c", 70, ""}}, iteration.Continue, ""},
		"up and down":                   {iteration.Config{CircuitBreakerThreshold: 9}, []step{{"a", 80, ""}, {"b", 20, ""}, {"c", 60, ""}}, iteration.Continue, ""},
		"stuck":                         {iteration.Config{CircuitBreakerThreshold: 9}, []step{red, red, red, red, red}, iteration.Escalate, iteration.Stuck},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := start(t, c.config)
			var o iteration.Outcome
			for n, s := range c.steps {
				var err error
				if n > 0 {
					l, err = l.Next()
					require.NoError(t, err)
				}
				l, o, err = l.Validate(verdict(s.failed, s.score), s.says, iteration.Hook{}, now)
				require.NoError(t, err)
			}
			require.Equal(t, c.want, o.Signal, o.Reason)
			require.Equal(t, c.guard, o.Guard)
			require.Equal(t, len(c.steps), l.Iteration)
			require.Len(t, l.History, len(c.steps))
			if o.Signal == iteration.Continue {
				require.NotEmpty(t, o.Feedback, "it is told how to go on")
				_, err := l.End()
				require.ErrorIs(t, err, iteration.ErrNotPassed)
				return
			}
			_, err := l.Next()
			require.Error(t, err)
			l, err = l.End()
			require.NoError(t, err)
			_, _, err = l.Validate(verdict("", 0), complete, iteration.Hook{}, now)
			require.ErrorIs(t, err, iteration.ErrDone)
		})
	}
}

// TestOrder: what comes out of order is refused, and nothing has changed.
func TestOrder(t *testing.T) {
	t.Parallel()
	for _, c := range []iteration.Config{{}, {MaxIterations: -1}, {MaxIterations: 1, CircuitBreakerThreshold: -1}, {MaxIterations: 1, ValidationRules: []validation.Rule{{Name: "x"}}}} {
		_, err := iteration.Start("t", c)
		require.ErrorIs(t, err, iteration.ErrConfig)
	}
	l := start(t, iteration.Config{MaxIterations: 2})
	_, err := l.Next()
	require.ErrorIs(t, err, iteration.ErrNotYet)
	_, err = l.End()
	require.ErrorIs(t, err, iteration.ErrNotYet)

	l, o, err := l.Validate(verdict("tests", 50), "", iteration.Hook{}, now)
	require.NoError(t, err)
	require.Equal(t, 1, l.Fails())
	again, _, err := l.Validate(verdict("tests", 50), "", iteration.Hook{}, now)
	require.NoError(t, err)
	require.Equal(t, 1, again.Fails(), "the same iteration counts once")
	require.Len(t, again.History, 1)
	require.Contains(t, o.Feedback[0], "FAILED tests")

	raised, err := l.Limit(9)
	require.NoError(t, err)
	require.Equal(t, 9, raised.Config.MaxIterations)
	_, err = l.Limit(0)
	require.ErrorIs(t, err, iteration.ErrConfig)
	lowered, err := l.Limit(1)
	require.NoError(t, err)
	_, err = lowered.Next()
	require.ErrorIs(t, err, iteration.ErrMaximum)
	_, o, err = lowered.Validate(verdict("", 0), "", iteration.Hook{}, now)
	require.NoError(t, err)
	require.Equal(t, iteration.MaxIterations, o.Guard)
}

// TestEveryLoopEnds, whatever the work and the agent do: at the maximum, or before.
func TestEveryLoopEnds(t *testing.T) {
	t.Parallel()
	says := []string{"", complete, "I go on.", "<promise>CONTINUE</promise>", "<loop-complete>"}
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 4))
		l := start(t, iteration.Config{MaxIterations: 1 + rnd.IntN(30), CircuitBreakerThreshold: rnd.IntN(40)})
		for n := 1; ; n++ {
			require.LessOrEqual(t, n, l.Config.MaxIterations)
			failed := []string{"", "a", "b", "c"}[rnd.IntN(4)]
			var o iteration.Outcome
			var err error
			l, o, err = l.Validate(verdict(failed, rnd.IntN(100)), says[rnd.IntN(len(says))], iteration.Hook{}, now)
			require.NoError(t, err)
			if o.Signal == iteration.Complete {
				require.Empty(t, failed, "complete is never red")
			}
			kept, err := json.Marshal(l)
			require.NoError(t, err)
			var back iteration.Loop
			require.NoError(t, json.Unmarshal(kept, &back))
			require.Equal(t, fmt.Sprint(l.History, l.Fails()), fmt.Sprint(back.History, back.Fails()))
			if o.Signal != iteration.Continue {
				break
			}
			if l, err = l.Next(); err != nil {
				t.Fatalf("seed %d: it may not go on, and nothing has ended it: %v", seed, err)
			}
		}
	}
}

// TestHooks: a task's hook may complete what passes, keep it going, or escalate; it does not
// make red work complete, and a question to a person stands.
func TestHooks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		action, failed, says string
		want                 iteration.Signal
	}{
		{"complete", "", "", iteration.Complete},
		{"complete", "tests", "", iteration.Continue},
		{"continue", "", complete, iteration.Continue},
		{"continue", "", "", iteration.Continue},
		{"escalate", "", complete, iteration.Escalate},
		{"escalate", "", blocked, iteration.Blocked},
		{"", "", complete, iteration.Complete},
	} {
		_, o, err := start(t, iteration.Config{}).Validate(verdict(c.failed, 50), c.says, iteration.Hook{ID: "HOOK-1", Action: c.action, Reason: "since", NextPrompt: "look again"}, now)
		require.NoError(t, err)
		require.Equal(t, c.want, o.Signal, "%+v", c)
		if c.action != "" && c.want != iteration.Blocked {
			require.Contains(t, o.Feedback, "look again")
		}
	}
}
