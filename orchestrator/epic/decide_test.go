package epic_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	. "github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/reason"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func testLimits() Limits {
	return Limits{MaxParallel: 4, Attempts: 3, Iterations: 15, SurveyEvery: 5 * time.Second, Actor: "orch/e", PoolBackOff: time.Minute,
		CrashBackOff: time.Second, BreakerBackOff: 10 * time.Second, MaxDuration: 100 * time.Hour}
}

// after applies events one second apart, each of which must be allowed.
func after(t *testing.T, s State, events ...Event) State {
	t.Helper()
	for i, e := range events {
		if e.At.IsZero() {
			e.At = noon.Add(time.Duration(i) * time.Second)
		}
		if _, ended := e.Fact.(AgentEnded); ended {
			e = Current(s, e) // has it judged, where it is to be
		}
		require.NoError(t, Check(s, e))
		s = Apply(s, e)
	}
	return s
}

func running(limits Limits) Event {
	return Event{Fact: RunStarted{Epic: "e", Number: 1, Mode: ModeRun, Limits: limits, Tip: "tip"}}
}

func readNodes(nodes ...Node) Event {
	return Event{Fact: TrackerRead{Nodes: append([]Node{{ID: "e", Epic: true, Status: "in_progress", Assignee: "orch/e"}}, nodes...)}}
}

func open(id TaskID, needs ...TaskID) Node {
	n := Node{ID: id, Title: string(id), Parent: "e", Status: "open", Priority: 2}
	for _, need := range needs {
		n.Needs = append(n.Needs, []TaskID{need})
	}
	return n
}

var green = Event{Fact: BaseChecked{Verdict: Verdict{Passed: true}}}

// decisions are those of Decide, without when it is to be asked again. Where agents would start
// but for a look at the epic branch, it was found where it belongs.
func decisions(s State, now time.Time) []Decision {
	ds, _ := Decide(s, now)
	if len(ds) == 1 && ds[0].Act == LookAtTip {
		looked := Apply(Apply(s, ds[0].Event), Event{At: now, Fact: TipSeen{}})
		if next, _ := Decide(looked, now); len(next) > 0 && next[0].Act == Start {
			return next
		}
	}
	return ds
}

// wakeOf is when Decide is to be asked again.
func wakeOf(s State, now time.Time) time.Time {
	_, wake := Decide(s, now)
	return wake
}

// acts lists what Decide would have done, by act and task.
func acts(s State, now time.Time) (out []string) {
	for _, d := range decisions(s, now) {
		word := string(d.Act)
		if d.Act == Nothing {
			word = string(d.Kind())
		}
		if d.Task != "" {
			word += " " + string(d.Task)
		}
		for _, c := range d.Changes {
			word += " " + c.ID + " " + string(c.Status)
		}
		out = append(out, word)
	}
	return out
}

func startOf(id TaskID, n int) Event {
	return Event{Fact: AttemptStarted{Turn: Turn{Base: "tip"}}, Task: id, Attempt: n}
}

func endOf(id TaskID, n int, a AgentEnded) Event {
	if a.End == "" {
		a.End = EndedItself
	}
	return Event{Fact: a, Task: id, Attempt: n}
}

func TestDecide(t *testing.T) {
	t.Parallel()
	limits := testLimits()
	limits.SurveyEvery = time.Hour
	busy := Event{Fact: TrackerBusy{}}
	base := []Event{running(limits), {Fact: BaseCheckStarted{}}, green}
	good := AgentEnded{Changed: true, Head: "h"}
	cases := []struct {
		name   string
		events []Event
		want   []string
	}{
		{"the base is judged first", []Event{running(limits)}, []string{"check_base"}},
		{"then the tracker is read", base, []string{"survey"}},
		{"the longest way goes first", append(base, readNodes(open("e.1"), open("e.2"), open("e.3", "e.2"), open("e.4", "e.3")), busy), []string{"start e.2", "start e.1"}},
		{"a blocked task waits", append(base, readNodes(open("e.2", "e.1"), Node{ID: "e.1", Parent: "e", Status: "in_progress", Assignee: "bob"}), busy), nil},
		{"a task in another's hands is left alone", append(base, readNodes(Node{ID: "e.1", Parent: "e", Status: "in_progress", Assignee: "bob"}), busy), nil},
		{"in progress without anybody is parked", append(base, readNodes(Node{ID: "e.1", Parent: "e", Status: "in_progress"}), busy), []string{"task_parked e.1"}},
		{"a deferred task waits", append(base, readNodes(Node{ID: "e.1", Parent: "e", Status: "open", DeferTill: noon.Add(time.Hour)}), busy), nil},
		{"an ended agent's work is gated", append(base, readNodes(open("e.1")), startOf("e.1", 1), busy, endOf("e.1", 1, good)), []string{"gate"}},
		{"a judged candidate moves the branch", append(base, readNodes(open("e.1")), startOf("e.1", 1), busy, endOf("e.1", 1, good),
			Event{Fact: LandingStarted{Tasks: []TaskID{"e.1"}}},
			Event{Fact: CandidateJudged{Candidates: Candidates{Tasks: []TaskID{"e.1"}, Commits: []Commit{"c"}}, Verdict: Verdict{Passed: true}}}), []string{"move"}},
		{"a red gate is a new attempt", append(base, readNodes(open("e.1")), startOf("e.1", 1), busy, endOf("e.1", 1, good),
			Event{Fact: LandingStarted{Tasks: []TaskID{"e.1"}}},
			Event{Fact: CandidateJudged{Candidates: Candidates{Tasks: []TaskID{"e.1"}}}}), []string{"start e.1"}},
		{"a conflict goes back to its agent", append(base, readNodes(open("e.1")), startOf("e.1", 1), busy, endOf("e.1", 1, good),
			Event{Fact: LandingStarted{Tasks: []TaskID{"e.1"}}},
			Event{Fact: LandingConflicted{Old: "tip", Files: []string{"f"}}, Task: "e.1", Attempt: 1}), []string{"iterate e.1"}},
		{"no change is never done", append(base, readNodes(open("e.1")), startOf("e.1", 1), busy, endOf("e.1", 1, AgentEnded{})), []string{"start e.1"}},
		{"a question needs a person", append(base, readNodes(open("e.1")), startOf("e.1", 1), busy, endOf("e.1", 1, AgentEnded{Signal: "BLOCKED"})), []string{"task_parked e.1"}},
		{"a claim refused stops the agent", append(base, readNodes(open("e.1")), startOf("e.1", 1), busy,
			Event{Fact: TrackerWritten{Wrote: []WriteResult{{ID: "e.1", Refused: "claimed", By: "bob"}}}}, busy), []string{"stop e.1"}},
		{"a task closed by a person stops its agent", append(base, readNodes(open("e.1")), startOf("e.1", 1), busy,
			readNodes(Node{ID: "e.1", Parent: "e", Status: "closed", ClosedBy: "bob"}), busy), []string{"stop e.1"}},
		{"a task closed by its agent goes on", append(base, readNodes(open("e.1")), startOf("e.1", 1), busy,
			readNodes(Node{ID: "e.1", Parent: "e", Status: "closed", ClosedBy: "orch/e/x"}), busy), nil},
		{"closed by nobody known, while an agent works, is its agent's word", append(base, readNodes(open("e.1")), startOf("e.1", 1), busy,
			readNodes(Node{ID: "e.1", Parent: "e", Status: "closed"}), busy), nil},
		{"closed by an agent that changed nothing is opened", append(base, readNodes(open("e.1")), startOf("e.1", 1), busy,
			readNodes(Node{ID: "e.1", Parent: "e", Status: "closed", ClosedBy: "orch/e/x"}), endOf("e.1", 1, AgentEnded{})), []string{"write e.1 open"}},
		{"closed while an agent worked that has ended since is opened", append(base, readNodes(open("e.1")), startOf("e.1", 1), busy, endOf("e.1", 1, AgentEnded{}),
			readNodes(Node{ID: "e.1", Parent: "e", Status: "closed", ClosedAt: noon.Add(5 * time.Second)})), []string{"write e.1 open"}},
		{"closed as it ended, in the tracker's whole seconds, is opened", append(base, readNodes(open("e.1")), startOf("e.1", 1), busy, endOf("e.1", 1, AgentEnded{}),
			readNodes(Node{ID: "e.1", Parent: "e", Status: "closed", ClosedAt: noon.Add(7 * time.Second)})), []string{"write e.1 open"}},
		{"closed by whom is known later, by a person, is done", append(base, readNodes(open("e.1")), startOf("e.1", 1), busy, endOf("e.1", 1, AgentEnded{}),
			readNodes(Node{ID: "e.1", Parent: "e", Status: "closed", ClosedAt: noon.Add(7 * time.Second)}),
			readNodes(Node{ID: "e.1", Parent: "e", Status: "closed", ClosedAt: noon.Add(7 * time.Second), ClosedBy: "bob"},
				Node{ID: "e.2", Parent: "e", Status: "in_progress", Assignee: "bob"})), []string{"write e open"}},
		{"closed by whom is known later, by an agent, is opened", append(base, readNodes(open("e.1")), startOf("e.1", 1), busy, endOf("e.1", 1, AgentEnded{}),
			readNodes(Node{ID: "e.1", Parent: "e", Status: "closed", ClosedAt: noon.Add(time.Hour)}),
			readNodes(Node{ID: "e.1", Parent: "e", Status: "closed", ClosedAt: noon.Add(time.Hour), ClosedBy: "orch/e/x"})), []string{"write e.1 open"}},
		{"closed after that is done", append(base, readNodes(open("e.1")), startOf("e.1", 1), busy, endOf("e.1", 1, AgentEnded{}),
			readNodes(Node{ID: "e.1", Parent: "e", Status: "closed", ClosedAt: noon.Add(time.Hour)}, Node{ID: "e.2", Parent: "e", Status: "in_progress", Assignee: "bob"})), []string{"write e open"}},
		{"closed by an agent that was lost is opened", append(base, readNodes(open("e.1")), startOf("e.1", 1),
			Event{Fact: AttemptLost{}, Task: "e.1", Attempt: 1}, readNodes(Node{ID: "e.1", Parent: "e", Status: "closed", ClosedAt: noon.Add(5 * time.Second)})), []string{"write e.1 open"}},
		{"what waits for a task that an agent closed waits on", append(base, readNodes(open("e.1"), open("e.2", "e.1")), startOf("e.1", 1), busy,
			readNodes(Node{ID: "e.1", Parent: "e", Status: "closed", ClosedBy: "orch/e/x"}), busy), nil},
		{"a red base ends the run", []Event{running(limits), {Fact: BaseCheckStarted{}}, {Fact: BaseChecked{}}}, []string{"drain_started"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := after(t, NewState(), c.events...)
			require.Equal(t, c.want, acts(s, noon.Add(time.Minute)))
		})
	}
}

// TestDecideParksAfterTheLastAttempt counts what is charged: red gates and
// crashes are, an interrupted or rate limited agent is not.
func TestDecideParksAfterTheLastAttempt(t *testing.T) {
	t.Parallel()
	s := after(t, NewState(), running(testLimits()), Event{Fact: BaseCheckStarted{}}, green, readNodes(open("e.1")))
	ends := []AgentEnded{{End: EndedLimit}, {End: EndedCrash}, {End: EndedStopped}, {}, {End: EndedIdle}}
	for i, a := range ends {
		require.Equal(t, Waiting, s.Task("e.1").State)
		s = after(t, s, startOf("e.1", i+1), endOf("e.1", i+1, a))
	}
	require.Equal(t, 3, s.Task("e.1").Charged)
	require.Equal(t, []string{"task_parked e.1"}, acts(s, noon.Add(time.Hour)))
}

// TestReopenedTaskStartsAfresh follows a person who opens a landed task again.
func TestReopenedTaskStartsAfresh(t *testing.T) {
	t.Parallel()
	s := after(t, NewState(), running(testLimits()), Event{Fact: BaseCheckStarted{}}, green, readNodes(open("e.1"), open("e.2")), startOf("e.1", 1),
		endOf("e.1", 1, AgentEnded{Changed: true, Head: "h"}),
		Event{Fact: LandingStarted{Tasks: []TaskID{"e.1"}}},
		Event{Fact: CandidateJudged{Candidates: Candidates{Tasks: []TaskID{"e.1"}, Commits: []Commit{"c"}}, Verdict: Verdict{Passed: true}}},
		Event{Fact: TaskLanded{Candidates: Candidates{Tasks: []TaskID{"e.1"}, Commits: []Commit{"c"}}}},
		Event{Fact: TrackerWritten{Wrote: []WriteResult{{ID: "e.1", Status: "closed"}}}})
	require.Equal(t, Landed, s.Task("e.1").State)
	s = after(t, s, readNodes(Node{ID: "e.1", Parent: "e", Status: "closed"}))
	require.Equal(t, Landed, s.Task("e.1").State, "our own close is no news")
	s = after(t, s, readNodes(open("e.1")))
	require.Equal(t, Waiting, s.Task("e.1").State)
	require.True(t, s.IsReady(s.Task("e.1"), noon))
	require.ErrorIs(t, Check(s, Event{Fact: AttemptStarted{}, Task: "e.1", Attempt: 1}), ErrForbidden)
}

// TestCheckHoldsLandings: nothing lands without a green verdict on that very
// commit, and nothing lands twice.
func TestCheckHoldsLandings(t *testing.T) {
	t.Parallel()
	landed := Event{Fact: TaskLanded{Candidates: Candidates{Tasks: []TaskID{"e.1"}, Commits: []Commit{"c"}}}}
	s := after(t, NewState(), running(testLimits()), Event{Fact: BaseCheckStarted{}}, green, readNodes(open("e.1")), startOf("e.1", 1),
		endOf("e.1", 1, AgentEnded{Changed: true, Head: "h"}), Event{Fact: LandingStarted{Tasks: []TaskID{"e.1"}}})
	require.ErrorIs(t, Check(s, landed), ErrForbidden)
	s = after(t, s, Event{Fact: CandidateJudged{Candidates: Candidates{Tasks: []TaskID{"e.1"}, Commits: []Commit{"other"}}, Verdict: Verdict{Passed: true}}})
	require.ErrorIs(t, Check(s, landed), ErrForbidden)
	landed.Fact.(TaskLanded).Commits[0] = "other"
	s = after(t, s, landed)
	require.ErrorIs(t, Check(s, landed), ErrForbidden)
}

// TestRedStackIsTakenApart halves a stack until the one at fault stands alone.
func TestRedStackIsTakenApart(t *testing.T) {
	t.Parallel()
	limits := testLimits()
	s := after(t, NewState(), running(limits), Event{Fact: BaseCheckStarted{}}, green, readNodes(open("e.1"), open("e.2"), open("e.3"), open("e.4")))
	for _, id := range []TaskID{"e.1", "e.2", "e.3", "e.4"} {
		s = after(t, s, startOf(id, 1), endOf(id, 1, AgentEnded{Changed: true, Head: "h"}))
	}
	s.Window = 4
	bad := TaskID("e.3")
	var stacks [][]TaskID
	for range 12 {
		ds := decisions(s, noon.Add(time.Minute))
		if len(ds) == 0 || ds[0].Act != Gate {
			break
		}
		stack := ds[0].Fact.(LandingStarted).Tasks
		stacks = append(stacks, stack)
		commits := make([]Commit, len(stack))
		passed := true
		for i, id := range stack {
			commits[i] = Commit("c-" + id)
			passed = passed && id != bad
		}
		s = after(t, s, ds[0].Event, Event{Fact: CandidateJudged{Candidates: Candidates{Tasks: stack, Commits: commits}, Verdict: Verdict{Passed: passed}}})
		if passed {
			s = after(t, s, Event{Fact: TaskLanded{Candidates: Candidates{Tasks: stack, Commits: commits}}})
		}
	}
	require.Equal(t, []TaskID{"e.1", "e.2", "e.3", "e.4"}, stacks[0])
	require.Equal(t, []TaskID{"e.1", "e.2"}, stacks[1])
	require.Equal(t, reason.GateFailed, s.Task(bad).Last().Failure)
	for _, id := range []TaskID{"e.1", "e.2", "e.4"} {
		require.Equal(t, Landed, s.Task(id).State, id)
	}
}

// TestApplyChangesNothingOfItsArgument: workers hold old states.
func TestApplyChangesNothingOfItsArgument(t *testing.T) {
	t.Parallel()
	s := after(t, NewState(), running(testLimits()), readNodes(open("e.1")))
	before := *s.Task("e.1")
	_ = after(t, s, startOf("e.1", 1), endOf("e.1", 1, AgentEnded{Changed: true, Head: "h"}))
	require.Equal(t, before, *s.Task("e.1"))
	require.Empty(t, s.Queue)
}

// constantUntilWake holds that what Decide gives at now stays the same until it is to be asked
// again, but for times that it counts from now.
func constantUntilWake(t *testing.T, s State, now time.Time) {
	t.Helper()
	says := func(at time.Time) (out []string) {
		for _, d := range decisions(s, at) {
			out = append(out, fmt.Sprint(d.Act, d.Kind(), d.Task, d.Attempt, d.Code, d.Reason, d.Changes))
		}
		return out
	}
	want, wake := says(now), wakeOf(s, now)
	if wake.IsZero() {
		wake = now.Add(1e4 * time.Hour)
	}
	require.True(t, wake.After(now), "it wakes in the past")
	left := wake.Sub(now)
	for _, at := range []time.Time{now.Add(1), now.Add(left / 3), now.Add(left / 2), wake.Add(-1)} {
		require.Equal(t, want, says(at), "after %s of %s", at.Sub(now), left)
	}
}

// TestDecideUntilWake: nothing is slept through. After each event of a run, at moments around
// each time that the state knows, what is decided stays until the wake that came with it.
func TestDecideUntilWake(t *testing.T) {
	t.Parallel()
	limits := testLimits()
	limits.MaxDuration = time.Hour
	later := open("e.5")
	later.DeferTill = noon.Add(20 * time.Minute)
	events := append(story()[:3:3], readNodes(open("e.1"), open("e.2", "e.1"), open("e.3"), later))
	events = append(events, story()[4:]...)
	events[0] = running(limits)
	events = append(events[:len(events)-2], Event{Fact: TrackerFailed{}}, Event{Fact: BranchHeld{Dir: "/repo"}}, Event{Fact: MachineFailed{}, Reason: "full"}, Event{Fact: LandingLost{}, Reason: "moved"})
	s, sleeps := NewState(), 0
	for i, e := range events {
		e.At = noon.Add(time.Duration(i) * time.Second)
		if _, ended := e.Fact.(AgentEnded); ended {
			e = Current(s, e) // has it judged, where it is to be
		}
		require.NoError(t, Check(s, e))
		s = Apply(s, e)
		for _, s := range []State{s, Apply(s, Event{Fact: TrackerBusy{}}), Apply(s, Event{Fact: RunPaused{}})} {
			for now := e.At; !now.IsZero() && now.Before(noon.Add(3*time.Hour)); sleeps++ {
				constantUntilWake(t, s, now)
				now = wakeOf(s, now)
			}
		}
	}
	require.Greater(t, sleeps, 4*len(events), "the times of the state are met")
}

// TestStacks: several stacks are judged at once. One that rests on another's candidates waits
// for it, and moves the branch after it; when that one fails, it lands anew.
func TestStacks(t *testing.T) {
	t.Parallel()
	s := after(t, NewState(), running(testLimits()), Event{Fact: BaseCheckStarted{}}, green, readNodes(open("e.1"), open("e.2")), Event{Fact: TrackerBusy{}})
	for _, id := range []TaskID{"e.1", "e.2"} {
		s = after(t, s, startOf(id, 1), endOf(id, 1, AgentEnded{Changed: true, Head: "h"}))
	}
	landing := func(id TaskID) Event { return Event{Fact: LandingStarted{Tasks: []TaskID{id}, Old: s.Tip}} }
	first := Candidates{Tasks: []TaskID{"e.1"}, Old: "tip", Commits: []Commit{"c1"}}
	second := Candidates{Tasks: []TaskID{"e.2"}, Old: "c1", Commits: []Commit{"c2"}}
	s = after(t, s, landing("e.1"), landing("e.2"))
	require.Len(t, s.Stacks, 2)
	require.ErrorIs(t, Check(s, landing("e.1")), ErrForbidden, "it is in a stack")
	both := []TaskID{"e.1", "e.2"}
	require.ErrorIs(t, Check(s, Event{Fact: CandidateJudged{Candidates: Candidates{Tasks: both}}}), ErrForbidden, "no stack has both")

	s = after(t, s, Event{Fact: CandidateJudged{Candidates: second, Verdict: Verdict{Passed: true}}})
	require.Empty(t, acts(s, noon.Add(time.Minute)), "it waits for the one below")
	require.ErrorIs(t, Check(s, Event{Fact: MoveStarted{Candidates: first}}), ErrForbidden)
	require.ErrorIs(t, Check(s, Event{Fact: TaskLanded{Candidates: first}}), ErrForbidden)

	good := after(t, s, Event{Fact: CandidateJudged{Candidates: first, Verdict: Verdict{Passed: true}}})
	require.Equal(t, MoveStarted{Candidates: first}, decisions(good, noon)[0].Fact)
	good = after(t, good, Event{Fact: MoveStarted{Candidates: first}})
	require.Empty(t, acts(good, noon), "one moves at a time")
	good = after(t, good, Event{Fact: TaskLanded{Candidates: first}})
	require.Equal(t, MoveStarted{Candidates: second}, decisions(good, noon)[0].Fact)
	good = after(t, good, Event{Fact: MoveStarted{Candidates: second}}, Event{Fact: TaskLanded{Candidates: second}})
	require.Empty(t, good.Stacks)
	require.Equal(t, Commit("c2"), good.Tip)

	bad := after(t, s, Event{Fact: CandidateJudged{Candidates: first}})
	require.Equal(t, reason.GateFailed, bad.Task("e.1").Last().Failure)
	lost := decisions(bad, noon)[0]
	require.Equal(t, LandingLost{Tasks: []TaskID{"e.2"}}, lost.Fact)
	bad = after(t, bad, lost.Event)
	require.Equal(t, []TaskID{"e.2"}, bad.Queue)
	require.Empty(t, bad.Stacks)
}
