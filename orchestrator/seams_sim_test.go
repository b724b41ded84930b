package orchestrator_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	. "github.com/beadsorch/orch/orchestrator"
	"github.com/beadsorch/orch/orchestrator/engine"
	. "github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/faulttest"
	"github.com/beadsorch/orch/orchestrator/git"
	"github.com/beadsorch/orch/orchestrator/land"
	"github.com/beadsorch/orch/orchestrator/tracker"
)

// plain is a tracker, an engine and a lander without faults of their own, as far as others see them.
type plain struct {
	t      *testing.T
	branch *SimBranch

	mu      sync.Mutex
	rnd     *rand.Rand
	issues  []tracker.Issue
	running map[TaskID]*turnOf
	heads   map[TaskID]Commit // of the newest attempt
	of      map[Commit]TaskID // candidates
	landed  map[TaskID]int
	closed  map[TaskID]bool
	n       int
	working int // agents at the same time
	most    int // ever
}

// turnOf is a turn that is being done.
type turnOf struct {
	over chan struct{}
	work engine.Work
}

func newPlain(t *testing.T, seed uint64, tasks int) *plain {
	p := &plain{t: t, rnd: rand.New(rand.NewPCG(seed, 3)), running: map[TaskID]*turnOf{}, heads: map[TaskID]Commit{}, of: map[Commit]TaskID{},
		landed: map[TaskID]int{}, closed: map[TaskID]bool{}, issues: []tracker.Issue{{ID: "e", Title: "the epic", Type: tracker.TypeEpic, Status: tracker.StatusOpen}}}
	for i := range tasks {
		issue := tracker.Issue{ID: fmt.Sprintf("e.%02d", i), Title: "task", Type: tracker.TypeTask, Status: tracker.StatusOpen,
			Dependencies: []tracker.Dependency{{IssueID: fmt.Sprintf("e.%02d", i), DependsOnID: "e", Type: tracker.DepParent}}}
		if i > 0 && p.rnd.IntN(2) == 0 {
			issue.Dependencies = append(issue.Dependencies, tracker.Dependency{IssueID: issue.ID, DependsOnID: fmt.Sprintf("e.%02d", p.rnd.IntN(i)), Type: tracker.DepBlocks})
		}
		p.issues = append(p.issues, issue)
	}
	return p
}

func (p *plain) pause(most time.Duration) <-chan time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.After(time.Duration(p.rnd.Int64N(int64(most))))
}

func (p *plain) Name() string { return "plain" }

func (p *plain) Survey(context.Context) ([]tracker.Issue, error) {
	<-p.pause(time.Second)
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]tracker.Issue{}, p.issues...), nil
}

func (p *plain) Apply(_ context.Context, actor string, changes []tracker.Change) ([]tracker.Outcome, error) {
	<-p.pause(time.Second)
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make([]tracker.Outcome, len(changes))
	for n, c := range changes {
		for i := range p.issues {
			if issue := &p.issues[i]; issue.ID == c.ID {
				p.change(issue, c, actor)
			}
		}
		out[n].ID = c.ID
	}
	return out, nil
}

func (p *plain) change(issue *tracker.Issue, c tracker.Change, actor string) {
	switch c.Kind {
	case tracker.Claim:
		issue.Status, issue.Assignee = tracker.StatusInProgress, actor
	case tracker.Close:
		assert.True(p.t, c.ID == "e" || p.landed[TaskID(c.ID)] == 1, "%s is closed before it has landed", c.ID)
		now := time.Now()
		issue.Status, issue.ClosedAt, issue.ClosedBy = tracker.StatusClosed, &now, actor
		p.closed[TaskID(c.ID)] = true
	case tracker.SetStatus:
		issue.Status = c.Status
		if c.Status == tracker.StatusOpen {
			issue.Assignee = ""
		}
	}
}

// Run does a turn, which goes on when its context has no end.
func (p *plain) Run(ctx context.Context, j engine.Job, progress func(engine.Progress)) (engine.Work, error) {
	p.mu.Lock()
	assert.Nil(p.t, p.running[j.Task], "two agents on %s", j.Task)
	t := &turnOf{over: make(chan struct{})}
	p.running[j.Task] = t
	p.working++
	p.most = max(p.most, p.working)
	p.n++
	head := Commit(fmt.Sprintf("h%d-%s-%d", p.n, j.Task, j.Number))
	p.mu.Unlock()
	progress(engine.Progress{Stage: engine.Working})
	t.work = engine.Work{End: EndedItself, Said: "<promise>COMPLETE</promise>", Base: j.Base, Head: head, Changed: true}
	select {
	case <-p.pause(10 * time.Minute):
	case <-ctx.Done():
		t.work.End = EndedStopped
	}
	p.mu.Lock()
	p.working--
	p.mu.Unlock()
	progress(engine.Progress{Stage: engine.Exited, End: t.work.End})
	p.mu.Lock()
	delete(p.running, j.Task)
	p.heads[j.Task] = head
	p.mu.Unlock()
	close(t.over)
	return t.work, nil
}

func (p *plain) Attach(_ context.Context, id engine.AttemptID, _ func(engine.Progress)) (engine.Work, error) {
	p.mu.Lock()
	t := p.running[id.Task]
	p.mu.Unlock()
	if t == nil {
		return engine.Work{}, engine.ErrGone
	}
	<-t.over
	return t.work, nil
}

func (p *plain) Has(context.Context, engine.AttemptID) bool { return true }

func (p *plain) Collect(_ context.Context, j engine.Job) (engine.Work, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	head := p.heads[j.Task]
	return engine.Work{End: EndedItself, Base: j.Base, Head: head, Changed: head != ""}, nil
}

func (p *plain) Discard(context.Context, engine.AttemptID, Commit) error { return nil }

func (p *plain) Judge(_ context.Context, s land.Stack) (j land.Judgement, err error) {
	<-p.pause(time.Minute)
	p.mu.Lock()
	defer p.mu.Unlock()
	j.Passed, j.Score = true, 100
	for _, t := range s.Tasks {
		assert.NotEmpty(p.t, t.Head)
		p.n++
		c := Commit(fmt.Sprintf("c%d-%s", p.n, t.ID))
		p.of[c] = t.ID
		j.Built = append(j.Built, land.Built{Task: t.ID, Candidate: c})
	}
	return j, nil
}

func (p *plain) Move(_ context.Context, s land.Stack) (land.Moved, error) {
	<-p.pause(time.Second)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.branch.Move(s.Tip, s.Candidates[len(s.Candidates)-1]); err != nil {
		return land.Moved{}, fmt.Errorf("moving: %w", err)
	}
	for n, c := range s.Candidates {
		assert.Equal(p.t, s.Tasks[n].ID, p.of[c])
		p.landed[p.of[c]]++
		assert.Equal(p.t, 1, p.landed[p.of[c]], "%s has landed twice", p.of[c])
	}
	return land.Moved{}, nil
}

func (p *plain) MergeInto(context.Context, string, Commit, string) (Commit, error) {
	return "", git.ErrNoSuchRef
}

// TestFaultySeams: whatever goes wrong with the answers of tracker, engine and lander, a run ends
// without two agents on a task, without landing anything twice, without closing what has not
// landed; and once nothing goes wrong any more, another run has all of it done.
func TestFaultySeams(t *testing.T) {
	t.Parallel()
	done := map[faulttest.Fault]int{}
	for seed := range seeds() {
		synctest.Test(t, func(t *testing.T) {
			p := newPlain(t, uint64(seed), 12)
			plan := faulttest.NewPlan(uint64(seed), 4, 30)
			defer plan.Wait()
			executor, branch := NewDispatch(Deps{Epic: "e", Tracker: faulttest.Tracker(p, plan), Engine: faulttest.Engine(p, plan), Lander: faulttest.Lander(p, plan), Now: time.Now}, "tip")
			p.branch = branch
			s := started("e", testLimits())
			for run := 0; run == 0 || run < 10 && s.Run.Promise != string(LoopDone); run++ {
				if run > 0 {
					s = again(s)
				}
				l := &Loop{State: s, Executor: executor, Append: func(...Event) error { return nil }, Now: time.Now}
				require.NoError(t, l.Run(t.Context()))
				s = l.State
				for _, task := range s.Tasks {
					require.Zero(t, task.Charged, "seed %d: %s is charged for what its agent did not do", seed, task.ID)
					require.NotEqual(t, Parked, task.State, "seed %d: %s: %s %s", seed, task.ID, task.Code, task.Why)
				}
			}
			require.Equal(t, string(LoopDone), s.Run.Promise, "seed %d: %s", seed, Summarize(s, time.Now()).Reason)
			require.LessOrEqual(t, p.most, testLimits().MaxParallel, "agents at a time")
			require.Len(t, p.landed, 12)
			require.Len(t, p.closed, 13, "the epic too")
			for f, n := range plan.Done() {
				done[f] += n
			}
		})
	}
	for f := faulttest.Lost; f <= faulttest.Late; f++ {
		require.Positive(t, done[f], "fault %d never happened", f)
	}
}
