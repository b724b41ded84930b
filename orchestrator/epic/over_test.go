package epic_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	. "github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/reason"
)

// TestLastReading: whatever drains a run whose last task has landed, the tracker is read once more before the epic is
// closed and the run ends. A task that has come up meanwhile keeps both from being done.
func TestLastReading(t *testing.T) {
	t.Parallel()
	for name, drain := range map[string][]Event{
		"stopped":     {{Fact: DrainStarted{}, Code: reason.Interrupted, Reason: "asked"}},
		"interrupted": {{Fact: DrainStarted{}, Code: reason.Interrupted, Reason: "asked"}, {Fact: InterruptStarted{}}},
		"a limit":     {{Fact: DrainStarted{}, Code: reason.RunIterations, Reason: "Maximum iteration limit (1) reached"}},
		"not drained": nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := noon.Add(time.Minute)
			closed := Event{Fact: TrackerWritten{Wrote: []WriteResult{{ID: "e.1", Kind: "close", Status: "closed"}}}, At: at}
			for _, events := range [][]Event{slices.Concat(landedOne, drain), slices.Concat(drain, landedOne), slices.Concat(landedOne, []Event{closed}, drain)} {
				s := after(t, idle(t, open("e.1")), events...)
				require.Equal(t, []string{"survey"}, acts(s, at))
				s = after(t, s, Event{Fact: TrackerBusy{}}, Event{Fact: TrackerRead{Nodes: []Node{open("e.2")}}, At: at})
				require.NotContains(t, told(s, at), "e close")
				require.NotEqual(t, LoopDone, PromiseOf(s, at).Promise)
			}
		})
	}
}

// TestTaskAfterTheClose: where a task comes up between the last reading and the close of the epic, the epic is opened
// again.
func TestTaskAfterTheClose(t *testing.T) {
	t.Parallel()
	at := noon.Add(time.Minute)
	done := after(t, idle(t, open("e.1")), append(slices.Clone(landedOne), Event{Fact: TrackerRead{}})...)
	closed := Node{ID: "e", Epic: true, Status: "closed"}
	ours := after(t, done, Event{Fact: TrackerWritten{Wrote: []WriteResult{{ID: "e.1", Kind: "close", Status: "closed"}, {ID: "e", Kind: "close", Status: "closed"}}}, At: at})
	s := after(t, ours, Event{Fact: DrainStarted{}, Code: reason.Interrupted, Reason: "asked"}, Event{Fact: TrackerRead{Nodes: []Node{closed, open("e.2")}}, At: at})
	require.Equal(t, []string{"e reopen"}, told(s, at.Add(time.Minute)))
}

// TestUnwritable: a tracker that can be read and not written to is given up too, and nothing is done then: not in the
// run, and not for who looks later.
func TestUnwritable(t *testing.T) {
	t.Parallel()
	for _, interrupted := range []bool{false, true} {
		at, writes := noon.Add(time.Hour), 0
		s := after(t, idle(t, open("e.1")), landedOne...)
		if interrupted {
			s = after(t, s, Event{Fact: DrainStarted{}, Code: reason.Interrupted, Reason: "asked"}, Event{Fact: InterruptStarted{}})
		}
		for n := 0; ; n++ {
			require.Less(t, n, 100, "the run does not end")
			ds := decisions(s, at)
			if len(ds) == 0 {
				at = wakeOf(s, at)
				continue
			}
			s = after(t, s, ds[0].Event)
			switch ds[0].Act {
			case Survey:
				s = after(t, s, Event{Fact: TrackerRead{}, At: at})
			case Write:
				writes++
				s = after(t, s, Event{Fact: TrackerFailed{Write: true}, Code: reason.Machine, Reason: "permission denied", At: at})
			case Clean:
				s = after(t, s, Event{Fact: AttemptCleaned{}, Task: "e.1", Attempt: 1, At: at})
			case LookAtTip:
				s = after(t, s, Event{Fact: TipSeen{}, At: at})
			}
			if ds[0].Act == Finish {
				require.Equal(t, reason.Machine, ds[0].Code)
				require.Contains(t, ds[0].Reason, "cannot be written to: permission denied")
				break
			}
		}
		require.Equal(t, map[bool]int{false: 5, true: 1}[interrupted], writes)
		require.Equal(t, string(LoopError), s.Run.Promise)
		later := after(t, s, Event{Fact: TrackerRead{}, At: at.Add(time.Minute)}).Seen(false, nil, at)
		require.Equal(t, LoopError, PromiseOf(later, at).Promise)
		require.Equal(t, reason.Machine, PromiseOf(later, at).Code)
	}
}
