package orchestrator_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	. "github.com/beadsorch/orch/orchestrator"
	"github.com/beadsorch/orch/orchestrator/engine"
	. "github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/iteration"
	"github.com/beadsorch/orch/orchestrator/reason"
	"github.com/beadsorch/orch/orchestrator/validation"
)

// told is an engine whose agent has always just ended a turn, with what is to be known of it.
type told struct {
	Engine
	work engine.Work
}

func (e *told) Run(_ context.Context, j engine.Job, _ func(engine.Progress)) (engine.Work, error) {
	w := e.work
	w.End, w.Head, w.Changed, w.Base = EndedItself, "h", true, j.Base
	return w, nil
}

// both is one task that is worked on by a run and by a loop of its own.
type both struct {
	seed     uint64
	random   *rand.Rand
	stubborn bool // its agent goes on with the same red rule, and no hook stops it
	config   iteration.Config
	engine   *told
	executor Executor
	run      State
	loop     iteration.Loop
}

func newBoth(t *testing.T, seed uint64) *both {
	random := rand.New(rand.NewPCG(seed, 9))
	c := iteration.Config{MaxIterations: 1 + random.IntN(9), CircuitBreakerThreshold: random.IntN(8)}
	if random.IntN(2) == 0 {
		c.CompletionPromises = []string{"SHIPPED"}
	}
	limits := testLimits()
	limits.Iterations, limits.Resumes = c.MaxIterations, random.IntN(2) == 0
	b := &both{seed: seed, random: random, stubborn: random.IntN(4) == 0, config: c, engine: &told{}}
	b.executor, _ = NewDispatch(Deps{Epic: "e", Engine: b.engine, Now: time.Now, Agents: Agents{Roles: map[string]Role{DefaultAgent: {Iteration: c}}}}, "tip")
	b.run = Apply(started("e", limits), Event{Fact: TrackerRead{Nodes: []Node{{ID: "e", Epic: true, Status: "open"}, {ID: "e.1", Parent: "e", Status: "open"}}}})
	var err error
	b.loop, err = iteration.Start("e.1", c)
	require.NoError(t, err)
	return b
}

// work is a turn that an agent may end: what it says, what its rules and hooks say.
func (b *both) work() engine.Work {
	v := validation.Verdict{Passed: true, Score: 100, Checks: []validation.Check{{Rule: "compiles", Passed: true}}}
	w := engine.Work{Verdict: &v, Said: []string{"", "done?", "<promise>SHIPPED</promise>", "<promise>COMPLETE</promise>\nSummary: all", "<promise>CONTINUE</promise>\nReason: half",
		"<promise>BLOCKED</promise>\nReason: which?", "I see\nnothing\n<promise>ESCALATE</promise>", "<promise>CONTEXT LIMIT - CHECKPOINT</promise>"}[b.random.IntN(8)]}
	if b.random.IntN(3) > 0 || b.stubborn {
		v.Passed, v.Score = false, b.random.IntN(100)
		v.Checks = append(v.Checks, validation.Check{Rule: []string{"tests", "lint"}[b.random.IntN(2)], Command: "make", Why: "exit 1", Output: "it is wrong"})
	}
	if action := []string{"", "", "complete", "continue", "escalate"}[b.random.IntN(5)]; action != "" {
		w.Hook = iteration.Hook{ID: "HOOK-1", Action: action, Reason: "since", NextPrompt: "look again"}
	}
	if b.stubborn {
		v.Checks[1].Rule, v.Score, w.Said, w.Hook = "tests", 50, "<promise>CONTINUE</promise>", iteration.Hook{}
	}
	return w
}

// turn has both do the next turn.
func (b *both) turn(t *testing.T) (AgentEnded, iteration.Outcome) {
	d := Decision{Act: Start, Event: Event{Fact: AttemptStarted{Turn: Turn{Iteration: 1, Base: "tip"}}, Task: "e.1", Attempt: 1}}
	if b.loop.Last != nil {
		d = Decision{Act: Iterate, Event: Event{Fact: IterationStarted{Turn: Turn{Iteration: b.loop.Iteration + 1, Base: "tip"}}, Task: "e.1", Attempt: 1}}
		var err error
		b.loop, err = b.loop.Next()
		require.NoError(t, err)
	}
	b.run = Apply(b.run, d.Event)
	events := b.executor.Execute(t.Context(), b.run, d, func(Event) bool { return true })
	require.Len(t, events, 1)
	ended := Current(b.run, events[0])
	require.NoError(t, Check(b.run, ended))
	b.run = Apply(b.run, ended)
	var o iteration.Outcome
	var err error
	w := b.engine.work
	b.loop, o, err = b.loop.Validate(*w.Verdict, w.Said, w.Hook, time.Now())
	require.NoError(t, err)
	return ended.Fact.(AgentEnded), o
}

// silent reports whether the next turn ends without a promise, green, and the agent of a run cannot be
// asked (again) whether it is done.
func (b *both) silent() bool {
	w := b.engine.work
	_, promised := b.config.Promise(w.Said)
	n := b.loop.Iteration
	if b.loop.Last != nil {
		n++
	}
	a := b.run.Task("e.1").Last()
	return !promised && w.Verdict.Passed && (!b.run.Run.Limits.Resumes || a.Silent > 0 || n >= b.config.MaxIterations)
}

// followed holds the run to what the outcome says.
func (b *both) followed(t *testing.T, o iteration.Outcome) {
	task := b.run.Task("e.1")
	last := task.Last()
	switch {
	case o.Signal == iteration.Continue:
		require.Equal(t, Running, task.State, "seed %d", b.seed)
		require.True(t, last.Open())
	case o.Signal == iteration.Complete:
		require.Equal(t, Queued, task.State, "seed %d", b.seed)
	case o.Guard != "":
		require.Equal(t, reason.Code(o.Guard), last.Failure, "seed %d", b.seed)
		require.Equal(t, o.Reason, last.Why)
	default:
		require.Equal(t, reason.Question, last.Failure, "seed %d", b.seed)
		require.Equal(t, o.Reason, last.Feedback)
	}
}

// TestOneProtocol: whatever rules, agents and hooks say, turn after turn, a run and a loop of its own
// come to the same signal, by the same guard, with the same words; and the run does what it says.
// What differs is silence: a loop goes on, as often as it may; in a run the agent is asked once, and
// then git and the gate say whether it is done.
func TestOneProtocol(t *testing.T) {
	t.Parallel()
	signals, tripped := map[iteration.Signal]int{}, map[reason.Code]int{}
	for seed := range uint64(3000) {
		b := newBoth(t, seed)
		for going := true; going; {
			b.engine.work = b.work()
			silent := b.silent()
			f, o := b.turn(t)
			signals[f.Outcome.Signal]++
			tripped[f.Outcome.Guard]++
			if silent && b.engine.work.Hook.Action == "" {
				require.Equal(t, iteration.Complete, f.Outcome.Signal, "seed %d", seed)
				b.followed(t, iteration.Outcome{Signal: iteration.Complete})
				break
			}
			want := Outcome{Signal: o.Signal, Promise: o.DetectedPromise, Guard: reason.Code(o.Guard), Reason: o.Reason, Fresh: o.Fresh, Silent: o.Silent, Feedback: strings.Join(o.Feedback, "\n\n")}
			if silent { // what it is not asked
				want.Feedback = f.Outcome.Feedback
			}
			require.Equal(t, want, *f.Outcome, "seed %d", seed)
			f.Round.Timestamp = o.Entry.Timestamp
			require.Equal(t, *o.Entry, f.Round.Entry, "seed %d", seed)
			b.followed(t, o)
			going = o.Signal == iteration.Continue
		}
	}
	for _, signal := range []iteration.Signal{iteration.Continue, iteration.Complete, iteration.Blocked, iteration.Escalate} {
		require.Positive(t, signals[signal], signal)
	}
	for _, guard := range []reason.Code{reason.MaxIterations, reason.CircuitBreaker, reason.QualityRegression, reason.Stuck} {
		require.Positive(t, tripped[guard], guard)
	}
}
