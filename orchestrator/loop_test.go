package orchestrator_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	. "github.com/beadsorch/orch/orchestrator"
	. "github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/reason"
)

// hands is an Executor that is one function.
type hands func(ctx context.Context, s State, d Decision, tell func(Event) bool) []Event

func (h hands) Execute(ctx context.Context, s State, d Decision, tell func(Event) bool) []Event {
	return h(ctx, s, d, tell)
}

// world1 answers for a tracker with one task, and a gate that is green.
func world1(agent func(ctx context.Context, d Decision) Event) hands {
	return func(ctx context.Context, s State, d Decision, _ func(Event) bool) []Event {
		switch d.Act {
		case Survey:
			var r TrackerRead
			if s.Task("e") == nil {
				r.Nodes = []Node{{ID: "e", Epic: true, Status: "open"}, {ID: "e.1", Title: "one", Parent: "e", Status: "open"}}
			}
			return []Event{{Fact: r}}
		case Write:
			var f TrackerWritten
			for _, c := range d.Changes {
				w := WriteResult{ID: TaskID(c.ID), Kind: string(c.Kind), Status: string(c.Status)}
				switch c.Kind {
				case "close":
					w.Status = "closed"
				case "claim":
					w.Status, w.By = "in_progress", s.Run.Limits.Actor
				}
				f.Wrote = append(f.Wrote, w)
			}
			return []Event{{Fact: f}}
		case CheckBase:
			return []Event{{Fact: BaseChecked{Verdict: Verdict{Passed: true}}}}
		case Gate:
			return []Event{{Fact: CandidateJudged{Candidates: Candidates{Tasks: d.Fact.(LandingStarted).Tasks, Commits: []Commit{"c"}}, Verdict: Verdict{Passed: true}}}}
		case Move:
			return []Event{{Fact: TaskLanded{Candidates: d.Fact.(MoveStarted).Candidates}}}
		case LookAtTip:
			return []Event{{Fact: TipSeen{}}}
		case Clean:
			return []Event{{Fact: AttemptCleaned{}, Task: d.Task, Attempt: d.Attempt}}
		}
		return []Event{agent(ctx, d)}
	}
}

func good(_ context.Context, d Decision) Event {
	return Event{Fact: AgentEnded{End: EndedItself, Changed: true, Head: "h"}, Task: d.Task, Attempt: d.Attempt}
}

// TestNothingIsDoneBeforeItIsWritten: each decision's event is durable when the
// Executor begins with it.
func TestNothingIsDoneBeforeItIsWritten(t *testing.T) {
	t.Parallel()
	var written atomic.Int64
	inner := world1(good)
	l := &Loop{State: started("e", testLimits()), Now: time.Now,
		Append: func(events ...Event) error { written.Add(int64(len(events))); return nil }}
	l.Executor = hands(func(ctx context.Context, s State, d Decision, tell func(Event) bool) []Event {
		if d.Journaled() {
			require.Positive(t, written.Load(), d.Act)
		}
		return inner(ctx, s, d, tell)
	})
	require.NoError(t, l.Run(t.Context()))
	require.Equal(t, LoopDone, Summarize(l.State, time.Now()).Promise)
}

// TestAJournalThatFailsStopsTheRun at once: nothing is begun that is not written.
func TestAJournalThatFailsStopsTheRun(t *testing.T) {
	t.Parallel()
	full := errors.New("no space left on device")
	for after := range 6 {
		begun, writes := 0, 0
		inner := world1(good)
		l := &Loop{State: started("e", testLimits()), Now: time.Now, Append: func(...Event) error {
			if writes++; writes > after {
				return full
			}
			return nil
		}}
		l.Executor = hands(func(ctx context.Context, s State, d Decision, tell func(Event) bool) []Event {
			if d.Act == Start {
				begun++
			}
			return inner(ctx, s, d, tell)
		})
		require.ErrorIs(t, l.Run(t.Context()), full)
		require.LessOrEqual(t, begun, 1)
	}
}

// TestAWorkerThatPanics costs its task an attempt, is told with its trace, and
// ends nothing else.
func TestAWorkerThatPanics(t *testing.T) {
	t.Parallel()
	var traces []string
	l := &Loop{State: started("e", testLimits()), Now: time.Now, Append: func(...Event) error { return nil },
		Executor: world1(func(_ context.Context, d Decision) Event {
			if d.Attempt == 1 {
				panic("a bug")
			}
			return good(context.Background(), d)
		}),
		Observe: func(e Event, _ State) {
			if f, ok := e.Fact.(WorkerPanicked); ok {
				traces = append(traces, e.Reason+f.Trace)
			}
		}}
	require.NoError(t, l.Run(t.Context()))
	require.Len(t, traces, 1)
	require.Contains(t, traces[0], "a bug")
	require.Contains(t, traces[0], "loop_test.go")
	require.Equal(t, LoopDone, Summarize(l.State, time.Now()).Promise)
}

// TestContextEndsTheRun as a second Ctrl-C does: the agent is interrupted, and
// waited for.
func TestContextEndsTheRun(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	ended := false
	l := &Loop{State: started("e", testLimits()), Now: time.Now, Append: func(...Event) error { return nil },
		Executor: world1(func(agent context.Context, d Decision) Event {
			cancel()
			<-agent.Done()
			ended = true
			return Event{Fact: AgentEnded{End: EndedStopped}, Task: d.Task, Attempt: d.Attempt}
		})}
	require.NoError(t, l.Run(ctx))
	require.True(t, ended)
	require.Equal(t, LoopContinue, Summarize(l.State, time.Now()).Promise)
	require.Zero(t, l.State.Task("e.1").Charged)
}

// TestRequests are taken in the loop: what is not possible is told, and the one
// who asked is answered either way.
func TestRequests(t *testing.T) {
	t.Parallel()
	requests := make(chan Request)
	var refused []string
	done := 0
	l := &Loop{State: started("e", testLimits()), Now: time.Now, Append: func(...Event) error { return nil }, Requests: requests,
		Observe: func(e Event, _ State) {
			if _, ok := e.Fact.(RequestRefused); ok {
				refused = append(refused, e.Reason)
			}
		},
		Executor: world1(func(_ context.Context, d Decision) Event {
			requests <- Request{Event: Event{Fact: TaskRetried{}, Task: d.Task}, Done: func() { done++ }}
			requests <- Request{Event: Event{Fact: TaskSkipped{}, Task: "e.99"}}
			requests <- Request{Event: Event{Fact: DrainStarted{}, Code: reason.Interrupted, Reason: "asked"}, Done: func() { done++ }}
			return good(context.Background(), d)
		})}
	require.NoError(t, l.Run(t.Context()))
	require.Equal(t, 2, done)
	require.Len(t, refused, 2)
	require.Contains(t, refused[0], "only a parked or skipped task is tried again")
	require.Contains(t, refused[1], "not known")
	require.Equal(t, LoopDone, Summarize(l.State, time.Now()).Promise, "what ran has landed")
}
