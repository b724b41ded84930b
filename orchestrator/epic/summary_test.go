package epic_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	. "github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/reason"
	"github.com/beadsorch/orch/orchestrator/tracker"
)

func TestSummarize(t *testing.T) {
	t.Parallel()
	parked := []Event{startOf("e.1", 1), endOf("e.1", 1, AgentEnded{Signal: SignalBlocked}), {Fact: TaskParked{}, Task: "e.1", Attempt: 1, Code: reason.Question}}
	tests := map[string]struct {
		nodes   []Node
		events  []Event
		promise Promise
		code    reason.Code
		reason  string
	}{
		"all closed":              {[]Node{open("e.1")}, landedOne, LoopDone, "", "all 1 tasks closed"},
		"no tasks":                {nil, nil, LoopDone, "", "the epic has no tasks"},
		"interrupted":             {[]Node{open("e.1")}, []Event{{Fact: DrainStarted{}, Code: reason.Interrupted, Reason: "asked by interrupt"}}, LoopContinue, reason.Interrupted, "asked by interrupt"},
		"interrupted at the last": {[]Node{open("e.1")}, append(append([]Event{}, landedOne...), Event{Fact: DrainStarted{}, Code: reason.Interrupted, Reason: "asked"}), LoopDone, "", "all 1 tasks closed"},
		"one asks":                {[]Node{open("e.1"), open("e.2", "e.1")}, parked, LoopBlocked, "", "0 of 2 tasks closed; the rest needs a person"},
		"one asks, one is ready":  {[]Node{open("e.1"), open("e.2")}, parked, LoopContinue, "", "0 of 2 tasks closed; 1 ready"},
		"one runs":                {[]Node{open("e.1"), open("e.2", "e.1")}, []Event{startOf("e.1", 1)}, LoopContinue, "", "0 of 2 tasks closed; 1 running"},
		"one waits to land":       {[]Node{open("e.1")}, []Event{startOf("e.1", 1), endOf("e.1", 1, AgentEnded{Changed: true, Head: "h"})}, LoopContinue, "", "0 of 1 tasks closed; 1 waiting to land"},
		"the branch is held":      {[]Node{open("e.1")}, []Event{startOf("e.1", 1), endOf("e.1", 1, AgentEnded{Changed: true, Head: "h"}), {Fact: DrainStarted{}, Code: reason.CheckedOut, Reason: "checked out in /w"}}, LoopBlocked, reason.CheckedOut, "checked out in /w"},
		"held, and one runs":      {[]Node{open("e.1"), open("e.2")}, []Event{startOf("e.1", 1), endOf("e.1", 1, AgentEnded{Changed: true, Head: "h"}), startOf("e.2", 1), {Fact: DrainStarted{}, Code: reason.CheckedOut, Reason: "checked out in /w"}}, LoopContinue, reason.CheckedOut, "checked out in /w"},
		"a limit, and one runs":   {[]Node{open("e.1")}, []Event{startOf("e.1", 1), {Fact: DrainStarted{}, Code: reason.RunIterations, Reason: "Maximum iteration limit (1) reached"}}, LoopContinue, reason.RunIterations, "Maximum iteration limit (1) reached"},
		"a limit, and one ready":  {[]Node{open("e.1")}, []Event{{Fact: DrainStarted{}, Code: reason.RunIterations, Reason: "Maximum iteration limit (1) reached"}}, LoopBlocked, reason.RunIterations, "Maximum iteration limit (1) reached"},
		"paused":                  {[]Node{open("e.1")}, []Event{{Fact: RunPaused{}}}, LoopBlocked, "", "paused; orch continue e"},
		"in another's hands":      {[]Node{{ID: "e.1", Parent: "e", Status: "in_progress", Assignee: "bob"}}, nil, LoopBlocked, "", "0 of 1 tasks closed; the rest needs a person"},
		"out of time":             {[]Node{open("e.1")}, []Event{{Fact: DrainStarted{}, Code: reason.TimeUp, Reason: "Maximum duration (1 hour) reached"}}, LoopBlocked, reason.TimeUp, "Maximum duration (1 hour) reached"},
		"agents do not start":     {[]Node{open("e.1")}, []Event{{Fact: DrainStarted{}, Code: reason.AgentCrashed, Reason: "the agent does not start"}}, LoopError, reason.AgentCrashed, "the agent does not start"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := after(t, idle(t, tt.nodes...), tt.events...)
			sum := Summarize(s, noon.Add(time.Hour))
			require.Equal(t, tt.promise, sum.Promise)
			require.Equal(t, tt.code, sum.Code)
			require.Equal(t, tt.reason, sum.Reason)
			require.Equal(t, time.Hour, sum.Took)
		})
	}
}

// TestSummarizeBeforeAnyRun: what has not begun has taken no time.
func TestSummarizeBeforeAnyRun(t *testing.T) {
	t.Parallel()
	require.Zero(t, Summarize(NewState(), noon).Took)
}

// TestCounts: each task is counted once.
func TestCounts(t *testing.T) {
	t.Parallel()
	nodes := []Node{
		open("e.1"), open("e.2"), open("e.3"), open("e.4", "e.3"),
		{ID: "e.5", Parent: "e", Status: "closed"}, {ID: "e.6", Parent: "e", Status: "open", NotForAgents: true}, {ID: "e.7", Parent: "e", Status: "open", Epic: true}, {ID: "x-1", External: true, Status: "open"},
	}
	s := after(t, idle(t, nodes...), landedOne...)
	s = after(t, s, startOf("e.2", 1))
	c := Count(s, noon)
	require.Equal(t, Counts{Total: 5, Done: 2, Landed: 1, Running: 1, Ready: 1, Waiting: 1}, c)
}

// TestObstacles: the root of a wait is named, not the next task before it.
func TestObstacles(t *testing.T) {
	t.Parallel()
	parked := []Event{startOf("e.1", 1), endOf("e.1", 1, AgentEnded{Signal: SignalBlocked}), {Fact: TaskParked{}, Task: "e.1", Attempt: 1, Code: reason.Question}}
	tests := map[string]struct {
		nodes  []Node
		events []Event
		of     TaskID
		code   reason.Code
		why    string
	}{
		"a chain below a parked task": {[]Node{open("e.1"), open("e.2", "e.1"), open("e.3", "e.2")}, parked, "e.3", reason.DepFailed, "waits for e.1, which needs you"},
		"a circle":                    {[]Node{open("e.1", "e.2"), open("e.2", "e.3"), open("e.3", "e.1")}, nil, "e.1", reason.DepCycle, "waits for itself in a circle"},
		"a chain into a circle":       {[]Node{open("e.1", "e.2"), open("e.2", "e.3"), open("e.3", "e.2")}, nil, "e.1", "", ""},
		"outside the epic":            {[]Node{open("e.1", "x-1"), {ID: "x-1", External: true, Status: "open"}}, nil, "e.1", reason.DepExternal, "waits for x-1, outside the epic"},
		"another's hands":             {[]Node{open("e.1", "e.2"), {ID: "e.2", Parent: "e", Status: "in_progress", Assignee: "bob"}}, nil, "e.1", reason.DepExternal, "waits for e.2, in progress in the hands of bob"},
		"only time":                   {[]Node{open("e.1"), open("e.2", "e.1")}, []Event{startOf("e.1", 1)}, "e.2", "", ""},
		"deferred":                    {[]Node{{ID: "e.1", Parent: "e", Status: "open", DeferTill: noon.Add(time.Hour)}}, nil, "e.1", reason.DepExternal, "deferred until 2026-01-02 13:00:00"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := after(t, idle(t, tt.nodes...), tt.events...)
			o := ObstacleOf(s, s.Task(tt.of), noon)
			require.Equal(t, tt.code, o.Code)
			require.Equal(t, tt.why, o.Why)
		})
	}
}

// TestETA is honest: nothing before something has landed; then the longer of the
// longest way and the shared work.
func TestETA(t *testing.T) {
	t.Parallel()
	s := idle(t, open("e.1"), open("e.2"), open("e.3", "e.2"), open("e.4"))
	require.Zero(t, ETA(s, noon))
	events := append([]Event{}, landedOne...)
	events[1] = endOf("e.1", 1, AgentEnded{Changed: true, Head: "h", Took: 10 * time.Minute})
	s = after(t, s, events...)
	require.Equal(t, 20*time.Minute, ETA(s, noon), "e.2, then e.3")
	s.Run.Limits.MaxParallel = 1
	require.Equal(t, 30*time.Minute, ETA(s, noon), "one agent for three tasks")
}

func issue(id, parent string, needs ...string) tracker.Issue {
	i := tracker.Issue{ID: id, Title: id, Description: "do it", Status: tracker.StatusOpen, Type: "task"}
	if parent != "" {
		i.Dependencies = append(i.Dependencies, tracker.Dependency{IssueID: id, DependsOnID: parent, Type: tracker.DepParent})
	}
	for _, n := range needs {
		i.Dependencies = append(i.Dependencies, tracker.Dependency{IssueID: id, DependsOnID: n, Type: tracker.DepBlocks})
	}
	return i
}

func TestPlan(t *testing.T) {
	t.Parallel()
	epic := tracker.Issue{ID: "e", Title: "E", Type: tracker.TypeEpic, Status: tracker.StatusOpen}
	done := issue("e.5", "e")
	done.Status = tracker.StatusClosed
	p := planOf(epic, issue("e.1", "e"), issue("e.2", "e", "e.1"), issue("e.3", "e", "e.1", "e.5"), issue("e.4", "e", "e.2", "e.3"), done)
	require.Equal(t, 4, p.ToDo)
	require.Equal(t, 1, p.Done)
	require.Len(t, p.Waves, 3)
	require.Equal(t, []TaskID{"e.1", "e.2", "e.4"}, p.Critical)
	require.InDelta(t, 4.0/3, p.Parallelism, 1e-9)
	require.False(t, p.Stuck)
	require.Empty(t, p.Problems)

	p = planOf(epic, issue("e.1", "e", "e.2"), issue("e.2", "e", "e.1"), issue("e.3", "e", "x-1"), issue("x-1", ""))
	require.True(t, p.Stuck)
	require.Contains(t, p.Problems[0], "[DEP_CYCLE]")
	require.Contains(t, p.Problems[len(p.Problems)-1], "[DEP_EXTERNAL] e.3 waits for x-1, outside the epic")
	require.Equal(t, []string{"the epic has no tasks"}, planOf(epic).Problems)
}

func TestFindEpic(t *testing.T) {
	t.Parallel()
	epic := tracker.Issue{ID: "e", Title: "E", Type: tracker.TypeEpic, Status: tracker.StatusOpen}
	issues := []tracker.Issue{epic, issue("e.1", "e"), issue("p", ""), issue("p.1", "p")}
	for _, id := range []TaskID{"e", "p"} {
		_, err := FindEpic(issues, id)
		require.NoError(t, err, "an epic, or what has children: %s", id)
	}
	for id, exists := range map[TaskID]bool{"e.1": true, "nope": false} {
		_, err := FindEpic(issues, id)
		var missing *ErrNotEpic
		require.ErrorAs(t, err, &missing)
		require.Equal(t, exists, missing.Exists)
		require.Len(t, missing.Open, 1)
	}
}

// TestFailuresInARow: what went wrong with the work counts, a question does not.
func TestFailuresInARow(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		code reason.Code
		want int
	}{{reason.CircuitBreaker, 1}, {reason.MaxIterations, 1}, {reason.QualityRegression, 1}, {reason.Stuck, 1}, {reason.Regression, 1}, {reason.Looping, 1}, {reason.Budget, 1}, {reason.GateFailed, 1}, {reason.Question, 0}, {reason.TrackerDrift, 0}, {reason.Machine, 0}} {
		s := after(t, NewState(), running(testLimits()), readNodes(open("e.1")), Event{Fact: TaskParked{}, Task: "e.1", Code: tt.code})
		require.Equal(t, tt.want, s.Run.Failures, tt.code)
	}
}

// planOf is the plan of an epic that orch has not driven yet.
func planOf(issues ...tracker.Issue) Plan {
	return PlanOf(FromTracker("e", issues, noon), issues, noon)
}

// TestPlanGoesByTheState: what is under way is to be done, and what a session's model has closed is not done.
func TestPlanGoesByTheState(t *testing.T) {
	t.Parallel()
	issues := []tracker.Issue{{ID: "e", Type: tracker.TypeEpic, Status: "open"}, issue("e.1", "e"), issue("e.2", "e", "e.1"), issue("e.3", "e")}
	s := after(t, idle(t, open("e.1"), open("e.2", "e.1"), open("e.3")), startOf("e.1", 1), Event{Fact: TaskParked{}, Task: "e.3", Code: reason.Question, Reason: "which?"})
	p := PlanOf(s, issues, noon)
	require.Equal(t, 2, p.ToDo)
	require.Equal(t, 0, p.Done)
	require.Len(t, p.Waves, 2)
	require.Equal(t, TaskID("e.1"), p.Waves[0][0].ID)
	require.False(t, p.Stuck, "e.1 is under way")
	require.Equal(t, []string{"[QUESTION] e.3 needs a person: which?"}, p.Problems)

	s = after(t, idle(t, open("e.1"), open("e.2")), Event{Fact: TaskParked{}, Task: "e.1", Code: reason.Question, Reason: "which?"})
	require.False(t, PlanOf(s, issues, noon).Stuck, "e.2 is ready")
	s = after(t, s, Event{Fact: TaskParked{}, Task: "e.2", Code: reason.Question, Reason: "which?"})
	require.True(t, PlanOf(s, issues, noon).Stuck)
}
