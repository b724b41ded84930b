package orchestrator_test

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	. "github.com/beadsorch/orch/orchestrator"
	. "github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/iteration"
	"github.com/beadsorch/orch/orchestrator/reason"
	"github.com/beadsorch/orch/orchestrator/tracker"
	"github.com/beadsorch/orch/orchestrator/validation"
)

// world is a model of everything outside the loop: agents, gate, git, tracker
// and people, all of them as unkind as a seed makes them.
type world struct {
	t    *testing.T
	epic TaskID
	mute int // the tracker ceases to answer when so many tasks have landed; -1: never

	mu        sync.Mutex
	rnd       *rand.Rand
	tracker   map[TaskID]Node
	seen      map[TaskID]Node // as last read
	running   map[TaskID]bool
	most      int // agents at the same time, ever
	landed    map[TaskID]int
	quality   map[TaskID]int // what the rules said last of a task's work
	calls     int            // tracker calls under way
	unkind    bool
	threshold int  // of the agents' circuit breaker
	others    int  // once in so many looks somebody has moved the epic branch; 0: never
	breeds    bool // each agent files a task
}

func newWorld(t *testing.T, seed uint64, tasks int) *world {
	w := &world{t: t, epic: "e", mute: -1, rnd: rand.New(rand.NewPCG(seed, 1)), unkind: true,
		tracker: map[TaskID]Node{"e": {ID: "e", Epic: true, Status: "open"}},
		seen:    map[TaskID]Node{}, running: map[TaskID]bool{}, landed: map[TaskID]int{}, quality: map[TaskID]int{}}
	for i := range tasks {
		n := Node{ID: TaskID(fmt.Sprintf("e.%02d", i)), Title: "task", Parent: "e", Status: "open", Priority: w.rnd.IntN(5)}
		for j := range i {
			if w.rnd.IntN(4) == 0 {
				n.Needs = append(n.Needs, []TaskID{TaskID(fmt.Sprintf("e.%02d", j))})
			}
		}
		w.tracker[n.ID] = n
	}
	return w
}

// chance is true once in n times, while the world is unkind.
func (w *world) chance(n int) bool { return w.unkind && w.rnd.IntN(n) == 0 }

// locked is chance for who does not hold the lock.
func (w *world) locked(n int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.chance(n)
}

func (w *world) pause(most time.Duration) {
	w.mu.Lock()
	d := time.Duration(w.rnd.Int64N(int64(most)))
	w.mu.Unlock()
	<-time.After(d)
}

func (w *world) Execute(ctx context.Context, s State, d Decision, tell func(Event) bool) []Event {
	switch d.Act {
	case Survey:
		return w.survey()
	case Write:
		return w.write(d.Changes)
	case CheckBase:
		if w.locked(20) {
			return []Event{{Fact: MachineFailed{}, Code: reason.Machine, Reason: "no space left"}}
		}
		return []Event{{Fact: BaseChecked{Verdict: Verdict{Passed: true}}}}
	case LookAtTip:
		return []Event{w.look(s)}
	case PinTip:
		return nil
	case RestoreTip:
		if w.locked(4) {
			return []Event{{Fact: MachineFailed{}, Code: reason.Machine, Reason: "cannot lock ref"}}
		}
		return []Event{{Fact: BranchRestored{TipMove: TipMove{From: d.Fact.(RestoreStarted).From, To: d.Fact.(RestoreStarted).To}}, Code: d.Code}}
	case Start, Iterate:
		return []Event{w.agent(ctx, s, d, tell)}
	case Gate:
		return w.gate(s, d)
	case Move:
		return w.move(s, d)
	case Clean:
		return []Event{{Fact: AttemptCleaned{}, Task: d.Task, Attempt: d.Attempt}}
	}
	panic(d.Act)
}

// look is what the epic branch is found at: sometimes somebody has moved it meanwhile, or has
// it checked out.
func (w *world) look(s State) Event {
	w.mu.Lock()
	defer w.mu.Unlock()
	m := &TipMove{From: s.Tip, To: s.Tip + "+"}
	switch {
	case s.Moved.Pending() || w.others == 0 || !w.chance(w.others):
		if w.chance(3) && w.others > 0 {
			return Event{Fact: TipSeen{Held: "/elsewhere"}}
		}
		return Event{Fact: TipSeen{}}
	case w.chance(2):
		m.Forward, m.Foreign = true, []string{"abc a commit"}
	case w.chance(2):
		m.To = ""
	default:
		for id := range s.Landings() {
			m.Lost = append(m.Lost, id)
		}
	}
	return Event{Fact: BranchMoved{TipMove: *m}, Code: reason.EpicMoved, Reason: m.String()}
}

func (w *world) call() func() {
	w.mu.Lock()
	w.calls++
	require.Equal(w.t, 1, w.calls, "two tracker calls at once")
	w.mu.Unlock()
	w.pause(time.Second)
	return func() { w.mu.Lock(); w.calls--; w.mu.Unlock() }
}

func (w *world) survey() []Event {
	defer w.call()()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.chance(10) || w.mute >= 0 && len(w.landed) >= w.mute {
		return []Event{{Fact: TrackerFailed{}, Reason: "no answer"}}
	}
	var r TrackerRead
	for i := range len(w.tracker) {
		id := TaskID("e")
		if i > 0 {
			id = TaskID(fmt.Sprintf("e.%02d", i-1))
		}
		n := w.tracker[id]
		if was, ok := w.seen[id]; !ok || was.Status != n.Status || was.Assignee != n.Assignee {
			r.Nodes = append(r.Nodes, n)
			w.seen[id] = n
		}
	}
	return []Event{{Fact: r}}
}

func (w *world) write(changes []tracker.Change) []Event {
	defer w.call()()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.chance(10) || w.mute >= 0 && len(w.landed) >= w.mute {
		return []Event{{Fact: TrackerFailed{Write: true}, Reason: "no answer"}}
	}
	var written TrackerWritten
	var filed []Event
	for _, c := range changes {
		id := TaskID(c.ID)
		n := w.tracker[id]
		switch c.Kind {
		case tracker.Create:
			filed = append(filed, Event{Fact: MetaFiled{Issue: "m-1"}})
			continue
		case tracker.Claim:
			if n.Assignee != "" && n.Assignee != "orch/e" {
				written.Wrote = append(written.Wrote, WriteResult{ID: id, Refused: "claimed", By: n.Assignee})
				continue
			}
			n.Status, n.Assignee = "in_progress", "orch/e"
		case tracker.Close:
			require.True(w.t, id == "e" || w.landed[id] == 1, "%s closed before it landed", id)
			n.Status = "closed"
		default:
			n.Status, n.Assignee = string(c.Status), ""
		}
		w.tracker[id], w.seen[id] = n, n
		written.Wrote = append(written.Wrote, WriteResult{ID: id, Status: n.Status, By: n.Assignee})
	}
	return append([]Event{{Fact: written}}, filed...)
}

func (w *world) agent(ctx context.Context, s State, d Decision, tell func(Event) bool) Event {
	w.mu.Lock()
	require.False(w.t, w.running[d.Task], "two agents on %s", d.Task)
	w.running[d.Task] = true
	w.most = max(w.most, len(w.running))
	if w.breeds {
		n := Node{ID: TaskID(fmt.Sprintf("e.%02d", len(w.tracker)-1)), Title: "more", Parent: "e", Status: "open"}
		w.tracker[n.ID] = n
	}
	took := time.Duration(w.rnd.Int64N(int64(20 * time.Minute)))
	fate := w.rnd.IntN(12)
	if !w.unkind {
		fate = 11
	}
	w.mu.Unlock()
	defer func() { w.mu.Lock(); delete(w.running, d.Task); w.mu.Unlock() }()
	e, f := Event{Task: d.Task, Attempt: d.Attempt}, AgentEnded{End: EndedItself, Changed: true, Head: Commit("h-" + string(d.Task)), Took: took}
	select {
	case <-time.After(took):
	case <-ctx.Done():
		f.End = EndedStopped
		e.Fact = f
		return e
	}
	says := "<promise>COMPLETE</promise>"
	switch fate {
	case 0:
		f.End, e.Reason = EndedCrash, "exit 1"
	case 1:
		f.Changed = false
	case 2:
		says = "<promise>BLOCKED</promise>\nReason: which?"
	case 3:
		f.End, e.Code, f.RetryAfter = EndedLimit, reason.UsageLimit, 5*time.Minute
	case 4:
		says = "<promise>CONTINUE</promise>"
	case 7, 8:
		says = "it may be done"
	case 6:
		f.End, e.Code, e.Reason = EndedMachine, reason.Machine, "no processes"
	case 5:
		f.End, f.Fast, e.Reason = EndedCrash, true, "exit 1"
	}
	if f.End == EndedItself {
		w.mu.Lock()
		delete(w.running, d.Task)
		w.mu.Unlock()
		tell(Event{Fact: AgentExited{}, Task: d.Task, Attempt: d.Attempt})
		w.pause(time.Minute)
		f = f.ToJudge(iteration.Config{CircuitBreakerThreshold: w.threshold}, iteration.Turn{Output: says, Verdict: w.verdict(d), Hook: w.hook()})
	}
	e.Fact = f
	return e
}

// verdict is what an agent's rules say of a turn: of every other task's agent, that gets
// better, gets worse, oscillates, or stays where it is.
func (w *world) verdict(d Decision) *validation.Verdict {
	w.mu.Lock()
	defer w.mu.Unlock()
	h := fnv.New32a()
	h.Write([]byte(d.Task))
	if !w.unkind || h.Sum32()%2 == 0 {
		return nil
	}
	score := 50
	switch w.rnd.IntN(4) {
	case 0:
		score = min(100, w.quality[d.Task]+30)
	case 1:
		score = max(0, w.quality[d.Task]-20)
	case 2:
		score = 100 - w.quality[d.Task]
	}
	w.quality[d.Task] = score
	v := &validation.Verdict{Passed: score == 100, Score: score}
	v.Checks = []validation.Check{{Rule: []string{"tests", "lint"}[w.rnd.IntN(2)], Passed: v.Passed, Why: "exit 1"}}
	return v
}

// hook is what the hooks of a task say, mostly nothing.
func (w *world) hook() iteration.Hook {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.chance(5) {
		return iteration.Hook{}
	}
	return iteration.Hook{ID: "HOOK-1", Action: []string{"complete", "continue", "escalate"}[w.rnd.IntN(3)], Reason: "since"}
}

func (w *world) gate(s State, d Decision) (events []Event) {
	w.pause(time.Minute)
	w.mu.Lock()
	defer w.mu.Unlock()
	l := CandidateJudged{Candidates: Candidates{Old: s.Tip}, Verdict: Verdict{Passed: !w.chance(4)}, Output: "gate says no"}
	for i, id := range d.Fact.(LandingStarted).Tasks {
		if w.chance(5) {
			if len(l.Tasks) == 0 {
				events = append(events, Event{Fact: LandingConflicted{Old: s.Tip, Files: []string{"f"}}, Task: id, Attempt: s.Task(id).Last().Number})
			}
			continue
		}
		l.Tasks, l.Commits = append(l.Tasks, id), append(l.Commits, Commit(fmt.Sprintf("c%d-%s", i, id)))
	}
	if len(l.Tasks) == 0 {
		return events
	}
	return append(events, Event{Fact: l})
}

func (w *world) move(s State, d Decision) []Event {
	e := w.look(s)
	if seen, ok := e.Fact.(TipSeen); !ok {
		return []Event{{Fact: LandingLost{}, Reason: "moved"}, e}
	} else if seen.Held != "" {
		return []Event{{Fact: BranchHeld{Dir: seen.Held}, Code: reason.CheckedOut}}
	}
	l := d.Fact.(MoveStarted).Candidates
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.chance(8) {
		return []Event{{Fact: LandingLost{}, Reason: "moved"}}
	}
	for _, id := range l.Tasks {
		w.landed[id]++
		require.Equal(w.t, 1, w.landed[id], "%s landed twice", id)
	}
	return []Event{{Fact: TaskLanded{Candidates: l}}}
}

func testLimits() Limits {
	return Limits{MaxParallel: 4, Attempts: 3, Iterations: 15, SurveyEvery: 5 * time.Second, Actor: "orch/e", PoolBackOff: time.Minute,
		CrashBackOff: time.Second, BreakerBackOff: 10 * time.Second, MaxDuration: 100 * time.Hour}
}

func started(epic TaskID, limits Limits) State {
	e := Event{Fact: RunStarted{Epic: epic, Number: 1, Mode: ModeRun, Limits: limits, Tip: "tip"}, At: time.Now()}
	return Apply(NewState(), e)
}

// again is the state at the start of the next run.
func again(s State) State {
	return Apply(s, Event{Fact: RunStarted{Epic: s.Epic, Number: s.Run.Number + 1, Mode: ModeRun, Limits: s.Run.Limits}, At: time.Now()})
}

// drive runs the loop in the world to its end, and checks each state on the way.
func drive(t *testing.T, w *world, limits Limits, requests <-chan Request) State {
	return goOn(t, w, started("e", limits), requests)
}

// goOn runs the loop from a state to the end of the run.
func goOn(t *testing.T, w *world, from State, requests <-chan Request) State {
	limits := from.Run.Limits
	l := &Loop{State: from, Executor: w, Append: func(...Event) error { return nil }, Now: time.Now, Requests: requests,
		Observe: func(_ Event, s State) {
			for _, task := range s.Tasks {
				require.LessOrEqual(t, task.Charged, limits.Attempts)
				last := task.Last()
				require.LessOrEqual(t, last.Iteration, limits.Iterations+1, "a conflict costs one more")
				if n := len(last.Rounds); n > 0 && (task.State == Queued || task.State == Validating || task.State == Landed) {
					require.True(t, last.Rounds[n-1].Passed, "%s is %s after a red round", task.ID, task.State)
				}
				require.LessOrEqual(t, redAtEnd(last.Rounds), cmp.Or(w.threshold, iteration.DefaultThreshold))
			}
		}}
	require.NoError(t, l.Run(t.Context()))
	require.LessOrEqual(t, w.most, limits.MaxParallel, "agents at a time")
	return l.State
}

// redAtEnd counts the red rounds after the last green one.
func redAtEnd(rounds []iteration.Entry) (n int) {
	for _, r := range rounds {
		n++
		if r.Passed {
			n = 0
		}
	}
	return n
}

// seeds is how many random worlds are tried; 25, or 200 under ORCH_TEST_STRICT, or 10 in short runs, which are for
// races; ORCH_SIM_SEEDS asks for more.
func seeds() int {
	n, err := strconv.Atoi(os.Getenv("ORCH_SIM_SEEDS"))
	switch {
	case err == nil:
		return n
	case testing.Short():
		return 10
	case os.Getenv("ORCH_TEST_STRICT") == "":
		return 25
	}
	return 200
}

// TestLoopEnds runs the loop in many unkind worlds. Whatever happens it ends,
// closes only what landed, lands nothing twice, and leaves each task either
// closed or with a reason. A run that the tracker left alone says so, and a later
// one tells the tracker what it missed.
func TestLoopEnds(t *testing.T) {
	t.Parallel()
	for seed := range seeds() {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, uint64(seed), 12)
			w.threshold = seed % 6
			limits := testLimits()
			limits.Resumes = seed%2 == 0
			s := drive(t, w, limits, nil)
			for s.Run.Promise == string(LoopError) && Summarize(s, time.Now()).Code == reason.TrackerDown {
				s = goOn(t, w, again(s), nil)
			}
			now := time.Now()
			for _, task := range s.Tasks {
				switch {
				case task.Epic:
				case task.State == Landed:
					require.Equal(t, "closed", w.tracker[task.ID].Status, "seed %d: %s", seed, task.ID)
				case task.State == Parked:
					require.NotEmpty(t, task.Code)
					require.NotEmpty(t, task.Why)
					require.Equal(t, "blocked", w.tracker[task.ID].Status, "seed %d: %s", seed, task.ID)
				case s.Run.Drain == "" && s.Run.Promise != string(LoopError):
					require.Equal(t, reason.DepFailed, ObstacleOf(s, task, now).Code, "seed %d: %s is %s", seed, task.ID, task.State)
				}
			}
			require.NotEmpty(t, s.Run.Promise)
		})
	}
}

// TestLoopEndsWhateverAgentsFile: agents that file a task each time they are started have a run without a
// set maximum end at the one that it began with. The next run has what was filed until then to do.
func TestLoopEndsWhateverAgentsFile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 3, 3)
		w.unkind, w.breeds = false, true
		s := drive(t, w, testLimits(), nil)
		require.Equal(t, string(LoopBlocked), s.Run.Promise)
		require.Equal(t, reason.RunIterations, s.Run.Drain)
		require.Equal(t, 3*3*16, s.Run.Iterations, "of the three tasks that were there")
		require.Contains(t, s.Run.DrainWhy, "(144) reached: run.max_iterations")
		require.Equal(t, LoopBlocked, PromiseOf(s, time.Now()).Promise)
		require.NotEqual(t, "closed", w.tracker["e"].Status)

		w.breeds = false
		s = goOn(t, w, again(s), nil)
		require.Equal(t, string(LoopDone), s.Run.Promise)
		require.Len(t, w.landed, len(w.tracker)-1)
	})
}

// TestLoopEndsWhateverOthersDo: others move the epic branch, delete it and check it out while
// the run goes. It ends; nothing is closed while landed work is missing; and a run that says
// that all is done has all of it where it belongs.
func TestLoopEndsWhateverOthersDo(t *testing.T) {
	t.Parallel()
	for seed := range seeds() {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, uint64(seed), 8)
			w.others = 3 + seed%10
			s := drive(t, w, testLimits(), nil)
			require.NotEmpty(t, s.Run.Promise)
			if s.Run.Promise == string(LoopDone) {
				require.False(t, s.Moved.Pending(), "seed %d", seed)
			}
			if s.Moved.Pending() && !s.Moved.Accepted && s.Run.Drain != reason.Machine { // whose fault is said first
				require.Equal(t, reason.EpicMoved, Summarize(s, time.Now()).Code, "seed %d", seed)
			}
			for _, task := range s.Tasks {
				if task.State == Parked {
					require.NotEqual(t, reason.Machine, task.Code, "a fault of the machine parks nobody")
				}
			}
		})
	}
}

// TestLoopLandsAll shows that in a kind world every task lands, the epic is
// closed, and all agents were used.
func TestLoopLandsAll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 7, 40)
		w.unkind = false
		s := drive(t, w, testLimits(), nil)
		require.Equal(t, string(LoopDone), s.Run.Promise)
		require.Equal(t, "closed", w.tracker["e"].Status)
		require.Len(t, w.landed, 40)
		require.Equal(t, 4, w.most)
	})
}

// TestLoopWithoutTracker shows that a run whose tracker ceases to answer ends and
// says so, that what landed meanwhile stays landed, and that the next run tells the
// tracker of it.
func TestLoopWithoutTracker(t *testing.T) {
	t.Parallel()
	for tasks := range 13 {
		seed := uint64(tasks)
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, seed, 12)
			w.unkind, w.mute = false, tasks
			s := drive(t, w, testLimits(), nil)
			require.Equal(t, string(LoopError), s.Run.Promise, "seed %d", seed)
			require.Equal(t, reason.TrackerDown, Summarize(s, time.Now()).Code)
			require.NotEqual(t, "closed", w.tracker["e"].Status)

			require.GreaterOrEqual(t, len(w.landed), tasks)

			w.mute = -1
			s = goOn(t, w, again(s), nil)
			require.Equal(t, string(LoopDone), s.Run.Promise, "seed %d", seed)
			for id, n := range w.tracker {
				require.Equal(t, "closed", n.Status, "seed %d: %s", seed, id)
			}
		})
	}
}

// TestLoopDrains shows that a first interrupt lets agents finish and land, and
// a second one stops them; both end the run with LOOP_CONTINUE.
func TestLoopDrains(t *testing.T) {
	t.Parallel()
	for _, kill := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, 3, 12)
			w.unkind = false
			requests := make(chan Request)
			go func() {
				<-time.After(time.Minute)
				requests <- Request{Event: Event{Fact: DrainStarted{}, Code: reason.Interrupted, Reason: "asked"}}
				if kill {
					requests <- Request{Event: Event{Fact: InterruptStarted{}}}
				}
			}()
			began := time.Now()
			s := drive(t, w, testLimits(), requests)
			require.Equal(t, string(LoopContinue), s.Run.Promise)
			if kill {
				require.Less(t, time.Since(began), 2*time.Minute)
				require.Empty(t, w.landed)
			} else {
				require.NotEmpty(t, w.landed)
				require.Less(t, len(w.landed), 12)
			}
		})
	}
}
