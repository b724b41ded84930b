package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/beadsorch/orch/orchestrator/engine"
	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/epicdir"
	"github.com/beadsorch/orch/orchestrator/epicstore"
	"github.com/beadsorch/orch/orchestrator/git"
	"github.com/beadsorch/orch/orchestrator/journal"
	"github.com/beadsorch/orch/orchestrator/land"
)

// Orchestrator holds one epic: its lock, its lease, its journal.
type Orchestrator struct {
	fx      *dispatch
	loop    *Loop
	lock    *epicstore.Lock
	journal *journal.Journal
	base    epic.Commit
	me      epic.SessionHolder // the session that this was started from
	mine    epic.IsSession     // whether that is who holds an attempt
	pinned  epic.Commit        // what the tip reference was at when this run began; "" for none
	held    git.Checkout       // of the epic branch, when this run began; zero for none
	named   map[string]bool    // what could not be removed, and was reported
	left    []engine.Leftover  // what Close could not remove

	remembered string // how the repository was when the run began, as a digest
}

// Options are what a run is for.
type Options struct {
	Mode    epic.Mode                    // what the run is for
	Base    epic.Commit                  // what a new epic branch starts from
	Observe func(epic.Event, epic.State) // is called with each event and the state after it
	PID     int                          // who holds the epic, for others to see
	Host    string                       // and where
	Holder  epic.SessionHolder           // the session that it is started from
	Mine    epic.IsSession               // whether that is who holds an attempt; nil: where it is named the same
	Wait    time.Duration                // how long a short command of another process is waited for; one that drives the epic is not
	Waiting func(epicstore.Holder)       // is called with the holder that it waits for; may be nil
	// Locked, where it is set, is called when the epic's lock is held and before anything is
	// read: what the caller has read earlier may be of the past by then.
	Locked func()
	// Wrap, where it is set, stands around every write of the journal; tests
	// inject faults there.
	Wrap func(append func(...epic.Event) error) func(...epic.Event) error
}

// Open takes the epic over from whoever had it: it takes the lock and the journal,
// ends what a killed run left running, mends what it left in git, and takes the
// lease. It fails with *epicstore.HeldError when another orch holds the epic, and with
// *epicstore.ForeignError, *epicstore.ReplayError and the errors of the journal when that cannot be
// trusted; nothing is touched then.
func Open(ctx context.Context, deps Deps, opt Options) (*Orchestrator, error) {
	me := epicstore.Holder{PID: opt.PID, Host: opt.Host, Started: deps.Now().UTC(), Command: string(opt.Mode)}
	l, err := epicstore.Acquire(ctx, deps.Dir, deps.Epic, epicstore.Waiting{Wait: opt.Wait, OnWait: opt.Waiting})
	if err != nil {
		return nil, err
	}
	if opt.Locked != nil {
		opt.Locked()
	}
	if deps.Redact != nil {
		deps.Tracker = cleanTracker{deps.Tracker, deps.Redact}
	}
	files, err := epicdir.Open(deps.Dir)
	if err != nil {
		return nil, errors.Join(err, l.Unlock())
	}
	if opt.Mine == nil {
		opt.Mine = opt.Holder.Same
	}
	o := &Orchestrator{lock: l, base: opt.Base, me: opt.Holder, mine: opt.Mine, fx: &dispatch{Deps: deps, files: files, activity: map[epic.TaskID]string{}}}
	o.fx.tip = o.fx.branch()
	o.loop = &Loop{Executor: o.fx, Observe: opt.Observe, Now: deps.Now, Append: o.append}
	if deps.Redact != nil {
		o.loop.Redact = func(e epic.Event) epic.Event { return WithoutSecrets(deps.Redact, e) }
	}
	if opt.Wrap != nil {
		o.loop.Append = opt.Wrap(o.append)
	}
	o.loop.Observe = withHurry(deps.Hurry, opt.Observe)
	if err := o.startRun(ctx, opt, me); err != nil {
		return nil, errors.Join(err, o.Close(ctx))
	}
	return o, nil
}

func (o *Orchestrator) append(events ...epic.Event) error {
	batch := make([]any, len(events))
	for i, e := range events {
		kept, err := epicstore.Shelve(o.fx.Dir, e)
		if err != nil {
			return err
		}
		batch[i] = kept
	}
	if err := o.lock.Check(); err != nil {
		return err
	}
	_, err := o.journal.AppendAll(batch...)
	return o.fenced(err)
}

// State is how things stand; only between Open and Run, or after it.
func (o *Orchestrator) State() epic.State { return o.loop.State }

// Activity says what the agent of a task does now, in a clause; "" unknown.
func (o *Orchestrator) Activity(id epic.TaskID) string { return o.fx.Activity(id) }

// Run drives the epic until the run is over. Requests are what signals ask for;
// those of other commands are taken from the epic's folder. It fails when the
// journal cannot be written, and with *epicstore.FencedError when the epic was taken away.
func (o *Orchestrator) Run(ctx context.Context, signals <-chan Request) error {
	inner, end := context.WithCancel(ctx)
	ctx, fence := context.WithCancel(ctx)
	defer fence()
	requests := make(chan Request)
	o.loop.Requests = requests
	var beside sync.WaitGroup
	defer beside.Wait() // nothing of a run outlives it
	defer end()
	beside.Go(func() { o.guardHold(inner, fence) })
	beside.Go(func() { takeRequests(inner, o.fx.Dir, requests) })
	beside.Go(func() { forward(inner, signals, requests) })
	err := o.loop.Run(ctx)
	var fenced *epicstore.FencedError
	if err != nil && errors.As(o.stillOurs(), &fenced) { // which is why, whatever failed first
		return fenced
	}
	return err
}

func forward(ctx context.Context, from <-chan Request, to chan<- Request) {
	for {
		select {
		case r, open := <-from:
			if !open {
				return
			}
			select {
			case to <- r:
			case <-ctx.Done():
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// GiveUp ends the run before it has begun its work, as when what it is for was refused; only between
// Open and Run. It fails as the journal does.
func (o *Orchestrator) GiveUp() error {
	sum := epic.Summarize(o.loop.State, o.fx.Now())
	return o.loop.record(epic.Event{Fact: epic.RunEnded{Promise: sum.Promise}, Code: sum.Code, Reason: sum.Reason})
}

// Land has the loop land what a session's model has done for a task, as if its
// agent had just ended. It fails when no attempt of the task is open.
func (o *Orchestrator) Land(ctx context.Context, id epic.TaskID) error {
	t := o.loop.State.Task(id)
	if t != nil && (o.loop.State.WantsLanding(t) || t.State == epic.Queued) {
		return nil // asked for already
	}
	if t == nil || !t.Last().HasAgent() {
		return fmt.Errorf("no attempt of %s is under way: %w", id, epic.ErrForbidden)
	}
	return o.loop.record(o.fx.collect(ctx, t))
}

// Accept has the loop land what a parked task has done although it changes protected paths.
// It fails where the task is not parked for these.
func (o *Orchestrator) Accept(id epic.TaskID) error {
	e := epic.Event{Fact: epic.TaskAccepted{}, Task: id, Reason: "a person has accepted its changes of protected paths"}
	if err := epic.Check(o.loop.State, e); err != nil {
		return err
	}
	return o.loop.record(e)
}

// Close gives the epic back: scratch worktrees, lease, journal, lock. What it
// could not undo is in its error; nothing is lost by that.
func (o *Orchestrator) Close(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	errs := []error{o.closeStore(ctx)}
	if o.fx.lease.Name != "" {
		errs = append(errs, land.Release(ctx, o.fx.Repo, o.fx.lease))
	}
	if o.journal != nil {
		errs = append(errs, o.journal.Close())
	}
	return errors.Join(append(errs, o.fx.files.Close(), o.lock.Unlock())...)
}

// startRun is the start of every run, first or resumed.
func (o *Orchestrator) startRun(ctx context.Context, opt Options, me epicstore.Holder) error {
	fx := o.fx
	rec, err := o.openJournal(ctx, me)
	if err != nil {
		return err
	}
	if err := fx.Store.CheckRefs(ctx, o.loop.State.Ended()); err != nil {
		return err
	}
	left, err := reapSurvivors(ctx, fx.Marker)
	if err != nil {
		return err
	}
	if err := fx.checkWritable(); err != nil {
		return err
	}
	var leftovers []engine.Leftover
	if fx.Recover != nil { // before worktrees are looked at
		if leftovers, err = fx.Recover(ctx); err != nil {
			return fmt.Errorf("taking back what a killed run has left in its sandboxes: %w", err)
		}
	}
	mended, err := fx.Store.Repair(ctx)
	if err != nil {
		return fmt.Errorf("mending what a killed run left: %w", err)
	}
	leftovers = append(leftovers, mended...)
	strays, err := o.clearStrays(ctx)
	if err != nil {
		return err
	}
	tampered, err := o.remember(ctx, rec.Records)
	if err != nil {
		return err
	}
	tip, err := o.leftAt(ctx)
	if err != nil {
		return err
	}
	lease := land.LeaseContent(string(fx.Epic), o.loop.State.Run.Number+1, fmt.Sprintf("process %d on %s, %s", opt.PID, opt.Host, fx.Now().UTC()))
	if fx.lease, err = land.Acquire(ctx, fx.Repo, string(fx.Epic), lease); err != nil {
		return fmt.Errorf("taking the lease: %w", err)
	}
	if err := o.loop.record(o.begin(opt.Mode, tip)); err != nil {
		return err
	}
	events := append(left, tampered...)
	events = append(events, o.leftovers(leftovers)...)
	events = append(events, strays...)
	if e, cut := cutTail(rec); cut {
		events = append(events, e)
	}
	if len(events) > 0 {
		if err := o.loop.record(events...); err != nil {
			return err
		}
	}
	if err := o.reconcileAttempts(ctx, opt.Mode); err != nil {
		return err
	}
	return o.applyPending(ctx)
}

func (o *Orchestrator) begin(mode epic.Mode, tip epic.Commit) epic.Event {
	s := o.loop.State
	limits := o.fx.Limits
	if was := s.Run.Limits.Actor; was != "" && (was == o.fx.Former || !strings.Contains(was, ":")) {
		limits.Actor = was // what was begun under a name that this clone had, or when clones had none, goes on under it
	}
	number := s.Run.Number + 1
	switch mode {
	case epic.ModeSettle:
		number = max(1, s.Run.Number)
	case epic.ModeNext, epic.ModeLand:
		number = s.Run.Number
	}
	if mode == epic.ModeLand { // it lands what was handed out although the gate is red
		limits.AllowRedBase = limits.AllowRedBase || s.Run.Limits.AllowRedBase
	}
	fact := epic.RunStarted{Epic: o.fx.Epic, Number: number, Mode: mode, Holder: o.me, Tip: tip, Limits: limits, Settings: o.fx.Settings, Guarded: o.remembered, Sandbox: o.fx.Sandbox}
	if o.held != (git.Checkout{}) {
		fact.Held, fact.Busy = heldBy(o.held), o.held.Busy
	}
	return epic.Event{Fact: fact}
}
