package iteration_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/iteration"
	"github.com/beadsorch/orch/orchestrator/validation"
)

const (
	escalate   = "<promise>ESCALATE</promise>\nReason: the build server is gone"
	checkpoint = "<promise>CONTEXT LIMIT - CHECKPOINT</promise>"
)

// TestJudge: what the loop of a session does not meet: rules that were not asked, silence that
// ends, a budget, a full context.
func TestJudge(t *testing.T) {
	t.Parallel()
	green, red := verdict("", 100), verdict("tests", 50)
	config := iteration.Config{MaxIterations: 4, SilentTurns: 2}
	complete := "<promise>COMPLETE</promise>"
	for name, c := range map[string]struct {
		turn   iteration.Turn
		want   iteration.Signal
		guard  string
		silent bool
		fresh  bool
	}{
		"no rules, promised":          {iteration.Turn{Output: complete}, iteration.Complete, "", false, false},
		"no rules, first silence":     {iteration.Turn{Output: "done"}, iteration.Continue, "", true, false},
		"no rules, second silence":    {iteration.Turn{Output: "done", Silent: 1}, iteration.Complete, "", false, false},
		"green, second silence":       {iteration.Turn{Verdict: &green, Silent: 1}, iteration.Complete, "", false, false},
		"red, second silence":         {iteration.Turn{Verdict: &red, Silent: 1}, iteration.Continue, "", false, false},
		"context full":                {iteration.Turn{Output: checkpoint, Verdict: &red}, iteration.Continue, "", false, true},
		"context full in the last":    {iteration.Turn{Output: checkpoint, Number: 4}, iteration.Escalate, iteration.MaxIterations, false, false},
		"silent in the last":          {iteration.Turn{Number: 4}, iteration.Complete, "", false, false},
		"silent, budget":              {iteration.Turn{Spent: "used $2 of $1"}, iteration.Complete, "", false, false},
		"context full by the client":  {iteration.Turn{Full: true, Output: complete}, iteration.Continue, "", false, true},
		"complete in the last":        {iteration.Turn{Output: complete, Number: 4}, iteration.Complete, "", false, false},
		"a question in the last":      {iteration.Turn{Output: blocked, Number: 4}, iteration.Blocked, "", false, false},
		"beyond the last":             {iteration.Turn{Output: complete, Number: 5}, iteration.Escalate, iteration.MaxIterations, false, false},
		"budget, red":                 {iteration.Turn{Verdict: &red, Spent: "used $2 of $1"}, iteration.Escalate, iteration.Budget, false, false},
		"budget, complete":            {iteration.Turn{Output: complete, Spent: "used $2 of $1"}, iteration.Complete, "", false, false},
		"budget, a question":          {iteration.Turn{Output: blocked, Spent: "used $2 of $1"}, iteration.Blocked, "", false, false},
		"a hook does not answer":      {iteration.Turn{Output: escalate, Hook: iteration.Hook{Action: "complete"}}, iteration.Escalate, "", false, false},
		"a hook completes silence":    {iteration.Turn{Hook: iteration.Hook{Action: "complete"}}, iteration.Complete, "", false, false},
		"a hook keeps silence":        {iteration.Turn{Silent: 1, Hook: iteration.Hook{Action: "continue"}}, iteration.Continue, "", false, false},
		"a hook goes on for it":       {iteration.Turn{Hook: iteration.Hook{Action: "continue"}}, iteration.Continue, "", false, false},
		"a hook does not pass red":    {iteration.Turn{Verdict: &red, Hook: iteration.Hook{Action: "complete"}}, iteration.Continue, "", false, false},
		"a hook asks for a person":    {iteration.Turn{Verdict: &red, Hook: iteration.Hook{Action: "escalate"}}, iteration.Escalate, "", false, false},
		"rules come before the words": {iteration.Turn{Output: complete, Verdict: &red}, iteration.Continue, "", false, false},
	} {
		if c.turn.Number == 0 {
			c.turn.Number = 1
		}
		o := iteration.Judge(config, nil, c.turn)
		require.Equal(t, c.want, o.Signal, name)
		require.Equal(t, c.guard, o.Guard, name)
		require.Equal(t, c.silent, o.Silent, name)
		require.Equal(t, c.fresh, o.Fresh, name)
		require.Equal(t, c.turn.Verdict != nil, o.Entry != nil, name)
	}
}

// TestNoLoopIsEndless: whatever agents, rules and hooks do, a loop ends within its maximum, and
// nothing is complete that is red.
func TestNoLoopIsEndless(t *testing.T) {
	t.Parallel()
	for seed := range uint64(500) {
		random := rand.New(rand.NewPCG(seed, 1))
		c := iteration.Config{MaxIterations: 1 + random.IntN(9), SilentTurns: random.IntN(3), CircuitBreakerThreshold: random.IntN(5)}
		var history []iteration.Entry
		silent := 0
		for n := 1; ; n++ {
			require.LessOrEqual(t, n, c.MaxIterations, "seed %d", seed)
			turn := iteration.Turn{Number: n, Silent: silent,
				Output: []string{"", blocked, escalate, checkpoint, "<promise>COMPLETE</promise>", "<promise>CONTINUE</promise>"}[random.IntN(6)],
				Hook:   iteration.Hook{Action: []string{"", "", "complete", "continue", "escalate"}[random.IntN(5)]}}
			if random.IntN(4) > 0 {
				v := verdict([]string{"", "tests", "lint"}[random.IntN(3)], random.IntN(100))
				turn.Verdict = &v
			}
			o := iteration.Judge(c, history, turn)
			if o.Signal == iteration.Complete && turn.Verdict != nil {
				require.True(t, turn.Verdict.Passed, "seed %d", seed)
			}
			if o.Guard != "" {
				require.Equal(t, iteration.Escalate, o.Signal)
			}
			if o.Signal != iteration.Continue {
				break
			}
			if o.Entry != nil {
				history = append(history, *o.Entry)
			}
			silent = map[bool]int{true: silent + 1}[o.Silent]
		}
	}
}

func ExampleJudge() {
	c := iteration.Config{MaxIterations: 15}
	v := validation.Verdict{Passed: true, Score: 100}
	o := iteration.Judge(c, nil, iteration.Turn{Number: 3, Verdict: &v, Output: "All done.\n<promise>COMPLETE</promise>"})
	fmt.Println(o.Signal)
	// Output: COMPLETE
}

// TestCompletion: an agent is told to end with a promise that then counts.
func TestCompletion(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		promises []string
		want     string
	}{
		{nil, "COMPLETE"},
		{[]string{"<promise>COMPLETE</promise>", "<promise>BLOCKED</promise>"}, "COMPLETE"},
		{[]string{"BLOCKED", " <promise>all  SHIPPED</promise>"}, "all SHIPPED"},
		{[]string{"<nonsense>", "x\ny"}, "x y"},
		{[]string{"BLOCKED"}, "COMPLETE"},
	} {
		config := iteration.Config{MaxIterations: 2, CompletionPromises: c.promises}
		require.Equal(t, c.want, config.Completion(), "%q", c.promises)
		o := iteration.Judge(config, nil, iteration.Turn{Number: 1})
		require.Contains(t, o.Feedback[0], "<promise>"+c.want+"</promise>")
	}
}

// TestQuestion: what asks a person says what it asks, in words of its own, or in its last ones.
func TestQuestion(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		blocked: "which database?",
		"<promise>BLOCKED</promise>\nSummary: half is done":                "half is done",
		"one\n\ntwo\nthree\nfour\nfive\nsix?\n<promise>ESCALATE</promise>": "two\nthree\nfour\nfive\nsix?",
	} {
		o := iteration.Judge(iteration.Config{MaxIterations: 2}, nil, iteration.Turn{Number: 1, Output: said})
		require.Equal(t, want, o.Reason)
	}
}
