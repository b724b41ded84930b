package show

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/core"
)

// played is a state after events, one second apart.
func played(t *testing.T, events ...core.Event) core.State {
	t.Helper()
	s := core.NewState()
	at := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	for n, e := range events {
		e.At = at.Add(time.Duration(n) * time.Second)
		require.NoError(t, core.Check(s, e))
		s = core.Apply(s, e)
	}
	return s
}

func begun(nodes ...core.Node) []core.Event {
	return []core.Event{
		{Kind: core.RunStarted, Epic: "e", Run: &core.Run{Number: 1, Mode: core.Headless, Limits: core.Limits{MaxParallel: 4, Attempts: 3, Iterations: 9, Actor: "orch/e", Into: "main"}}, Land: &core.Land{Commits: []core.Commit{"tip"}}},
		{Kind: core.BaseCheckStarted}, {Kind: core.BaseChecked, Land: &core.Land{Passed: true}},
		{Kind: core.TrackerRead, Read: &core.Reading{Nodes: append([]core.Node{{ID: "e", Title: "The epic", Epic: true, Status: "open"}}, nodes...)}},
	}
}

func node(id core.TaskID, needs ...core.TaskID) core.Node {
	n := core.Node{ID: id, Title: "Task " + string(id), Parent: "e", Status: "open"}
	for _, need := range needs {
		n.Needs = append(n.Needs, []core.TaskID{need})
	}
	return n
}

// TestLines: what a person is told of each event, and what is only for the journal.
func TestLines(t *testing.T) {
	t.Parallel()
	s := played(t, begun(node("e.1"), node("e.2"))...)
	agent := func(a core.Agent) *core.Agent { return &a }
	tests := []struct {
		event core.Event
		want  string // "" for no line
		bad   bool
	}{
		{core.Event{Kind: core.AttemptStarted, Task: "e.1", Attempt: 1}, "start e.1: Task e.1", false},
		{core.Event{Kind: core.AttemptStarted, Task: "e.1", Attempt: 2, Reason: "attempt 2, after GATE_FAILED"}, "retry e.1: Task e.1 (attempt 2, after GATE_FAILED)", false},
		{core.Event{Kind: core.IterationStarted, Task: "e.1", Attempt: 1, Reason: "conflict in f"}, "again e.1: attempt 1 goes on: conflict in f", false},
		{core.Event{Kind: core.AgentEnded, Task: "e.1", Attempt: 1, Agent: agent(core.Agent{End: core.EndedItself, Changed: true})}, "", false},
		{core.Event{Kind: core.AgentEnded, Task: "e.1", Attempt: 1, Agent: agent(core.Agent{End: core.EndedItself})}, "ended e.1: attempt 1 changed nothing", true},
		{core.Event{Kind: core.AgentEnded, Task: "e.1", Attempt: 1, Agent: agent(core.Agent{End: core.EndedItself, Changed: true, Salvaged: true})}, "salvaged e.1: uncommitted work was committed for the agent", false},
		{core.Event{Kind: core.AgentEnded, Task: "e.1", Attempt: 1, Agent: agent(core.Agent{End: core.EndedItself, Signal: core.SignalBlocked})}, "", false},
		{core.Event{Kind: core.AgentEnded, Task: "e.1", Attempt: 1, Reason: "exit 3", Agent: agent(core.Agent{End: core.EndedCrash})}, "ended e.1: attempt 1: exit 3", true},
		{core.Event{Kind: core.AgentEnded, Task: "e.1", Attempt: 1, Reason: "429", Agent: agent(core.Agent{End: core.EndedLimit})}, "limit e.1: 429; all agents wait, the attempt does not count", true},
		{core.Event{Kind: core.AttemptStopped, Task: "e.1", Attempt: 1, Reason: "claimed by bob"}, "stop e.1: claimed by bob", true},
		{core.Event{Kind: core.AttemptLost, Task: "e.1", Attempt: 1, Reason: "orch was stopped"}, "lost e.1: attempt 1: orch was stopped; its work is kept", true},
		{core.Event{Kind: core.LandingConflicted, Task: "e.1", Attempt: 1, Reason: "conflict in f and 2 more"}, "conflict e.1: in f and 2 more", true},
		{core.Event{Kind: core.CandidateJudged, Land: &core.Land{Tasks: []core.TaskID{"e.1"}, Passed: true}}, "", false},
		{core.Event{Kind: core.CandidateJudged, Reason: "tests: exit 1", Land: &core.Land{Tasks: []core.TaskID{"e.1"}}}, "gate red e.1: tests: exit 1", true},
		{core.Event{Kind: core.CandidateJudged, Reason: "tests: exit 1", Land: &core.Land{Tasks: []core.TaskID{"e.1", "e.2"}}}, "gate red: tests: exit 1; 2 candidates are taken apart", true},
		{core.Event{Kind: core.TaskLanded, Land: &core.Land{Tasks: []core.TaskID{"e.1"}, Files: 1, Added: 3, Deleted: 2}}, "landed e.1: 1 file, +3 -2", false},
		{core.Event{Kind: core.TaskLanded, Land: &core.Land{Tasks: []core.TaskID{"e.1", "e.2"}, Files: 4}}, "landed e.1: 4 files, +0 -0, with e.2", false},
		{core.Event{Kind: core.TaskFound, Task: "e.1", Reason: "its commit is on the epic branch already", Land: &core.Land{}}, "landed e.1: its commit is on the epic branch already", false},
		{core.Event{Kind: core.LandingLost, Reason: "the branch moved"}, "again: landing starts over: the branch moved", true},
		{core.Event{Kind: core.TaskParked, Task: "e.1", Code: core.Question, Reason: "which?"}, "asks e.1: which?", true},
		{core.Event{Kind: core.TaskParked, Task: "e.1", Code: core.NoChange, Reason: "nothing"}, "parked e.1: [NO_CHANGE] nothing", true},
		{core.Event{Kind: core.TaskRetried, Task: "e.1"}, "retry e.1: asked by a person", false},
		{core.Event{Kind: core.TaskSkipped, Task: "e.1", Reason: "skipped by a person"}, "skipped e.1: skipped by a person", false},
		{core.Event{Kind: core.BaseChecked, Land: &core.Land{Passed: true}}, "", false},
		{core.Event{Kind: core.BaseChecked, Land: &core.Land{}}, "base red: the gate fails before any agent has worked", true},
		{core.Event{Kind: core.DrainStarted, Reason: "asked by interrupt"}, "drain: asked by interrupt; no new work is started", true},
		{core.Event{Kind: core.KillStarted}, "stop: agents are interrupted; their work is kept", true},
		{core.Event{Kind: core.BreakerOpened, Reason: "5 agents ended at once", Until: time.Time{}.Add(10 * time.Second)}, "pause: 5 agents ended at once; one agent tries again in 10s", true},
		{core.Event{Kind: core.TrackerFailed, Reason: "timeout"}, "tracker: no answer: timeout", true},
		{core.Event{Kind: core.TrackerWritten, Wrote: []core.Wrote{{ID: "e.1", Status: "closed"}}}, "", false},
		{core.Event{Kind: core.TrackerWritten, Wrote: []core.Wrote{{ID: "e.1", Refused: "claimed by bob"}}}, "tracker e.1: claimed by bob", true},
		{core.Event{Kind: core.TrackerRead, Read: &core.Reading{}}, "", false},
		{core.Event{Kind: core.MetaFiled, Reason: "filed x-9 in the tracker"}, "filed: filed x-9 in the tracker", true},
		{core.Event{Kind: core.EpicLandedInto, Reason: "main", Land: &core.Land{Old: "0123456789abcdef"}}, "into: main is at 0123456789ab now", false},
		{core.Event{Kind: core.EpicNotLanded, Reason: "it is dirty"}, "into: not landed on main: it is dirty", true},
		{core.Event{Kind: core.LeftoverFound, Reason: "a lock", Text: "/x.lock"}, "mended: a lock /x.lock", false},
		{core.Event{Kind: core.WorkerPanicked, Task: "e.1", Reason: "start: oh"}, "bug e.1: start: oh; orch events has the trace", true},
		{core.Event{Kind: core.RequestRefused, Reason: "e.9 is not known"}, "refused: e.9 is not known", true},
		{core.Event{Kind: core.AgentExited, Task: "e.1"}, "", false},
	}
	for _, tt := range tests {
		l, ok := lineOf(tt.event, s)
		got := ""
		if ok {
			got = l.word
			if l.task != "" {
				got += " " + string(l.task)
			}
			got += ": " + l.text
		}
		require.Equal(t, tt.want, got, tt.event.Kind)
		require.Equal(t, tt.bad, l.bad, tt.want)
	}
}

// TestFooter fits its width, and says how far, who does what, and what to press.
func TestFooter(t *testing.T) {
	t.Parallel()
	s := played(t, append(begun(node("e.1"), node("e.2"), node("e.3", "e.1")),
		core.Event{Kind: core.AttemptStarted, Task: "e.1", Attempt: 1, Agent: &core.Agent{}}, core.Event{Kind: core.AttemptStarted, Task: "e.2", Attempt: 1, Agent: &core.Agent{}},
		core.Event{Kind: core.AgentEnded, Task: "e.2", Attempt: 1, Agent: &core.Agent{End: core.EndedItself, Changed: true, Head: "h"}})...)
	now := time.Date(2026, 1, 2, 12, 1, 4, 0, time.UTC)
	doing := func(id core.TaskID) string { return "Edit \x1b[31ma very long file name that goes on and on.go" }
	lines := footer(s, now, doing, 60)
	require.Equal(t, []string{
		"",
		" ▕░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░▏ 0/3 done",
		" ● e.1          1m  Edit a very long file name that goes on…",
		" ○ e.2        waits to land",
		" ctrl-c stops after what runs now, twice stops at once",
	}, lines)
	s.Run.Drain = core.Interrupted
	require.Contains(t, footer(s, now, doing, 200)[1], "draining")
	for _, line := range footer(s, now, doing, 20) {
		require.LessOrEqual(t, len([]rune(line)), 20)
	}
}
