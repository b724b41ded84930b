package epic_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	. "github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/reason"
)

// story is a run as a journal has it: a conflict, a retry, a question, a landing.
func story() []Event {
	return append([]Event{running(testLimits()), {Fact: BaseCheckStarted{}}, green, readNodes(open("e.1"), open("e.2", "e.1"), open("e.3"))},
		startOf("e.1", 1), endOf("e.1", 1, AgentEnded{Changed: true, Head: "h"}),
		Event{Fact: LandingStarted{Tasks: []TaskID{"e.1"}, Old: "tip"}},
		Event{Fact: LandingConflicted{Old: "tip", Files: []string{"f"}}, Task: "e.1", Attempt: 1},
		Event{Fact: IterationStarted{Turn: Turn{Iteration: 2}}, Task: "e.1", Attempt: 1}, endOf("e.1", 1, AgentEnded{Changed: true, Head: "i"}),
		Event{Fact: LandingStarted{Tasks: []TaskID{"e.1"}}},
		Event{Fact: CandidateJudged{Candidates: Candidates{Tasks: []TaskID{"e.1"}, Commits: []Commit{"c"}}, Verdict: Verdict{Passed: true}}}, Event{Fact: MoveStarted{}},
		Event{Fact: TaskLanded{Candidates: Candidates{Tasks: []TaskID{"e.1"}, Commits: []Commit{"c"}}}},
		startOf("e.3", 1), Event{Fact: AttemptStopped{}, Task: "e.3", Attempt: 1}, Event{Fact: AttemptLost{}, Task: "e.3", Attempt: 1},
		startOf("e.3", 2), endOf("e.3", 2, AgentEnded{Signal: SignalBlocked}), Event{Fact: TaskParked{}, Task: "e.3", Attempt: 2, Code: reason.Question},
		Event{Fact: TaskRetried{}, Task: "e.3"}, Event{Fact: TrackerWritten{Wrote: []WriteResult{{ID: "e.1", Status: "closed"}}}},
		Event{Fact: NextRequested{Holder: anna}, Request: "r-1"}, Event{Fact: AttemptStarted{Turn: Turn{Base: "tip"}, InSession: true, Holder: anna}, Task: "e.3", Attempt: 3, Request: "r-1"},
		Event{Fact: AttemptHanded{}, Task: "e.3", Attempt: 3}, Event{Fact: AnswerStarted{}, Request: "r-1"}, Event{Fact: RequestAnswered{}, Request: "r-1"},
		Event{Fact: SessionLookStarted{}}, Event{Fact: SessionLookEnded{}}, Event{Fact: LandRequested{}, Task: "e.3", Attempt: 3, Request: "r-2"},
		Event{Fact: CollectStarted{}, Task: "e.3", Attempt: 3}, endOf("e.3", 3, AgentEnded{Changed: true, Head: "j"}),
		Event{Fact: RequestRefused{Kind: "land_requested"}, Request: "r-3", Reason: "no"},
		Event{Fact: NextRequested{Holder: bert, Asker: Process{PID: 7}, AtOnce: true}, Request: "r-4"}, Event{Fact: NextDropped{}, Request: "r-4"},
		Event{Fact: NextRequested{Holder: bert}, Request: "r-5"}, Event{Fact: NextWithdrawn{Of: "r-5"}, Request: "r-6"}, Event{Fact: NextWithdrawn{Of: "r-1"}, Request: "r-7"},
		Event{Fact: BreakerOpened{Until: noon}}, Event{Fact: DrainStarted{}, Code: reason.Interrupted}, Event{Fact: RunEnded{}})
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
	for _, e := range []Event{{Fact: TaskSkipped{}, Task: "e.1"}, {Fact: TaskFound{Commit: "x"}, Task: "e.1"}, {Fact: TaskFound{Commit: "x"}, Task: "e.3"},
		loopOf("e.3", 3)[0], loopOf("e.3", 3)[1]} {
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
			if f, ok := e.Fact.(TaskLanded); ok {
				for _, id := range f.Tasks {
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
			for _, d := range decisions(s, noon.Add(time.Minute)) {
				require.NoError(t, Check(decided, d.Event), "a decision that the state forbids, after %s", e.Kind())
				decided = Apply(decided, d.Event)
			}
			constantUntilWake(t, s, noon)
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

// FuzzEvent reads events of any shape: what can be read can be written, and says the same then.
func FuzzEvent(f *testing.F) {
	for _, e := range story() {
		b, err := json.Marshal(e)
		require.NoError(f, err)
		f.Add(b)
	}
	f.Add([]byte(`{"kind":"agent_ended","task":"e.1","attempt":1,"agent":{"end":"ended","tokens":3},"round":{"passed":true},"text":"x","kept":{"text":"aa","feedback":"bb"}}`))
	f.Add([]byte(`{"kind":"base_checked","land":null,"read":[],"at":""}`))
	f.Add([]byte(`{"v":2,"kind":"tracker_read","read":{"nodes":[{"id":"e"}]}}`))
	f.Add([]byte(`{"v":4,"kind":"run_ended"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var e Event
		if json.Unmarshal(data, &e) != nil {
			return
		}
		b, err := json.Marshal(e)
		require.NoError(t, err)
		var again Event
		require.NoError(t, json.Unmarshal(b, &again))
		second, err := json.Marshal(again)
		require.NoError(t, err)
		require.Equal(t, string(b), string(second))
		_ = Check(NewState(), e)
	})
}

// TestUpgrade reads what the other shape had in fields with other names.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Event{
		`{"kind":"epic_held","reason":"/repo"}`:                                          {Reason: "/repo", Fact: BranchHeld{Dir: "/repo"}},
		`{"kind":"into_started","reason":"main","land":{"commits":["c"]}}`:               {Reason: "main", Fact: IntoStarted{Branch: "main", Tip: "c"}},
		`{"kind":"task_limited","task":"e.1","agent":{"iteration":3}}`:                   {Task: "e.1", Fact: TaskLimited{Iterations: 3}},
		`{"kind":"task_skipped","task":"e.1","text":"closed","unknown":1}`:               {Task: "e.1", Fact: TaskSkipped{Status: "closed"}},
		`{"kind":"agent_ended","agent":{"head":"h"},"kept":{"text":"a","feedback":"b"}}`: {Fact: AgentEnded{Head: "h"}, Kept: map[string]string{"said": "a", "round.feedback": "b"}},
		`{"v":2,"kind":"run_ended","text":"LOOP_DONE"}`:                                  {Fact: RunEnded{Promise: LoopDone}},
	} {
		var e Event
		require.NoError(t, json.Unmarshal([]byte(text), &e), text)
		require.Equal(t, want, e)
	}
	for text, why := range map[string]string{
		`{"kind":"no_such_kind"}`:             `no kind of event was called "no_such_kind"`,
		`{"v":3,"kind":"no_such_kind"}`:       "a newer orch may have written it",
		`{"v":4,"kind":"task_parked"}`:        "version 4",
		`{"v":3,"kind":"run_ended","data":1}`: "run_ended: json",
	} {
		var e Event
		require.ErrorContains(t, json.Unmarshal([]byte(text), &e), why)
	}
}
