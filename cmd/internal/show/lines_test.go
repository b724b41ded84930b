package show

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/iteration"
	"github.com/beadsorch/orch/orchestrator/reason"
)

// played is a state after events, one second apart.
func played(t *testing.T, events ...epic.Event) epic.State {
	t.Helper()
	s := epic.NewState()
	at := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	for n, e := range events {
		e.At = at.Add(time.Duration(n) * time.Second)
		require.NoError(t, epic.Check(s, e))
		s = epic.Apply(s, e)
	}
	return s
}

func begun(nodes ...epic.Node) []epic.Event {
	return []epic.Event{
		{Fact: epic.RunStarted{Epic: "e", Number: 1, Mode: epic.ModeRun, Limits: epic.Limits{MaxParallel: 4, Attempts: 3, Iterations: 9, Actor: "orch/e", Into: "main"}, Tip: "tip"}},
		{Fact: epic.BaseCheckStarted{}}, {Fact: epic.BaseChecked{Verdict: epic.Verdict{Passed: true}}},
		{Fact: epic.TrackerRead{Nodes: append([]epic.Node{{ID: "e", Title: "The epic", Epic: true, Status: "open"}}, nodes...)}},
	}
}

func node(id epic.TaskID, needs ...epic.TaskID) epic.Node {
	n := epic.Node{ID: id, Title: "Task " + string(id), Parent: "e", Status: "open"}
	for _, need := range needs {
		n.Needs = append(n.Needs, []epic.TaskID{need})
	}
	return n
}

// TestLines: what a person is told of each event, and what is only for the journal.
func TestLines(t *testing.T) {
	t.Parallel()
	s := played(t, begun(node("e.1"), node("e.2"))...)
	tests := []struct {
		event epic.Event
		want  string // "" for no line
		bad   bool
	}{
		{epic.Event{Fact: epic.AttemptStarted{}, Task: "e.1", Attempt: 1}, "start e.1: Task e.1", false},
		{epic.Event{Fact: epic.AttemptStarted{}, Task: "e.1", Attempt: 2, Reason: "attempt 2, after GATE_FAILED"}, "retry e.1: Task e.1 (attempt 2, after GATE_FAILED)", false},
		{epic.Event{Fact: epic.IterationStarted{}, Task: "e.1", Attempt: 1, Reason: "conflict in f"}, "again e.1: attempt 1 goes on: conflict in f", false},
		{epic.Event{Fact: epic.AgentEnded{End: epic.EndedItself, Changed: true}, Task: "e.1", Attempt: 1}, "", false},
		{epic.Event{Fact: epic.AgentEnded{End: epic.EndedItself}, Task: "e.1", Attempt: 1}, "ended e.1: attempt 1 changed nothing", true},
		{epic.Event{Fact: epic.AgentEnded{End: epic.EndedItself, Changed: true, Salvaged: true}, Task: "e.1", Attempt: 1}, "salvaged e.1: uncommitted work was committed for the agent", false},
		{epic.Event{Fact: epic.AgentEnded{End: epic.EndedItself, Signal: epic.SignalBlocked}, Task: "e.1", Attempt: 1}, "", false},
		{epic.Event{Fact: epic.AgentEnded{End: epic.EndedCrash}, Task: "e.1", Attempt: 1, Reason: "exit 3"}, "ended e.1: attempt 1: exit 3", true},
		{epic.Event{Fact: epic.AgentEnded{End: epic.EndedLimit}, Task: "e.1", Attempt: 1, Reason: "429"}, "limit e.1: 429; all agents wait, the attempt does not count", true},
		{epic.Event{Fact: epic.AttemptStopped{}, Task: "e.1", Attempt: 1, Reason: "claimed by bob"}, "stop e.1: claimed by bob", true},
		{epic.Event{Fact: epic.AttemptLost{}, Task: "e.1", Attempt: 1, Reason: "orch was stopped"}, "lost e.1: attempt 1: orch was stopped; its work is kept", true},
		{epic.Event{Fact: epic.LandingConflicted{}, Task: "e.1", Attempt: 1, Reason: "conflict in f and 2 more"}, "conflict e.1: in f and 2 more", true},
		{epic.Event{Fact: epic.CandidateJudged{Candidates: epic.Candidates{Tasks: []epic.TaskID{"e.1"}}, Verdict: epic.Verdict{Passed: true}}}, "", false},
		{epic.Event{Fact: epic.CandidateJudged{Candidates: epic.Candidates{Tasks: []epic.TaskID{"e.1"}}}, Reason: "tests: exit 1"}, "gate red e.1: tests: exit 1", true},
		{epic.Event{Fact: epic.CandidateJudged{Candidates: epic.Candidates{Tasks: []epic.TaskID{"e.1", "e.2"}}}, Reason: "tests: exit 1"}, "gate red: tests: exit 1; 2 candidates are taken apart", true},
		{epic.Event{Fact: epic.TaskLanded{Candidates: epic.Candidates{Tasks: []epic.TaskID{"e.1"}}, Size: epic.Size{Files: 1, Added: 3, Deleted: 2}}}, "landed e.1: 1 file, +3 -2", false},
		{epic.Event{Fact: epic.TaskLanded{Candidates: epic.Candidates{Tasks: []epic.TaskID{"e.1", "e.2"}}, Size: epic.Size{Files: 4}}}, "landed e.1: 4 files, +0 -0, with e.2", false},
		{epic.Event{Fact: epic.TaskFound{}, Task: "e.1", Reason: "its commit is on the epic branch already"}, "landed e.1: its commit is on the epic branch already", false},
		{epic.Event{Fact: epic.LandingLost{}, Reason: "the branch moved"}, "again: landing starts over: the branch moved", true},
		{epic.Event{Fact: epic.TaskParked{}, Task: "e.1", Code: reason.Question, Reason: "which?"}, "asks e.1: which?", true},
		{epic.Event{Fact: epic.TaskParked{}, Task: "e.1", Code: reason.NoChange, Reason: "nothing"}, "parked e.1: [NO_CHANGE] nothing", true},
		{epic.Event{Fact: epic.TaskRetried{}, Task: "e.1"}, "retry e.1: asked by a person", false},
		{epic.Event{Fact: epic.TaskSkipped{}, Task: "e.1", Reason: "skipped by a person"}, "skipped e.1: skipped by a person", false},
		{epic.Event{Fact: epic.BaseChecked{Verdict: epic.Verdict{Passed: true}}}, "", false},
		{epic.Event{Fact: epic.BaseChecked{}}, "base red: the gate fails before any agent has worked", true},
		{epic.Event{Fact: epic.BranchMoved{Held: "/w"}, Reason: "the epic branch is gone"}, "moved: the epic branch is gone; checked out in /w: git -C /w switch --detach", true},
		{epic.Event{Fact: epic.BaseChecked{Stopped: true}, Reason: "interrupted"}, "again: the gate has yet to judge the epic branch: interrupted", false},
		{epic.Event{Fact: epic.DrainStarted{}, Reason: "asked by interrupt"}, "drain: asked by interrupt; no new work is started", true},
		{epic.Event{Fact: epic.InterruptStarted{}}, "stop: agents are interrupted; their work is kept", true},
		{epic.Event{Fact: epic.BreakerOpened{Until: time.Time{}.Add(10 * time.Second)}, Reason: "5 agents ended at once"}, "pause: 5 agents ended at once; one agent tries again in 10s", true},
		{epic.Event{Fact: epic.TrackerFailed{}, Reason: "timeout"}, "tracker: no answer: timeout", true},
		{epic.Event{Fact: epic.TrackerWritten{Wrote: []epic.WriteResult{{ID: "e.1", Status: "closed"}}}}, "", false},
		{epic.Event{Fact: epic.TrackerWritten{Wrote: []epic.WriteResult{{ID: "e.1", Refused: "claimed by bob"}}}}, "tracker e.1: claimed by bob", true},
		{epic.Event{Fact: epic.TrackerRead{}}, "", false},
		{epic.Event{Fact: epic.MetaFiled{}, Reason: "filed x-9 in the tracker"}, "filed: filed x-9 in the tracker", true},
		{epic.Event{Fact: epic.EpicLandedInto{Branch: "main", Commit: "0123456789abcdef"}}, "into: main is at 0123456789ab now", false},
		{epic.Event{Fact: epic.EpicNotLanded{}, Reason: "it is dirty"}, "into: not landed on main: it is dirty", true},
		{epic.Event{Fact: epic.LeftoverFound{Path: "/x.lock"}, Reason: "a lock"}, "mended: a lock /x.lock", false},
		{epic.Event{Fact: epic.WorkerPanicked{}, Task: "e.1", Reason: "start: oh"}, "bug e.1: start: oh; orch events has the trace", true},
		{epic.Event{Fact: epic.RequestRefused{}, Reason: "e.9 is not known"}, "refused: e.9 is not known", true},
		{epic.Event{Fact: epic.AgentExited{}, Task: "e.1"}, "", false},
		{epic.Event{Fact: epic.LoopStepped{Step: epic.LoopStarted, Iteration: 1, Config: &iteration.Config{MaxIterations: 5}}, Task: "e.1", Attempt: 1}, "loop e.1: its session iterates, 5 times at most", false},
		{epic.Event{Fact: epic.LoopStepped{Step: epic.LoopValidated, Iteration: 1, Entry: &iteration.Entry{ValidationScore: 50, Failure: "tests: exit 1", Signal: iteration.Continue}}, Task: "e.1", Attempt: 1}, "judged e.1: iteration 1, score 50, CONTINUE: tests: exit 1", false},
		{epic.Event{Fact: epic.LoopStepped{Step: epic.LoopAdvanced, Iteration: 2}, Task: "e.1", Attempt: 1}, "", false},
		{epic.Event{Fact: epic.LoopStepped{Step: epic.LoopValidated, Iteration: 2, Entry: &iteration.Entry{ValidationScore: 50, Failure: "tests: exit 1", Signal: iteration.Escalate}, Guard: iteration.MaxIterations}, Task: "e.1", Attempt: 1, Reason: "Maximum iterations (2) reached."}, "judged e.1: iteration 2, score 50, ESCALATE: Maximum iterations (2) reached.", true},
		{epic.Event{Fact: epic.LoopStepped{Step: epic.LoopEnded, Iteration: 2, Done: iteration.Escalate}, Task: "e.1", Attempt: 1}, "loop e.1: ended with ESCALATE in iteration 2", true},
		{epic.Event{Fact: epic.LoopStepped{Step: epic.LoopEnded, Iteration: 2, Done: iteration.Complete}, Task: "e.1", Attempt: 1}, "loop e.1: ended with COMPLETE in iteration 2", false},
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
		epic.Event{Fact: epic.AttemptStarted{}, Task: "e.1", Attempt: 1}, epic.Event{Fact: epic.AttemptStarted{}, Task: "e.2", Attempt: 1},
		epic.Event{Fact: epic.AgentEnded{End: epic.EndedItself, Changed: true, Head: "h"}, Task: "e.2", Attempt: 1})...)
	now := time.Date(2026, 1, 2, 12, 1, 4, 0, time.UTC)
	doing := func(id epic.TaskID) string { return "Edit \x1b[31ma very long file name that goes on and on.go" }
	lines := footer(s, now, doing, "ctrl-c stops after what runs now, twice stops at once", 60)
	require.Equal(t, []string{
		"",
		" ▕░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░▏ 0/3 done",
		" ● e.1          1m  Edit a very long file name that goes on…",
		" ○ e.2        waits to land",
		" ctrl-c stops after what runs now, twice stops at once",
	}, lines)
	s.Run.Drain = reason.Interrupted
	require.Contains(t, footer(s, now, doing, "q leaves", 200)[1], "draining")
	for _, line := range footer(s, now, doing, "q leaves", 20) {
		require.LessOrEqual(t, len([]rune(line)), 20)
	}
}
