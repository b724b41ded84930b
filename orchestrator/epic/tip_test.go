package epic_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	. "github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/reason"
)

// moved is the epic branch found at to.
func moved(to Commit, lost ...TaskID) Event {
	return Event{Fact: BranchMoved{TipMove: TipMove{From: "c", To: to, Lost: lost}}, Code: reason.EpicMoved}
}

// onBranch is a state with a landed task, an agent at work on another where wanted, and the
// branch where it belongs.
func onBranch(t *testing.T, more ...Event) State {
	t.Helper()
	return after(t, after(t, idle(t, open("e.1"), open("e.2")), landedOne...), more...)
}

// TestMovedBranch: what becomes of an epic branch that others have moved.
func TestMovedBranch(t *testing.T) {
	t.Parallel()
	later := noon.Add(time.Minute)
	agent := startOf("e.2", 1)
	agent.At = noon.Add(10 * time.Second)
	find := func(e Event) Event { e.At = noon.Add(20 * time.Second); return e }
	cases := map[string]struct {
		events []Event
		want   []string
	}{
		"with all work is taken as it is":             {[]Event{find(moved("x"))}, []string{"pin"}},
		"without landed work ends the run":            {[]Event{find(moved("x", "e.1"))}, []string{"drain_started"}},
		"that is gone ends the run":                   {[]Event{find(moved(""))}, []string{"drain_started"}},
		"while an agent works is put back":            {[]Event{agent, find(moved("x", "e.1"))}, []string{"restore"}},
		"that is gone while an agent works, too":      {[]Event{agent, find(moved(""))}, []string{"restore"}},
		"with all work, while an agent works, is not": {[]Event{agent, find(moved("x"))}, []string{"pin"}},
		"that was taken is judged": {[]Event{find(moved("x")), find(Event{Fact: BranchAccepted{TipMove: TipMove{From: "c", To: "x"}}})},
			[]string{"check_base"}},
		"that is red ends the run": {[]Event{find(moved("x")), find(Event{Fact: BranchAccepted{TipMove: TipMove{From: "c", To: "x"}}}),
			find(Event{Fact: BaseChecked{}})}, []string{"drain_started"}},
		"that is red, while an agent works, is put back": {[]Event{agent, find(moved("x")), find(Event{Fact: BranchAccepted{TipMove: TipMove{From: "c", To: "x"}}}),
			find(Event{Fact: BaseChecked{}})}, []string{"restore"}},
	}
	for name, tt := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, acts(onBranch(t, tt.events...), later))
		})
	}
}

// TestAcceptedBranchOpensWhatItLost: only then, and the tracker is told.
func TestAcceptedBranchOpensWhatItLost(t *testing.T) {
	t.Parallel()
	s := onBranch(t, Event{Fact: TrackerWritten{Wrote: []WriteResult{{ID: "e.1", Kind: "close", Status: "closed"}}}}, moved("x", "e.1"))
	require.Equal(t, Landed, s.Task("e.1").State)
	require.Equal(t, LoopBlocked, Summarize(s, noon).Promise)
	s = after(t, s, Event{Fact: BranchAccepted{TipMove: TipMove{From: "c", To: "x", Lost: []TaskID{"e.1"}}}})
	require.Equal(t, Waiting, s.Task("e.1").State)
	require.Equal(t, Commit("x"), s.Tip)
	s = after(t, s, green, startOf("e.2", 1))
	require.False(t, s.Moved.Pending())
	require.Contains(t, told(s, noon.Add(time.Minute)), "e.1 open")
}

// TestCurrent: a worker that began before a landing moved the branch has seen that landing.
func TestCurrent(t *testing.T) {
	t.Parallel()
	s := after(t, onBranch(t), startOf("e.2", 1), endOf("e.2", 1, AgentEnded{Changed: true, Head: "h"}),
		Event{Fact: LandingStarted{Tasks: []TaskID{"e.2"}, Old: "c"}},
		Event{Fact: CandidateJudged{Candidates: Candidates{Tasks: []TaskID{"e.2"}, Old: "c", Commits: []Commit{"d"}}, Verdict: Verdict{Passed: true}}}, Event{Fact: MoveStarted{}})
	require.IsType(t, TipSeen{}, Current(s, moved("d")).Fact, "it is moving")
	require.IsType(t, BranchMoved{}, Current(s, moved("x")).Fact)
	s = after(t, s, Event{Fact: TaskLanded{Candidates: Candidates{Tasks: []TaskID{"e.2"}, Commits: []Commit{"d"}}}})
	require.IsType(t, TipSeen{}, Current(s, moved("d")).Fact, "it has moved")
	require.IsType(t, TipSeen{}, Current(s, moved("c")).Fact, "seen before that")
}

// TestMovedWhileLanding: nothing is put back, nor given up, while a landing may yet move the branch on.
func TestMovedWhileLanding(t *testing.T) {
	t.Parallel()
	later := noon.Add(time.Minute)
	for name, more := range map[string][]Event{"an agent works": {startOf("e.3", 1)}, "nobody works": nil} {
		s := after(t, idle(t, open("e.1"), open("e.2"), open("e.3")), landedOne...)
		s = after(t, s, startOf("e.2", 1), endOf("e.2", 1, AgentEnded{Changed: true, Head: "h"}),
			Event{Fact: LandingStarted{Tasks: []TaskID{"e.2"}, Old: "c"}},
			Event{Fact: CandidateJudged{Candidates: Candidates{Tasks: []TaskID{"e.2"}, Old: "c", Commits: []Commit{"d"}}, Verdict: Verdict{Passed: true}}})
		s = after(t, s, more...)
		s = after(t, s, Event{Fact: MoveStarted{Candidates: Candidates{Tasks: []TaskID{"e.2"}}}})
		s = after(t, s, moved("x", "e.1"))
		require.True(t, s.Moved.Pending(), name)
		for _, d := range decisions(s, later) {
			require.NotEqual(t, RestoreTip, d.Act, name)
			_, drains := d.Fact.(DrainStarted)
			require.False(t, drains, name)
		}
		landed := after(t, s, Event{Fact: TaskLanded{Candidates: Candidates{Tasks: []TaskID{"e.2"}, Commits: []Commit{"d"}}}})
		require.False(t, landed.Moved.Pending(), "it was put back and moved on since: %s", name)
		require.Equal(t, Commit("d"), landed.Tip)
		lost := after(t, s, Event{Fact: LandingLost{Tasks: []TaskID{"e.2"}}})
		require.True(t, lost.Moved.Pending(), name)
		require.NotEmpty(t, acts(lost, later), name)
	}
}

// TestSettleIsNoRun has a command settle the epic branch: it begins nothing, and the newest run
// is the one before it, also where that was cut off.
func TestSettleIsNoRun(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	s := Apply(NewState(), Event{At: at, Fact: RunStarted{Epic: "e", Number: 1, Mode: ModeRun, Tip: "tip"}})
	settle := Event{At: at.Add(time.Hour), Fact: RunStarted{Epic: "e", Number: 1, Mode: ModeSettle, Tip: "tip"}}
	require.NoError(t, Check(s, settle))
	begun := Apply(s, settle)
	require.NoError(t, Check(begun, settle), "the command was killed, and is given again")
	accepted := Event{At: at.Add(time.Hour), Fact: BranchAccepted{TipMove: TipMove{From: "tip", To: "other"}}}
	ended := Event{At: at.Add(time.Hour), Fact: RunEnded{Promise: LoopDone}}
	after := Apply(Apply(Apply(begun, settle), accepted), ended)
	require.Equal(t, 1, after.Run.Number)
	require.Equal(t, ModeRun, begun.Looked().Run.Mode, "refused, or killed")
	require.Equal(t, ModeRun, after.Run.Mode)
	require.True(t, after.Run.CutOff())
	require.False(t, after.Run.Ended.IsZero(), "what has changed since is no longer taken for that run's agents'")
	require.Equal(t, Commit("other"), after.Tip)
	require.False(t, after.Moved.Pending())
	require.Equal(t, GateUnknown, after.Gate)
	require.Empty(t, after.Done)
	require.True(t, s.Run.Ended.IsZero(), "what was is as it was")
	require.Error(t, Check(after, Event{Fact: RunStarted{Epic: "e", Number: 1, Mode: ModeRun}}))
	require.NoError(t, Check(after, Event{Fact: RunStarted{Epic: "e", Number: 2, Mode: ModeRun}}))
}

// TestMovedWhileNobodyWorked: what moves the branch while no agent works is a person's doing, and is
// found before the next agent begins from it.
func TestMovedWhileNobodyWorked(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	s := Apply(NewState(), Event{At: at, Fact: RunStarted{Epic: "e", Number: 1, Mode: ModeRun, Tip: "tip", Limits: Limits{MaxParallel: 1, Attempts: 1, Iterations: 1, SurveyEvery: time.Hour, Actor: "orch/x"}}})
	s = Apply(s, Event{At: at, Fact: TrackerRead{Nodes: []Node{{ID: "e", Epic: true, Status: "in_progress", Assignee: "orch/x"}, {ID: "e.1", Parent: "e", Status: "open"}}}})
	s = Apply(s, Event{At: at, Fact: BaseChecked{Verdict: Verdict{Passed: true}}})
	acts := func(now time.Time) (all []Act) {
		ds, _ := Decide(s, now)
		for _, d := range ds {
			all = append(all, d.Act)
		}
		return all
	}
	require.Equal(t, []Act{Start}, acts(at.Add(time.Second)))
	require.Equal(t, []Act{LookAtTip}, acts(at.Add(time.Minute)))
	looked := Event{At: at.Add(time.Minute), Fact: BranchMoved{TipMove: TipMove{From: "tip", To: "", Lost: []TaskID{"e.0"}}, Since: s.TipSeenAt()}}
	moved := Apply(Apply(s, Event{At: at.Add(time.Minute), Fact: TipLookStarted{}}), Current(s, looked))
	ds, _ := Decide(moved, at.Add(time.Minute))
	require.Len(t, ds, 1)
	require.IsType(t, DrainStarted{}, ds[0].Fact)
	require.Equal(t, reason.EpicMoved, ds[0].Code)

	s = Apply(s, Event{At: at.Add(time.Minute), Fact: TipSeen{}})
	require.Equal(t, []Act{Start}, acts(at.Add(time.Minute)))
	require.IsType(t, TipLookEnded{}, Current(s, looked).Fact, "the look began before")
}

// TestHeldAndMoved: looks at a branch that is checked out and lacks landed work come at their pace and see when it is
// left; until then nothing is put back, and a run that is to end does.
func TestHeldAndMoved(t *testing.T) {
	t.Parallel()
	agent := startOf("e.2", 1)
	agent.At = noon.Add(10 * time.Second)
	found := func(at time.Time, held string) Event {
		return Event{At: at, Fact: BranchMoved{TipMove: TipMove{From: "c", To: "x", Lost: []TaskID{"e.1"}}, Held: held}, Code: reason.EpicMoved}
	}
	at := noon.Add(time.Minute)
	look := func(s State, held string) State {
		s = after(t, s, Event{At: at, Fact: TipLookStarted{}})
		e := Current(s, found(at, held))
		e.At = at
		return after(t, s, e)
	}
	s := onBranch(t, agent, found(at, "/w"))
	require.Equal(t, "/w", s.Held())
	require.NotContains(t, acts(s, at), "restore")
	require.NotContains(t, acts(s, at), "look")
	at = at.Add(3 * time.Second)
	require.Contains(t, acts(s, at), "look")
	s = look(s, "/w")
	require.NotContains(t, acts(s, at), "look", "it was looked at just now")

	left := look(s, "")
	require.Empty(t, left.Held())
	require.Contains(t, acts(left, at), "restore")

	s = after(t, s, Event{At: at, Fact: AgentEnded{End: EndedStopped}, Task: "e.2", Attempt: 1},
		Event{At: at, Fact: DrainStarted{}, Code: reason.Interrupted}, Event{At: at, Fact: InterruptStarted{}})
	for range 20 {
		ds, _ := Decide(s, at)
		if len(ds) == 1 && ds[0].Act == Finish {
			return
		}
		if len(ds) == 0 {
			at = at.Add(time.Second)
			continue
		}
		switch ds[0].Act {
		case LookAtTip:
			s = look(s, "/w")
		case Clean:
			s = after(t, s, ds[0].Event, Event{At: at, Fact: AttemptCleaned{}, Task: ds[0].Task, Attempt: ds[0].Attempt})
		case Survey:
			s = after(t, s, ds[0].Event, Event{At: at, Fact: TrackerRead{}})
		case Write:
			s = after(t, s, ds[0].Event, Event{At: at, Fact: TrackerWritten{Wrote: []WriteResult{{ID: "e", Kind: "status", Status: "open"}}}})
		default:
			s = after(t, s, ds[0].Event)
		}
		at = at.Add(time.Second)
	}
	require.Fail(t, "the run does not end")
}
