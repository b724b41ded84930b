// Package faulttest stands between an orchestrator and its tracker, engine and lander, and has
// answers go wrong: lost, though all was done; while it is still being done; twice; late.
package faulttest

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/beadsorch/orch/orchestrator"
	"github.com/beadsorch/orch/orchestrator/engine"
	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/land"
	"github.com/beadsorch/orch/orchestrator/tracker"
)

// ErrLost is the answer that was lost.
var ErrLost = errors.New("the answer was lost")

// Fault is what goes wrong with one call.
type Fault int

// The faults.
const (
	None     Fault = iota
	Lost           // all is done, and the answer is an error
	Unheard        // nothing is done, and the answer is an error
	Detached       // the answer is an error while it is still being done, and it is done to its end
	Twice          // it is done twice, and the second answer is given; what is reported is reported twice
	Late           // the answer comes late, also when the context has ended long since
	faults
)

// Plan says what goes wrong, by a seed. It is safe for concurrent use.
type Plan struct {
	mu   sync.Mutex
	rnd  *rand.Rand
	in   int
	most int
	done map[Fault]int

	behind sync.WaitGroup
}

// NewPlan is a plan by which one call in so many goes wrong, and at most so many do; after them
// all is well.
func NewPlan(seed uint64, in, most int) *Plan {
	return &Plan{rnd: rand.New(rand.NewPCG(seed, 7)), in: in, most: most, done: map[Fault]int{}}
}

// Done counts what went wrong so far.
func (p *Plan) Done() map[Fault]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := map[Fault]int{}
	for f, n := range p.done {
		out[f] = n
	}
	return out
}

// Wait returns when all that was still being done, or reported, is over.
func (p *Plan) Wait() { p.behind.Wait() }

func (p *Plan) next() Fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.most == 0 || p.rnd.IntN(p.in) > 0 {
		return None
	}
	p.most--
	f := Fault(1 + p.rnd.IntN(int(faults)-1))
	p.done[f]++
	return f
}

// late is how much later an answer comes.
func (p *Plan) late() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Duration(p.rnd.Int64N(int64(time.Minute)))
}

// call makes a call go wrong. do is the call as it was asked for.
func call[T any](p *Plan, ctx context.Context, do func(context.Context) (T, error)) (T, error) {
	var none T
	switch p.next() {
	case Lost:
		do(ctx)
		return none, ErrLost
	case Unheard:
		return none, ErrLost
	case Detached:
		p.behind.Go(func() { do(context.WithoutCancel(ctx)) })
		return none, ErrLost
	case Twice:
		do(ctx)
	case Late:
		v, err := do(ctx)
		<-time.After(p.late())
		return v, err
	}
	return do(ctx)
}

// Tracker is a tracker whose answers go wrong by a plan.
func Tracker(inner orchestrator.Tracker, p *Plan) orchestrator.Tracker {
	return faultyTracker{inner, p}
}

type faultyTracker struct {
	orchestrator.Tracker
	plan *Plan
}

// Survey implements orchestrator.Tracker.
func (f faultyTracker) Survey(ctx context.Context) ([]tracker.Issue, error) {
	return call(f.plan, ctx, f.Tracker.Survey)
}

// Apply implements orchestrator.Tracker.
func (f faultyTracker) Apply(ctx context.Context, actor string, changes []tracker.Change) ([]tracker.Outcome, error) {
	return call(f.plan, ctx, func(ctx context.Context) ([]tracker.Outcome, error) { return f.Tracker.Apply(ctx, actor, changes) })
}

// Engine is an engine whose answers go wrong by a plan.
func Engine(inner orchestrator.Engine, p *Plan) orchestrator.Engine { return faultyEngine{inner, p} }

type faultyEngine struct {
	orchestrator.Engine
	plan *Plan
}

// Run implements orchestrator.Engine. A turn is never done twice: its reports come twice, and
// again when it is long over.
func (f faultyEngine) Run(ctx context.Context, j engine.Job, progress func(engine.Progress)) (engine.Work, error) {
	switch fault := f.plan.next(); fault {
	case Lost:
		f.Engine.Run(ctx, j, progress)
		return engine.Work{}, ErrLost
	case Unheard:
		return engine.Work{}, ErrLost
	case Detached:
		began := make(chan struct{})
		var once sync.Once
		f.plan.behind.Go(func() {
			f.Engine.Run(context.WithoutCancel(ctx), j, func(p engine.Progress) { once.Do(func() { close(began) }); progress(p) })
		})
		<-began
		return engine.Work{}, ErrLost
	case Twice, Late:
		w, err := f.Engine.Run(ctx, j, func(p engine.Progress) { progress(p); progress(p) })
		if fault == Late {
			<-time.After(f.plan.late())
		}
		f.plan.behind.Go(func() {
			<-time.After(f.plan.late())
			progress(engine.Progress{Stage: engine.Working, Activity: "a ghost"})
			progress(engine.Progress{Stage: engine.Exited, End: epic.EndedItself})
		})
		return w, err
	}
	return f.Engine.Run(ctx, j, progress)
}

// Collect implements orchestrator.Engine.
func (f faultyEngine) Collect(ctx context.Context, j engine.Job) (engine.Work, error) {
	return call(f.plan, ctx, func(ctx context.Context) (engine.Work, error) { return f.Engine.Collect(ctx, j) })
}

// Discard implements orchestrator.Engine.
func (f faultyEngine) Discard(ctx context.Context, id engine.AttemptID, head epic.Commit) error {
	_, err := call(f.plan, ctx, func(ctx context.Context) (struct{}, error) { return struct{}{}, f.Engine.Discard(ctx, id, head) })
	return err
}

// Lander is a lander whose answers go wrong by a plan.
func Lander(inner orchestrator.Lander, p *Plan) orchestrator.Lander { return faultyLander{inner, p} }

type faultyLander struct {
	orchestrator.Lander
	plan *Plan
}

// Judge implements orchestrator.Lander.
func (f faultyLander) Judge(ctx context.Context, s land.Stack) (land.Judgement, error) {
	return call(f.plan, ctx, func(ctx context.Context) (land.Judgement, error) { return f.Lander.Judge(ctx, s) })
}

// Move implements orchestrator.Lander.
// It is never done later than its answer: that is what a lander promises.
func (f faultyLander) Move(ctx context.Context, s land.Stack) (land.Moved, error) {
	switch f.plan.next() {
	case Lost, Detached:
		f.Lander.Move(ctx, s)
		return land.Moved{}, ErrLost
	case Unheard:
		return land.Moved{}, ErrLost
	case Twice:
		f.Lander.Move(ctx, s)
	case Late:
		m, err := f.Lander.Move(ctx, s)
		<-time.After(f.plan.late())
		return m, err
	}
	return f.Lander.Move(ctx, s)
}

// MergeInto implements orchestrator.Lander.
func (f faultyLander) MergeInto(ctx context.Context, branch string, tip epic.Commit, title string) (epic.Commit, error) {
	return call(f.plan, ctx, func(ctx context.Context) (epic.Commit, error) { return f.Lander.MergeInto(ctx, branch, tip, title) })
}
