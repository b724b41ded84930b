package epic_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	. "github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/reason"
)

// started is a state in which the gate is green and these nodes are known.
func started(t *testing.T, limits Limits, nodes ...Node) State {
	t.Helper()
	return after(t, NewState(), running(limits), Event{Fact: BaseCheckStarted{}}, green, readNodes(nodes...), Event{Fact: TrackerBusy{}})
}

func estimated(id TaskID, minutes Minutes, needs ...TaskID) Node {
	n := open(id, needs...)
	n.Estimate = minutes
	return n
}

func TestOrder(t *testing.T) {
	t.Parallel()
	prio := func(n Node, p int) Node { n.Priority = p; return n }
	made := func(n Node, at time.Time) Node { n.CreatedAt = at; return n }
	tests := map[string]struct {
		nodes []Node
		want  []string
	}{
		"the longest way first":              {[]Node{open("e.1"), open("e.2"), open("e.3", "e.2"), open("e.4", "e.3")}, []string{"start e.2", "start e.1"}},
		"by estimates where there are some":  {[]Node{estimated("e.1", 90), estimated("e.2", 10), estimated("e.3", 10, "e.2")}, []string{"start e.1", "start e.2"}},
		"then by priority":                   {[]Node{prio(open("e.1"), 3), prio(open("e.2"), 0)}, []string{"start e.2", "start e.1"}},
		"then the older":                     {[]Node{made(open("e.1"), noon), made(open("e.2"), noon.Add(-time.Hour))}, []string{"start e.2", "start e.1"}},
		"then by id":                         {[]Node{open("e.2"), open("e.1")}, []string{"start e.1", "start e.2"}},
		"what has landed adds no length":     {[]Node{open("e.1"), open("e.2"), {ID: "e.3", Parent: "e", Status: "closed", Needs: [][]TaskID{{"e.1"}}}, open("e.4", "e.2")}, []string{"start e.2", "start e.1"}},
		"one of a row is enough":             {[]Node{{ID: "e.1", Parent: "e", Status: "closed"}, open("e.2"), {ID: "e.3", Parent: "e", Status: "open", Needs: [][]TaskID{{"e.1", "e.2"}}}}, []string{"start e.2", "start e.3"}},
		"a blocker that is gone never holds": {[]Node{open("e.1", "e.99")}, []string{"start e.1"}},
		"a circle holds its own only":        {[]Node{open("e.1", "e.2"), open("e.2", "e.1"), open("e.3")}, []string{"start e.3"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			limits := testLimits()
			limits.SurveyEvery = time.Hour
			got := acts(started(t, limits, tt.nodes...), noon.Add(time.Minute))
			require.ElementsMatch(t, tt.want, got)
			if name != "one of a row is enough" {
				require.Equal(t, tt.want, got)
			}
		})
	}
}

// TestPlaces counts agents, not attempts whose agent has ended.
func TestPlaces(t *testing.T) {
	t.Parallel()
	limits := testLimits()
	limits.MaxParallel, limits.SurveyEvery = 2, time.Hour
	nodes := []Node{open("e.1"), open("e.2"), open("e.3"), open("e.4")}
	full := after(t, started(t, limits, nodes...), startOf("e.1", 1), startOf("e.2", 1))
	require.Empty(t, acts(full, noon.Add(time.Minute)))

	exited := after(t, full, Event{Fact: AgentExited{}, Task: "e.1", Attempt: 1})
	require.Equal(t, []string{"start e.3"}, acts(exited, noon.Add(time.Minute)), "its place is free while its work is looked at")
	again := after(t, exited, startOf("e.3", 1), endOf("e.1", 1, AgentEnded{Changed: true, Head: "h"}))
	require.NotContains(t, acts(again, noon.Add(time.Minute)), "start e.4", "and is given away once")

	limits.Budget.CostUSD = 5
	costs := after(t, started(t, limits, nodes...), startOf("e.1", 1), startOf("e.2", 1), Event{Fact: AgentExited{}, Task: "e.1", Attempt: 1})
	require.Empty(t, acts(costs, noon.Add(time.Minute)), "what it cost has to be known first")
}

// TestDispatchIsOptimalWhereItCanBe plays dispatch on random graphs of tasks of the
// same length, and holds it to Graham's bound for list scheduling: never longer
// than the critical path and the work shared among the agents together.
func TestDispatchIsOptimalWhereItCanBe(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		n, m := 4+rnd.IntN(30), 1+rnd.IntN(5)
		var nodes []Node
		depth := map[TaskID]int{}
		longest := 0
		for i := range n {
			id := TaskID(fmt.Sprintf("e.%02d", i))
			node := open(id)
			depth[id] = 1
			for range rnd.IntN(3) {
				if i > 0 {
					need := nodes[rnd.IntN(i)].ID
					node.Needs = append(node.Needs, []TaskID{need})
					depth[id] = max(depth[id], depth[need]+1)
				}
			}
			longest = max(longest, depth[id])
			nodes = append(nodes, node)
		}
		limits := testLimits()
		limits.MaxParallel, limits.SurveyEvery, limits.MaxIterations = m, time.Hour, 1000
		steps := play(t, started(t, limits, nodes...), n)
		require.GreaterOrEqual(t, steps, max(longest, (n+m-1)/m), "seed %d", seed)
		require.LessOrEqual(t, steps, longest+(n-longest+m-1)/m, "seed %d: %d tasks, %d agents, longest way %d", seed, n, m, longest)
	}
}

// play runs all that may start, lands all of it, and so on; it counts the rounds.
func play(t *testing.T, s State, tasks int) (rounds int) {
	t.Helper()
	for landed := 0; landed < tasks; rounds++ {
		require.Less(t, rounds, tasks+1, "nothing starts any more")
		var ids []TaskID
		for _, d := range decisions(s, noon.Add(time.Minute)) {
			if d.Act == Start {
				ids = append(ids, d.Task)
				s = after(t, s, d.Event)
			}
		}
		for _, id := range ids {
			commits := []Commit{Commit("c-" + id)}
			s = after(t, s, endOf(id, 1, AgentEnded{Changed: true, Head: "h"}),
				Event{Fact: LandingStarted{Tasks: []TaskID{id}}},
				Event{Fact: CandidateJudged{Candidates: Candidates{Tasks: []TaskID{id}, Commits: commits}, Verdict: Verdict{Passed: true}}},
				Event{Fact: TaskLanded{Candidates: Candidates{Tasks: []TaskID{id}, Commits: commits}}})
			landed++
		}
	}
	return rounds
}

// TestConversationGoesOn: the next attempt goes on with the conversation of the last one, on its work, but
// where what that ended for makes it worthless.
func TestConversationGoesOn(t *testing.T) {
	t.Parallel()
	limits := testLimits()
	limits.Resumes, limits.SurveyEvery = true, time.Hour
	next := func(code reason.Code) Turn {
		failed := AgentEnded{End: EndedAuth, Session: "talk", Head: "work"} // an end that takes its code as it is
		s := after(t, started(t, limits, open("e.1")), startOf("e.1", 1), Event{Fact: failed, Task: "e.1", Attempt: 1, Code: code})
		require.Equal(t, code, s.Task("e.1").Last().Failure)
		ds := decisions(s, noon.Add(time.Minute))
		require.Len(t, ds, 1, code)
		require.Equal(t, Start, ds[0].Act, code)
		return ds[0].Turn()
	}
	for _, code := range []reason.Code{reason.GateFailed, reason.NoChange, reason.NoProgress, reason.UsageLimit, reason.Machine, reason.Orphaned} {
		require.Equal(t, Turn{Iteration: 1, Base: "work", Session: "talk", Resume: true}, next(code), code)
	}
	for _, code := range []reason.Code{reason.MergeConflict, reason.AgentCrashed, reason.TooLarge} {
		require.Equal(t, Turn{Iteration: 1, Base: "tip"}, next(code), code)
	}
}
