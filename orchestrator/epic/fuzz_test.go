package epic_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	. "github.com/beadsorch/orch/orchestrator/epic"
)

// story is a run as a journal has it: a conflict, a retry, a question, a landing.
func story() []Event {
	return append([]Event{running(testLimits()), {Kind: BaseCheckStarted}, green, readNodes(open("e.1"), open("e.2", "e.1"), open("e.3"))},
		startOf("e.1", 1), endOf("e.1", 1, Agent{Changed: true, Head: "h"}),
		Event{Kind: LandingStarted, Land: &Land{Tasks: []TaskID{"e.1"}, Old: "tip"}},
		Event{Kind: LandingConflicted, Task: "e.1", Attempt: 1, Files: []string{"f"}, Land: &Land{Old: "tip"}},
		Event{Kind: IterationStarted, Task: "e.1", Attempt: 1, Agent: &Agent{Iteration: 2}}, endOf("e.1", 1, Agent{Changed: true, Head: "i"}),
		Event{Kind: LandingStarted, Land: &Land{Tasks: []TaskID{"e.1"}}},
		Event{Kind: CandidateJudged, Land: &Land{Tasks: []TaskID{"e.1"}, Commits: []Commit{"c"}, Passed: true}}, Event{Kind: MoveStarted},
		Event{Kind: TaskLanded, Land: &Land{Tasks: []TaskID{"e.1"}, Commits: []Commit{"c"}}},
		startOf("e.3", 1), Event{Kind: AttemptStopped, Task: "e.3", Attempt: 1}, Event{Kind: AttemptLost, Task: "e.3", Attempt: 1, Agent: &Agent{}},
		startOf("e.3", 2), endOf("e.3", 2, Agent{Signal: SignalBlocked}), Event{Kind: TaskParked, Task: "e.3", Attempt: 2, Code: Question},
		Event{Kind: TaskRetried, Task: "e.3"}, Event{Kind: TrackerWritten, Wrote: []Wrote{{ID: "e.1", Status: "closed"}}},
		Event{Kind: BreakerOpened, Until: noon}, Event{Kind: DrainStarted, Code: Interrupted}, Event{Kind: RunEnded})
}

// FuzzReplay plays events of any shape: what Check lets through never makes Apply
// or Decide panic, and the state keeps its promises.
func FuzzReplay(f *testing.F) {
	all, err := json.Marshal(story())
	require.NoError(f, err)
	f.Add(all)
	for n := range story() {
		some, err := json.Marshal(append(story()[:n:n], story()[min(n+1, len(story())):]...))
		require.NoError(f, err)
		f.Add(some)
	}
	for _, e := range []Event{{Kind: TaskSkipped, Task: "e.1"}, {Kind: TaskFound, Task: "e.1", Land: &Land{Commits: []Commit{"x"}}}, {Kind: TaskFound, Task: "e.3", Land: &Land{Commits: []Commit{"x"}}}} {
		for n := range story() { // at every place in it
			some, err := json.Marshal(append(append(story()[:n:n], e), story()[n:]...))
			require.NoError(f, err)
			f.Add(some)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var events []Event
		if json.Unmarshal(data, &events) != nil || len(events) > 200 {
			return
		}
		s := NewState()
		landed := map[TaskID]bool{}
		for _, e := range events {
			if Check(s, e) != nil {
				continue
			}
			if e.Kind == TaskLanded {
				for _, id := range e.Land.Tasks {
					require.False(t, landed[id], "%s lands twice", id)
					landed[id] = true
				}
			}
			s = Apply(s, e)
			for _, task := range s.Tasks {
				if task.State != Landed {
					delete(landed, task.ID) // reopened
				}
				for n, a := range task.Attempts[:max(0, len(task.Attempts)-1)] {
					require.False(t, a.Open(), "only the last attempt of %s may be open, not %d", task.ID, n+1)
				}
			}
			decided := s
			for _, d := range Decide(s, noon.Add(time.Minute)) {
				require.NoError(t, Check(decided, d.Event), "a decision that the state forbids, after %s", e.Kind)
				decided = Apply(decided, d.Event)
			}
			s.NextWake(noon)
			Summarize(s, noon)
			ETA(s, noon)
		}
	})
}

// TestReplayIsApply: a state is what its events make of it, whatever is skipped
// over in between by a person who reads half of a journal.
func TestReplayIsApply(t *testing.T) {
	t.Parallel()
	whole := after(t, NewState(), story()...)
	b, err := json.Marshal(story())
	require.NoError(t, err)
	var again []Event
	require.NoError(t, json.Unmarshal(b, &again))
	require.Equal(t, whole, after(t, NewState(), again...), "through JSON and back")
}
