package epic_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	. "github.com/beadsorch/orch/orchestrator/epic"
)

// theirs is a task that the tracker says is at the orch of another clone.
func theirs(id TaskID) Node {
	return Node{ID: id, Parent: "e", Status: "in_progress", Assignee: "orch/e/other:1"}
}

// epicOf is the epic as the tracker has it.
func epicOf(status, assignee string) Node {
	return Node{ID: "e", Epic: true, Status: status, Assignee: assignee}
}

// driven has all done that is decided, for an hour, by a tracker that makes each change, and tells what it
// was asked, in order, and what the run decided about tasks.
func driven(t *testing.T, s State, now time.Time) (State, string) {
	t.Helper()
	var said []string
	reopened := false // and not read since
	for end := now.Add(time.Hour); ; {
		ds := decisions(s, now)
		for _, d := range ds {
			d.At = now
			s = after(t, s, d.Event)
			var answer []Event
			switch d.Act {
			case Finish:
				return s, strings.Join(said, ", ")
			case Survey:
				if reopened && said[len(said)-1] == "e in_progress" {
					said, reopened = append(said, "survey"), false
				}
				answer = []Event{{Fact: TrackerRead{}}}
			case LookAtTip:
				answer = []Event{{Fact: TipSeen{}}}
			case Start:
				said = append(said, "start "+string(d.Task))
				require.Equal(t, TaskID("e.1"), d.Task)
				return s, strings.Join(said, ", ")
			case Write:
				var w TrackerWritten
				for _, c := range d.Changes {
					r := WriteResult{ID: TaskID(c.ID), Kind: string(c.Kind), Status: string(c.Status)}
					switch c.Kind {
					case "claim":
						r.Status, r.By = "in_progress", s.Run.Limits.Actor
					case "close":
						r.Status = "closed"
					case "reopen":
						r.Status, reopened = "open", true
					}
					said = append(said, c.ID+" "+r.Status)
					w.Wrote = append(w.Wrote, r)
				}
				answer = []Event{{Fact: w}}
			case Nothing:
				said = append(said, string(d.Kind()))
			}
			for _, e := range answer {
				e.At = now
				s = after(t, s, e)
			}
		}
		if len(ds) == 0 {
			now = wakeOf(s, now)
			require.Less(t, now, end)
			require.False(t, now.IsZero(), "it waits for nobody: %v", said)
		}
	}
}

// TestAnotherClone: a run writes nothing to the tracker while another clone has the epic, and decides
// nothing about what is in progress there; before it writes anything else it claims the epic.
func TestAnotherClone(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		takeOver bool
		epic     Node
		tasks    []Node
		want     string
	}{
		"it has the epic":                       {false, epicOf("in_progress", "orch/e/other:1"), []Node{theirs("e.1"), open("e.2", "e.1")}, "drain_started"},
		"and a task of it has no name":          {false, epicOf("in_progress", "orch/e/other:1"), []Node{{ID: "e.1", Parent: "e", Status: "in_progress"}}, "drain_started"},
		"it has given the epic back":            {false, epicOf("open", ""), []Node{theirs("e.1")}, "e in_progress, task_parked, e.1 blocked, e open"},
		"the epic is a person's":                {false, epicOf("in_progress", "bob"), []Node{theirs("e.1")}, ""},
		"the epic is held here":                 {false, epicOf("in_progress", "orch/e"), []Node{theirs("e.1")}, "task_parked, e.1 blocked, e open"},
		"it is closed":                          {false, epicOf("closed", "orch/e/other:1"), []Node{open("e.1")}, "e open, e in_progress, survey, start e.1"},
		"it is closed, and so is all":           {false, epicOf("closed", "orch/e/other:1"), []Node{{ID: "e.1", Parent: "e", Status: "closed"}}, ""},
		"it is closed, a task has no name":      {false, epicOf("closed", ""), []Node{{ID: "e.1", Parent: "e", Status: "in_progress"}}, "task_parked, e open, e in_progress, survey, e.1 blocked, e open"},
		"it is closed, a task is another's":     {false, epicOf("closed", "orch/e/other:1"), []Node{theirs("e.1")}, "e open, e in_progress, survey, task_parked, e.1 blocked, e open"},
		"a person takes over":                   {true, epicOf("in_progress", "orch/e/other:1"), []Node{theirs("e.1"), open("e.2", "e.1")}, "e open, e in_progress, e.1 open, start e.1"},
		"a person takes over what it gave back": {true, epicOf("open", ""), []Node{theirs("e.1")}, "e in_progress, e.1 open, start e.1"},
		"or what is a person's":                 {true, epicOf("in_progress", "bob"), []Node{theirs("e.1")}, "e.1 open, start e.1"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			limits := testLimits()
			limits.TakeOver = tt.takeOver
			s := after(t, NewState(), running(limits), Event{Fact: BaseCheckStarted{}}, green, Event{Fact: TrackerRead{Nodes: append([]Node{tt.epic}, tt.tasks...)}})
			s, said := driven(t, s, noon.Add(time.Minute))
			require.Equal(t, tt.want, said)
			require.Zero(t, s.Task("e.1").Charged)
		})
	}
}

// TestTakeOverIsResumed: a run that was killed when it had taken the epic over has the next one take the rest; once
// the epic was given back, nothing is left of that.
func TestTakeOverIsResumed(t *testing.T) {
	t.Parallel()
	limits := testLimits()
	limits.TakeOver = true
	s := after(t, NewState(), running(limits), Event{Fact: TrackerRead{Nodes: []Node{epicOf("in_progress", "orch/e/other:1"), theirs("e.1")}}},
		Event{Fact: TrackerWritten{Wrote: []WriteResult{{ID: "e", Kind: "status", Status: "open"}}}},
		Event{Fact: TrackerWritten{Wrote: []WriteResult{{ID: "e", Kind: "claim", Status: "in_progress", By: "orch/e"}}}})
	next := Event{Fact: RunStarted{Epic: "e", Number: 2, Mode: ModeRun, Limits: testLimits(), Tip: "tip"}}
	again := []Event{next, {Fact: BaseCheckStarted{}}, green, {Fact: TrackerRead{}}}
	_, said := driven(t, after(t, s, again...), noon.Add(time.Minute))
	require.Equal(t, "e.1 open, start e.1", said)
	given := after(t, s, Event{Fact: TrackerWritten{Wrote: []WriteResult{{ID: "e", Kind: "status", Status: "open"}}}})
	_, said = driven(t, after(t, given, again...), noon.Add(time.Minute))
	require.Equal(t, "e in_progress, task_parked, e.1 blocked, e open", said)
	other := after(t, s, append(again, Event{Fact: TrackerRead{Nodes: []Node{epicOf("in_progress", "orch/e/third:1")}}})...)
	_, said = driven(t, other, noon.Add(time.Minute))
	require.Equal(t, "drain_started", said)
}

// TestTakeOverRefused: a run ends although the tracker does not let it have a task.
func TestTakeOverRefused(t *testing.T) {
	t.Parallel()
	limits := testLimits()
	limits.TakeOver = true
	s := after(t, NewState(), running(limits), Event{Fact: BaseCheckStarted{}}, green,
		Event{Fact: TrackerRead{Nodes: []Node{epicOf("in_progress", "orch/e"), theirs("e.1")}}},
		Event{Fact: TrackerWritten{Wrote: []WriteResult{{ID: "e.1", Kind: "status", Refused: "no"}}}})
	_, said := driven(t, s, noon.Add(time.Minute))
	require.Equal(t, "e open", said)
}
