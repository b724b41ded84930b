package epic_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	. "github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/reason"
	"github.com/beadsorch/orch/orchestrator/tracker"
)

var anna, bert = SessionHolder{Session: "anna"}, SessionHolder{Session: "bert", PID: 7, Born: 9, Here: "h"}

// handed is an epic whose task e.1 anna's session works on, while a run drives it.
func handed(t *testing.T, nodes ...Node) State {
	t.Helper()
	return after(t, idle(t, append([]Node{open("e.1")}, nodes...)...),
		Event{Fact: AttemptStarted{Turn: Turn{Base: "tip"}, InSession: true, Holder: anna}, Task: "e.1", Attempt: 1}, Event{Fact: AttemptHanded{}, Task: "e.1", Attempt: 1},
		Event{Fact: SessionLookStarted{}}, Event{Fact: SessionLookEnded{}})
}

func answered(s State) (ids []string) {
	for _, d := range decisions(s, noon) {
		if d.Act == Reply {
			ids = append(ids, d.Request)
		}
	}
	return ids
}

// TestLandRequest follows a request from its being taken to its answer.
func TestLandRequest(t *testing.T) {
	t.Parallel()
	land := Event{Fact: LandRequested{}, Task: "e.1", Attempt: 1, Request: "r-1"}
	asked := after(t, handed(t), land)
	require.Contains(t, acts(asked, noon), "collect e.1")
	require.Empty(t, answered(asked))
	require.True(t, asked.Took("r-1"))
	collecting := after(t, asked, Event{Fact: CollectStarted{}, Task: "e.1", Attempt: 1})
	require.NotContains(t, acts(collecting, noon), "collect e.1", "once")
	queued := after(t, collecting, endOf("e.1", 1, AgentEnded{Changed: true, Head: "h"}))
	require.Equal(t, Queued, queued.Task("e.1").State)
	require.Empty(t, answered(queued))
	gate := after(t, queued, Event{Fact: LandingStarted{Tasks: []TaskID{"e.1"}, Old: "tip"}})
	stack := Candidates{Tasks: []TaskID{"e.1"}, Old: "tip", Commits: []Commit{"c"}}
	for name, outcome := range map[string][]Event{
		"landed": {{Fact: CandidateJudged{Candidates: stack, Verdict: Verdict{Passed: true}}}, {Fact: MoveStarted{}},
			{Fact: TaskLanded{Candidates: stack}}},
		"red":      {{Fact: CandidateJudged{Candidates: stack}}},
		"conflict": {{Fact: LandingConflicted{Old: "tip", Files: []string{"f"}}, Task: "e.1", Attempt: 1}},
	} {
		s := after(t, gate, outcome...)
		require.Equal(t, []string{"r-1"}, answered(s), name)
		s = after(t, s, Event{Fact: AnswerStarted{}, Request: "r-1"})
		require.Empty(t, answered(s), "%s: once at a time", name)
		s = after(t, s, Event{Fact: RequestAnswered{}, Request: "r-1"})
		require.Empty(t, s.Wishes, name)
		require.True(t, s.Took("r-1"), name)
	}
	lost := after(t, asked, Event{Fact: AttemptLost{}, Task: "e.1", Attempt: 1, Code: reason.Orphaned, Reason: "gone"})
	require.Equal(t, []string{"r-1"}, answered(lost))
	require.Zero(t, lost.Task("e.1").Charged, "a session that is gone costs the task nothing")
	require.Equal(t, 1, lost.Task("e.1").LostBy(anna.Same).Number)
	require.Zero(t, lost.Task("e.1").LostBy(bert.Same).Number)

	require.ErrorIs(t, Check(idle(t, open("e.1")), land), ErrForbidden, "nobody works on it")
	refused := after(t, idle(t, open("e.1")), Event{Fact: RequestRefused{Kind: "land_requested"}, Request: "r-2", Reason: "no"})
	require.Equal(t, []string{"r-2"}, answered(refused), "who asked is told")
	require.Empty(t, after(t, refused, Event{Fact: RequestRefused{Kind: "task_retried"}, Request: "r-3", Reason: "no"}).Wishes[1:], "nobody waits for others")
}

// TestNextRequest: the next free slot is the session's that asked, before the run's own agents.
func TestNextRequest(t *testing.T) {
	t.Parallel()
	next := Event{Fact: NextRequested{Holder: bert}, Request: "r-1"}
	s := after(t, handed(t, open("e.2"), open("e.3")), next)
	var given []SessionHolder
	for _, d := range decisions(s, noon) {
		if d.Act == Start {
			f := d.Fact.(AttemptStarted)
			given = append(given, f.Holder)
			require.Equal(t, len(given) == 1, f.InSession)
			require.Equal(t, len(given) == 1, d.Request == "r-1")
		}
	}
	require.Equal(t, []SessionHolder{bert, {}}, given)
	s = after(t, s, Event{Fact: AttemptStarted{Turn: Turn{Base: "tip"}, InSession: true, Holder: bert}, Task: "e.2", Attempt: 1, Request: "r-1"})
	require.Empty(t, answered(s), "its worktree is not there yet")
	s = after(t, s, Event{Fact: AttemptHanded{}, Task: "e.2", Attempt: 1})
	require.Equal(t, []string{"r-1"}, answered(s))
	require.True(t, s.Task("e.2").Last().HeldBy(bert.Same))
	require.False(t, s.Task("e.2").Last().HeldBy(anna.Same))

	none := after(t, handed(t), next)
	require.Equal(t, []string{"r-1"}, answered(none), "nothing is ready")
	paused := after(t, handed(t, open("e.2")), next, Event{Fact: RunPaused{}})
	require.Equal(t, []string{"r-1"}, answered(paused))
	again := after(t, after(t, handed(t, open("e.2")), next), Event{Fact: RunEnded{}}, Event{Fact: RunStarted{Epic: "e", Number: 2, Mode: ModeRun, Limits: testLimits(), Tip: "tip"}})
	require.Empty(t, again.Wishes, "who asked a run that is gone asks anew")
	require.True(t, again.Took("r-1"))
}

// TestNextIsForWhoIsThere: a place is given to who asked only when they were seen a moment ago;
// who has gone, or waits no longer, holds nobody up.
func TestNextIsForWhoIsThere(t *testing.T) {
	t.Parallel()
	next := Event{Fact: NextRequested{Holder: bert, Asker: Process{PID: 7, Born: 9, Here: "h"}}, Request: "r-1"}
	s := after(t, idle(t, open("e.1")), next)
	require.Equal(t, []string{"sessions"}, acts(s, noon), "though no session has a task")
	looking := after(t, s, Event{Fact: SessionLookStarted{}})
	require.Empty(t, acts(looking, noon))
	seen := after(t, looking, Event{Fact: SessionLookEnded{}, At: noon})
	require.Equal(t, bert, decisions(seen, noon)[0].Fact.(AttemptStarted).Holder)
	require.Equal(t, []string{"sessions"}, acts(seen, noon.Add(2*time.Second)), "that was long ago")
	dropped := after(t, looking, Event{Fact: NextDropped{}, Request: "r-1"}, Event{Fact: SessionLookEnded{}, At: noon})
	require.Empty(t, dropped.Wishes)
	require.False(t, decisions(dropped, noon)[0].Fact.(AttemptStarted).InSession, "the place is the run's own")

	start := Event{Fact: AttemptStarted{Turn: Turn{Base: "tip"}, InSession: true, Holder: bert}, Task: "e.1", Attempt: 1, Request: "r-1"}
	given := after(t, seen, start, Event{Fact: NextDropped{}, Request: "r-1"})
	require.Len(t, given.Wishes, 1, "it was given one meanwhile, which is given back when nobody comes for it")
	require.Equal(t, "r-1", given.Task("e.1").Last().Request)

	withdrawn := Event{Fact: NextWithdrawn{Of: "r-1"}, Request: "r-2"}
	require.Empty(t, after(t, seen, withdrawn).Wishes)
	require.True(t, after(t, seen, start, withdrawn).Task("e.1").Last().Unwanted)
	require.True(t, after(t, seen, start, Event{Fact: AttemptHanded{}, Task: "e.1", Attempt: 1}, Event{Fact: AnswerStarted{}, Request: "r-1"}, Event{Fact: RequestAnswered{}, Request: "r-1"}, withdrawn).Task("e.1").Last().Unwanted)
	answering := after(t, seen, Event{Fact: RunPaused{}}, Event{Fact: AnswerStarted{}, Request: "r-1"}, withdrawn)
	require.Empty(t, after(t, answering, Event{Fact: RequestAnswered{}, Request: "r-1"}).Wishes)
}

// TestNextAtOnce: who has something in hand does not wait for a place.
func TestNextAtOnce(t *testing.T) {
	t.Parallel()
	next := func(at bool) Event { return Event{Fact: NextRequested{Holder: anna, AtOnce: at}, Request: "r-1"} }
	limits := testLimits()
	limits.MaxParallel = 1
	full := after(t, started(t, limits, open("e.1"), open("e.2")), startOf("e.1", 1))
	require.Equal(t, []string{"r-1"}, answered(after(t, full, next(true))))
	require.Empty(t, answered(after(t, full, next(false))))
	require.Empty(t, answered(after(t, handed(t, open("e.2")), next(true))), "there is a place")
}

// TestHeldPlaces: what sessions have in hand takes places, and who waits for one is told.
func TestHeldPlaces(t *testing.T) {
	t.Parallel()
	limits := testLimits()
	limits.MaxParallel = 2
	s := after(t, started(t, limits, open("e.1"), open("e.2"), open("e.3")),
		Event{Fact: AttemptStarted{InSession: true, Holder: anna}, Task: "e.1", Attempt: 1}, Event{Fact: AttemptHanded{}, Task: "e.1", Attempt: 1})
	require.Empty(t, HeldPlaces(s, noon), "one is free")
	require.Empty(t, HeldPlaces(after(t, s, startOf("e.2", 1)), noon), "an agent ends by itself")
	both := after(t, s, Event{Fact: AttemptStarted{InSession: true, Holder: anna}, Task: "e.2", Attempt: 1}, Event{Fact: AttemptHanded{}, Task: "e.2", Attempt: 1})
	require.Equal(t, "2 in the hands of session anna, and max_parallel is 2: a place is free when one has landed, or its session ends", HeldPlaces(both, noon))
	require.Empty(t, HeldPlaces(after(t, both, Event{Fact: TaskSkipped{}, Task: "e.3"}), noon), "nothing waits for one")
}

// TestRefusalForPersons: who asked for what is not possible is told in words of theirs.
func TestRefusalForPersons(t *testing.T) {
	t.Parallel()
	s := after(t, started(t, testLimits(), open("e.1")), startOf("e.1", 1))
	err := Check(s, Event{Fact: LandRequested{}, Task: "e.1", Attempt: 1, Request: "r"})
	require.ErrorIs(t, err, ErrForbidden)
	require.Equal(t, "no session works on e.1: it is in the hands of an agent of orch run", Refusal(err))
	stale := after(t, handed(t), Event{Fact: LandRequested{}, Task: "e.1", Attempt: 2, Request: "r"})
	require.NotContains(t, acts(stale, noon), "collect e.1", "what another attempt has done is not taken")
	require.Equal(t, []string{"r"}, answered(stale))
}

// TestLossIsCurrent: a session's attempt that has come to an end meanwhile, or is to land, is not lost.
func TestLossIsCurrent(t *testing.T) {
	t.Parallel()
	loss := Event{Fact: AttemptLost{}, Task: "e.1", Attempt: 1, Code: reason.Orphaned}
	require.Equal(t, AttemptLost{}, Current(handed(t), loss).Fact)
	require.Equal(t, SessionLookEnded{}, Current(after(t, handed(t), Event{Fact: LandRequested{}, Task: "e.1", Attempt: 1, Request: "r"}), loss).Fact)
	require.Equal(t, SessionLookEnded{}, Current(after(t, handed(t), endOf("e.1", 1, AgentEnded{Changed: true, Head: "h"})), loss).Fact)
	require.Equal(t, SessionLookEnded{}, Current(after(t, handed(t), Event{Fact: TaskSkipped{}, Task: "e.1"}), loss).Fact)
}

// TestSameSession by what is known of both.
func TestSameSession(t *testing.T) {
	t.Parallel()
	process := SessionHolder{PID: 7, Born: 9, Here: "h"}
	require.True(t, bert.Same(process), "by its process, where one of the two knows no id")
	require.False(t, bert.Same(anna))
	require.False(t, process.Same(SessionHolder{PID: 7, Born: 10, Here: "h"}), "another process of that number")
	require.False(t, SessionHolder{}.Same(SessionHolder{}), "nothing is known")
	require.Equal(t, "session anna", anna.String())
}

// TestReadyAsTheTracker: what the state calls ready is what the tracker's own rules call ready,
// whatever depends on what.
func TestReadyAsTheTracker(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 5))
		issues := []tracker.Issue{{ID: "e", Title: "E", Type: tracker.TypeEpic, Status: tracker.StatusOpen}}
		for n := range 12 {
			i := issue(fmt.Sprintf("t%02d", n), "e")
			i.Status = []tracker.Status{"open", "open", "open", "closed", "blocked", "deferred"}[rnd.IntN(6)]
			if rnd.IntN(6) == 0 {
				later := noon.AddDate(0, 0, rnd.IntN(3)-1)
				i.DeferUntil = &later
			}
			for range rnd.IntN(3) {
				kind := []string{tracker.DepBlocks, tracker.DepConditional, "related"}[rnd.IntN(3)]
				i.Dependencies = append(i.Dependencies, tracker.Dependency{IssueID: i.ID, DependsOnID: fmt.Sprintf("t%02d", rnd.IntN(14)), Type: kind})
			}
			issues = append(issues, i)
		}
		var want, got []string
		for _, i := range tracker.NewIndex(issues).Ready(tracker.Filter{Parent: "e"}, noon) {
			want = append(want, i.ID)
		}
		s := FromTracker("e", issues, noon)
		for _, task := range s.Tasks {
			if s.IsReady(task, noon) {
				got = append(got, string(task.ID))
			}
		}
		require.ElementsMatch(t, want, got, "seed %d", seed)
		require.Equal(t, len(want), WorkOf(s, noon).Ready, "seed %d", seed)
	}
}
