package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/journal"
	"github.com/beadsorch/orch/orchestrator/land"
	"github.com/beadsorch/orch/worktree"
)

// Orchestrator holds one epic: its lock, its lease, its journal.
type Orchestrator struct {
	fx      *Effects
	loop    *Loop
	lock    *epicLock
	journal *journal.Journal
	base    epic.Commit
	pinned  epic.Commit         // what the tip reference was at when this run began; "" for none
	named   map[string]bool     // what could not be removed, and was said to be
	left    []worktree.Leftover // what Close could not remove

	remembered string // how the repository was when the run began, as a digest
}

// Options are what a run is for.
type Options struct {
	Mode    epic.Mode                    // what the run is for
	Base    epic.Commit                  // what a new epic branch starts from
	Observe func(epic.Event, epic.State) // is told each event with the state after it
	PID     int                          // who holds the epic, for others to see
	Host    string                       // and where
	// Locked, where it is set, is called when the epic's lock is held and before anything is
	// read: what the caller has read earlier may be of the past by then.
	Locked func()
	// Wrap, where it is set, stands around every write of the journal; tests
	// inject faults there.
	Wrap func(append func(...epic.Event) error) func(...epic.Event) error
}

// Open takes the epic over from whoever had it: it takes the lock and the journal,
// ends what a killed run left running, mends what it left in git, and takes the
// lease. It fails with *HeldError when another orch holds the epic, and with
// *ForeignError, *ReplayError and the errors of the journal when that cannot be
// trusted; nothing is touched then.
func Open(ctx context.Context, deps Deps, opt Options) (*Orchestrator, error) {
	me := Holder{PID: opt.PID, Host: opt.Host, Started: deps.Now().UTC(), Command: string(opt.Mode)}
	l, err := lock(ctx, deps.Dir, deps.Epic)
	if err != nil {
		return nil, err
	}
	if opt.Locked != nil {
		opt.Locked()
	}
	if deps.Redact != nil {
		deps.Tracker = cleanTracker{deps.Tracker, deps.Redact}
	}
	files, err := openFiles(deps.Dir)
	if err != nil {
		return nil, errors.Join(err, l.Unlock())
	}
	o := &Orchestrator{lock: l, base: opt.Base, fx: &Effects{Deps: deps, files: files, activity: map[epic.TaskID]func() string{}}}
	o.loop = &Loop{Executor: o.fx, Observe: opt.Observe, Now: deps.Now, Append: o.append}
	if deps.Redact != nil {
		o.loop.Redact = func(e epic.Event) epic.Event { return WithoutSecrets(deps.Redact, e) }
	}
	if opt.Wrap != nil {
		o.loop.Append = opt.Wrap(o.append)
	}
	o.loop.Observe = hurrying(deps.Proc, opt.Observe)
	if err := o.takeOver(ctx, opt, me); err != nil {
		return nil, errors.Join(err, o.Close(ctx))
	}
	return o, nil
}

func (o *Orchestrator) append(events ...epic.Event) error {
	batch := make([]any, len(events))
	for i, e := range events {
		kept, err := shelve(o.fx.Dir, e)
		if err != nil {
			return err
		}
		batch[i] = kept
	}
	if err := o.lock.check(); err != nil {
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
// journal cannot be written, and with *FencedError when the epic was taken away.
func (o *Orchestrator) Run(ctx context.Context, signals <-chan Request) error {
	inner, end := context.WithCancel(ctx)
	defer end()
	ctx, fence := context.WithCancel(ctx)
	defer fence()
	go o.guardHold(inner, fence)
	requests := make(chan Request)
	o.loop.Requests = requests
	go takeRequests(inner, o.fx.Dir, requests)
	go pass(inner, signals, requests)
	return o.loop.Run(ctx)
}

func pass(ctx context.Context, from <-chan Request, to chan<- Request) {
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

// Land has the loop land what a session's model has done for a task, as if its
// agent had just ended. It fails when no attempt of the task is open.
func (o *Orchestrator) Land(ctx context.Context, id epic.TaskID) error {
	t := o.loop.State.Task(id)
	if t == nil || !t.Last().Open() || !t.Last().Agent {
		return fmt.Errorf("no attempt of %s is under way: %w", id, epic.ErrForbidden)
	}
	d := epic.Decision{Event: epic.Event{Task: id, Attempt: t.Last().Number, Agent: &epic.Agent{Iteration: t.Last().Iteration}}}
	e := epic.Event{Kind: epic.AgentEnded, Task: id, Attempt: t.Last().Number, Agent: &epic.Agent{End: epic.EndedItself, Iteration: t.Last().Iteration}}
	return o.loop.record(o.fx.harvest(ctx, o.loop.State, d, e))
}

// Accept has the loop land what a parked task has done although it changes protected paths.
// It fails where the task is not parked for these.
func (o *Orchestrator) Accept(id epic.TaskID) error {
	e := epic.Event{Kind: epic.TaskAccepted, Task: id, Reason: "a person has accepted its changes of protected paths"}
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

// takeOver is the start of every run, first or resumed.
func (o *Orchestrator) takeOver(ctx context.Context, opt Options, me Holder) error {
	fx := o.fx
	rec, err := o.openJournal(ctx, me)
	if err != nil {
		return err
	}
	if err := fx.Store.CheckRefs(o.loop.State.Ended()); err != nil {
		return err
	}
	left, err := reap(ctx, fx.Marker)
	if err != nil {
		return err
	}
	leftovers, err := fx.Store.Repair(ctx)
	if err != nil {
		return fmt.Errorf("mending what a killed run left: %w", err)
	}
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
	lease := fmt.Appendf(nil, "%s run %d, process %d on %s, %s\n", fx.Epic, o.loop.State.Run.Number+1, opt.PID, opt.Host, fx.Now().UTC())
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
	if err := o.lookAtTheWorld(ctx, opt.Mode); err != nil {
		return err
	}
	return o.takeAsked()
}

// takeAsked takes what a person asked for while no run was going on. A stop
// that came too late for its run is not meant for this one.
func (o *Orchestrator) takeAsked() error {
	events, files, err := Asked(o.fx.Dir)
	if err != nil {
		return err
	}
	for i, e := range events {
		if e.Task != "" { // about a task
			if err := o.loop.request(Request{Event: e}); err != nil {
				return err
			}
		}
		if err := os.Remove(files[i]); err != nil {
			return fmt.Errorf("taking a request: %w", err)
		}
	}
	return nil
}

func (o *Orchestrator) begin(mode epic.Mode, tip epic.Commit) epic.Event {
	s := o.loop.State
	limits := o.fx.Limits
	if was := s.Run.Limits.Actor; was != "" && (limits.TakeOver || !strings.Contains(was, ":")) {
		limits.Actor = was // the same claimer as before: of a clone that has moved, or of an orch that named none
	}
	number := s.Run.Number + 1
	if mode == epic.Settle {
		number = max(1, s.Run.Number)
	}
	return epic.Event{Kind: epic.RunStarted, Epic: o.fx.Epic, Land: &epic.Land{Commits: []epic.Commit{tip}}, Run: &epic.Run{Number: number, Mode: mode, Limits: limits, Settings: o.fx.Settings}, Text: o.remembered}
}
