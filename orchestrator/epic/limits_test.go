package epic_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	. "github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/reason"
)

// TestLimits: each limit that is reached drains the run, with its code, and no
// agent starts any more.
func TestLimits(t *testing.T) {
	t.Parallel()
	one := []Node{open("e.1"), open("e.2")}
	tests := map[string]struct {
		set    func(*Limits)
		events []Event
		code   reason.Code
	}{
		"time":       {func(l *Limits) { l.MaxDuration = 30 * time.Second }, nil, reason.TimeUp},
		"money":      {func(l *Limits) { l.Budget.CostUSD = 1 }, []Event{startOf("e.1", 1), endOf("e.1", 1, AgentEnded{Usage: Usage{CostUSD: 1}})}, reason.RunBudget},
		"tokens":     {func(l *Limits) { l.Budget.Tokens = 10 }, []Event{startOf("e.1", 1), endOf("e.1", 1, AgentEnded{Usage: Usage{Tokens: 11}})}, reason.RunBudget},
		"iterations": {func(l *Limits) { l.MaxIterations = 1 }, []Event{startOf("e.1", 1)}, reason.RunIterations},
		"turns":      {func(l *Limits) { l.MaxIterations = 2 }, []Event{startOf("e.1", 1), endOf("e.1", 1, AgentEnded{Signal: SignalContinue}), {Fact: IterationStarted{Turn: Turn{Iteration: 2}}, Task: "e.1", Attempt: 1}}, reason.RunIterations},
		"failures": {func(l *Limits) { l.MaxFailures = 1 }, []Event{startOf("e.1", 1), endOf("e.1", 1, AgentEnded{}),
			{Fact: TaskParked{}, Task: "e.1", Attempt: 1, Code: reason.NoChange}}, reason.RunFailures},
		"no login":  {func(*Limits) {}, []Event{startOf("e.1", 1), {Fact: AgentEnded{End: EndedAuth}, Task: "e.1", Attempt: 1, Code: reason.AgentAuth}}, reason.AgentAuth},
		"full disk": {func(*Limits) {}, []Event{startOf("e.1", 1), {Fact: AgentEnded{End: EndedDisk}, Task: "e.1", Attempt: 1, Code: reason.Disk}}, reason.Disk},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			limits := testLimits()
			tt.set(&limits)
			s := after(t, started(t, limits, one...), tt.events...)
			ds := decisions(s, noon.Add(time.Minute))
			require.Len(t, ds, 1)
			require.Equal(t, DrainStarted{}, ds[0].Fact)
			require.Equal(t, tt.code, ds[0].Code)
			require.NotEmpty(t, ds[0].Reason)
			s = after(t, s, ds[0].Event)
			for _, d := range decisions(s, noon.Add(time.Hour)) {
				require.NotEqual(t, Start, d.Act)
			}
		})
	}
}

// TestLimitsAreNamed: a limit says why in the words that people look for, and which setting it is.
func TestLimitsAreNamed(t *testing.T) {
	t.Parallel()
	failed := []Event{startOf("e.1", 1), endOf("e.1", 1, AgentEnded{}), {Fact: TaskParked{}, Task: "e.1", Attempt: 1, Code: reason.Stuck}}
	for want, c := range map[string]struct {
		set    func(*Limits)
		events []Event
	}{
		"Maximum iteration limit (1) reached: run.max_iterations":             {func(l *Limits) { l.MaxIterations = 1 }, []Event{startOf("e.1", 1)}},
		"Maximum duration (8 hours) reached: run.max_duration":                {func(l *Limits) { l.MaxDuration = 8 * time.Hour }, nil},
		"Maximum duration (1 hour) reached: run.max_duration":                 {func(l *Limits) { l.MaxDuration = time.Hour }, nil},
		"Maximum duration (1h30m0s) reached: run.max_duration":                {func(l *Limits) { l.MaxDuration = 90 * time.Minute }, nil},
		"1 consecutive implementation failures: run.max_consecutive_failures": {func(l *Limits) { l.MaxFailures = 1 }, failed},
		"used 11 of 10 tokens for one run":                                    {func(l *Limits) { l.Budget.Tokens = 10 }, []Event{startOf("e.1", 1), endOf("e.1", 1, AgentEnded{Usage: Usage{Tokens: 11}})}},
	} {
		limits := testLimits()
		c.set(&limits)
		d := decisions(after(t, started(t, limits, open("e.1"), open("e.2")), c.events...), noon.Add(9*time.Hour))[0]
		require.Equal(t, DrainStarted{}, d.Fact)
		require.Equal(t, want, d.Reason)
		r, ok := reason.Of(d.Code)
		require.True(t, ok)
		require.Equal(t, reason.ExitLimit, r.Exit)
	}
}

// TestTheMaximumRestsOnTheTasksAtTheStart: tasks that come up once the run has started an agent add nothing to how
// many it may start; those that come up before do, and so does all that is there when the next run begins.
func TestTheMaximumRestsOnTheTasksAtTheStart(t *testing.T) {
	t.Parallel()
	limits := testLimits()
	limits.Attempts, limits.Iterations = 10, 19
	filed := func(ids ...TaskID) Event {
		var nodes []Node
		for _, id := range ids {
			nodes = append(nodes, open(id))
		}
		return Event{Fact: TrackerRead{Nodes: nodes}}
	}
	s := started(t, limits, open("e.1"))
	maximum := func(s State) int {
		for s.Run.Drain == "" {
			s.Run.Iterations++
			for _, d := range decisions(s, noon.Add(time.Minute)) {
				if _, drains := d.Fact.(DrainStarted); drains {
					require.Equal(t, reason.RunIterations, d.Code)
					return s.Run.Iterations
				}
			}
		}
		return 0
	}
	require.Equal(t, 200, maximum(s))
	s = after(t, s, filed("e.2"))
	require.Equal(t, 400, maximum(s))
	s = after(t, s, startOf("e.1", 1), filed("e.3", "e.4"))
	require.Equal(t, 400, maximum(s))
	s = after(t, s, Event{Fact: RunEnded{Promise: LoopBlocked}}, Event{Fact: RunStarted{Epic: "e", Number: 2, Mode: ModeRun, Limits: limits}})
	require.Equal(t, 800, maximum(s))
}

// TestQuestionsAreNoFailures: tasks that ask do not stop the run.
func TestQuestionsAreNoFailures(t *testing.T) {
	t.Parallel()
	limits := testLimits()
	limits.MaxFailures = 2
	s := started(t, limits, open("e.1"), open("e.2"), open("e.3"))
	for _, id := range []TaskID{"e.1", "e.2"} {
		s = after(t, s, startOf(id, 1), endOf(id, 1, AgentEnded{Signal: SignalBlocked}), Event{Fact: TaskParked{}, Task: id, Attempt: 1, Code: reason.Question})
	}
	require.Zero(t, s.Run.Failures)
	require.Contains(t, acts(s, noon.Add(time.Second)), "start e.3")
}

// TestALandingEndsARowOfFailures: max_consecutive_failures means consecutive.
func TestALandingEndsARowOfFailures(t *testing.T) {
	t.Parallel()
	limits := testLimits()
	limits.MaxFailures = 2
	s := started(t, limits, open("e.1"), open("e.2"), open("e.3"))
	s = after(t, s, startOf("e.1", 1), endOf("e.1", 1, AgentEnded{}), Event{Fact: TaskParked{}, Task: "e.1", Attempt: 1, Code: reason.NoChange})
	require.Equal(t, 1, s.Run.Failures)
	s = after(t, s, startOf("e.2", 1), endOf("e.2", 1, AgentEnded{Changed: true, Head: "h"}),
		Event{Fact: LandingStarted{Tasks: []TaskID{"e.2"}}},
		Event{Fact: CandidateJudged{Candidates: Candidates{Tasks: []TaskID{"e.2"}, Commits: []Commit{"c"}}, Verdict: Verdict{Passed: true}}},
		Event{Fact: TaskLanded{Candidates: Candidates{Tasks: []TaskID{"e.2"}, Commits: []Commit{"c"}}}})
	require.Zero(t, s.Run.Failures)
}

// TestRepeatedFailuresFileAnIssue: the run that stops for them asks for one issue,
// which tells of each task.
func TestRepeatedFailuresFileAnIssue(t *testing.T) {
	t.Parallel()
	limits := testLimits()
	limits.MaxFailures, limits.SurveyEvery = 1, time.Hour
	s := started(t, limits, open("e.1"))
	s = after(t, s, Event{Fact: TrackerWritten{}}, startOf("e.1", 1), endOf("e.1", 1, AgentEnded{}),
		Event{Fact: TaskParked{}, Task: "e.1", Attempt: 1, Code: reason.NoChange, Reason: "nothing changed"},
		Event{Fact: DrainStarted{}, Code: reason.RunFailures, Reason: "1 consecutive implementation failures"})
	var filed []string
	for range 9 {
		ds := decisions(s, noon.Add(time.Minute))
		s = after(t, s, ds[0].Event)
		if ds[0].Act == Finish {
			break
		}
		if ds[0].Act == LookAtTip {
			s = after(t, s, Event{Fact: TipSeen{}})
			continue
		}
		for _, c := range ds[0].Changes {
			if c.Issue != nil {
				filed = append(filed, c.Issue.Description)
				s = after(t, s, Event{Fact: MetaFiled{Issue: "x-9"}})
			}
		}
		if ds[0].Act == Write {
			s = after(t, s, Event{Fact: TrackerWritten{Wrote: []WriteResult{{ID: "e.1", Status: "blocked"}}}})
		}
	}
	require.Len(t, filed, 1)
	require.Contains(t, filed[0], "e.1")
	require.Contains(t, filed[0], "nothing changed")
}

// TestBreaker: five agents in a row that do not start cost nobody an attempt; one
// probes after a while, and when that fails too the run ends.
func TestBreaker(t *testing.T) {
	t.Parallel()
	limits := testLimits()
	limits.SurveyEvery = time.Hour
	s := started(t, limits, open("e.1"), open("e.2"), open("e.3"), open("e.4"), open("e.5"), open("e.6"))
	bad := AgentEnded{End: EndedCrash, Fast: true}
	for _, id := range []TaskID{"e.1", "e.2", "e.3", "e.4", "e.5"} {
		s = after(t, s, startOf(id, 1), endOf(id, 1, bad))
	}
	ds := decisions(s, noon.Add(time.Minute))
	require.IsType(t, BreakerOpened{}, ds[0].Fact)
	s = after(t, s, ds[0].Event)
	for _, task := range s.Tasks {
		require.Zero(t, task.Charged, task.ID)
	}
	require.Empty(t, acts(s, ds[0].Fact.(BreakerOpened).Until.Add(-time.Second)), "all wait")
	require.Equal(t, ds[0].Fact.(BreakerOpened).Until, wakeOf(s, ds[0].Fact.(BreakerOpened).Until.Add(-time.Second)))
	probes := acts(s, ds[0].Fact.(BreakerOpened).Until)
	require.Len(t, probes, 1, "one probes")
	s = after(t, s, startOf("e.6", 1), endOf("e.6", 1, bad))
	ds = decisions(s, noon.Add(5*time.Minute))
	require.Equal(t, DrainStarted{}, ds[0].Fact)
	require.Equal(t, reason.AgentCrashed, ds[0].Code)
}

// TestBreakerCloses when the probe ends well.
func TestBreakerCloses(t *testing.T) {
	t.Parallel()
	limits := testLimits()
	limits.SurveyEvery = time.Hour
	s := started(t, limits, open("e.1"), open("e.2"), open("e.3"))
	s = after(t, s, Event{Fact: BreakerOpened{Until: noon}})
	require.Len(t, acts(s, noon.Add(time.Minute)), 1)
	s = after(t, s, startOf("e.1", 1), endOf("e.1", 1, AgentEnded{Changed: true, Head: "h"}))
	require.False(t, s.Run.Probing)
}

// TestCoolDown: agents that were told of a rate limit at the same time make one
// cool-down for all, to the latest time that was named, and are charged nothing.
func TestCoolDown(t *testing.T) {
	t.Parallel()
	limits := testLimits()
	limits.SurveyEvery = time.Hour
	s := started(t, limits, open("e.1"), open("e.2"), open("e.3"))
	s = after(t, s, startOf("e.1", 1), startOf("e.2", 1))
	at := noon.Add(time.Minute)
	limit := func(id TaskID, wait time.Duration) Event {
		e := endOf(id, 1, AgentEnded{End: EndedLimit, RetryAfter: wait})
		e.At, e.Code = at, reason.UsageLimit
		return e
	}
	s = after(t, s, limit("e.1", 10*time.Minute), limit("e.2", 5*time.Minute))
	require.Equal(t, at.Add(10*time.Minute), s.Cooldown)
	require.Equal(t, 1, s.Cooled)
	require.Empty(t, acts(s, at.Add(9*time.Minute)))
	require.Equal(t, s.Cooldown, wakeOf(s, at.Add(9*time.Minute)))
	require.Len(t, acts(s, s.Cooldown), 3)
	for _, task := range s.Tasks {
		require.Zero(t, task.Charged)
	}

	// A limit that names no time waits longer each time it comes again.
	var waits []time.Duration
	for n := 2; n < 5; n++ {
		at = s.Cooldown.Add(time.Second)
		e := limit("e.1", 0)
		e.Attempt = n
		s = after(t, s, startOf("e.1", n), e)
		waits = append(waits, s.Cooldown.Sub(at))
	}
	require.Equal(t, []time.Duration{2 * time.Minute, 4 * time.Minute, 8 * time.Minute}, waits)
}

// TestIterationsByAgent: the agent that a task's label names goes on as often as that agent
// may; any other as often as the default.
func TestIterationsByAgent(t *testing.T) {
	t.Parallel()
	limits := testLimits()
	limits.Iterations, limits.ByAgent = 2, map[string]int{"doc": 1}
	doc := open("e.1")
	doc.Agent = "doc"
	s := started(t, limits, doc, open("e.2"))
	for _, id := range []TaskID{"e.1", "e.2"} {
		s = after(t, s, startOf(id, 1), endOf(id, 1, AgentEnded{Signal: SignalContinue}))
	}
	require.Equal(t, reason.MaxIterations, s.Task("e.1").Last().Failure)
	require.True(t, s.Task("e.2").Last().Open(), "it may go on once more")
}

// TestPause: no agent starts while a run is paused, and it does not end; it goes on when a
// person says so.
func TestPause(t *testing.T) {
	t.Parallel()
	require.True(t, Event{Fact: RunPaused{}}.Requestable() && Event{Fact: RunContinued{}}.Requestable() && Event{Fact: RunPaused{}}.Journaled())
	s := after(t, started(t, testLimits(), open("e.1"), open("e.2")), Event{Fact: RunPaused{}})
	require.Empty(t, acts(s, noon.Add(time.Second)))
	s = after(t, s, Event{Fact: RunContinued{}})
	require.Contains(t, acts(s, noon.Add(time.Second)), "start e.1")

	s = after(t, s, startOf("e.1", 1), Event{Fact: RunPaused{}}, endOf("e.1", 1, AgentEnded{Signal: SignalContinue}))
	require.NotContains(t, acts(s, noon.Add(time.Second)), "iterate e.1")
}

// TestTaskLimited: a person lowers or raises what a task's attempts may have, in flight.
func TestTaskLimited(t *testing.T) {
	t.Parallel()
	limits := testLimits()
	limits.Iterations = 15
	s := after(t, started(t, limits, open("e.1"), open("e.2")), startOf("e.1", 1), Event{Fact: TaskLimited{Iterations: 1}, Task: "e.1"}, endOf("e.1", 1, AgentEnded{Signal: SignalContinue}))
	require.Equal(t, reason.MaxIterations, s.Task("e.1").Last().Failure)
	require.Error(t, Check(s, Event{Fact: TaskLimited{Iterations: 0}, Task: "e.1"}))
	require.Error(t, Check(s, Event{Fact: TaskLimited{Iterations: 1}, Task: "e.9"}))
}

// TestSkippedMeanwhile: an agent whose task a person has skipped does not go on.
func TestSkippedMeanwhile(t *testing.T) {
	t.Parallel()
	s := after(t, started(t, testLimits(), open("e.1")), startOf("e.1", 1), Event{Fact: TaskSkipped{}, Task: "e.1"}, endOf("e.1", 1, AgentEnded{Signal: SignalContinue, Changed: true, Head: "h"}))
	require.False(t, s.Task("e.1").Last().Open())
	require.Equal(t, Skipped, s.Task("e.1").State)
	require.Zero(t, s.Task("e.1").Charged)
}
