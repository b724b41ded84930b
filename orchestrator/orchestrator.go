package orchestrator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/gofrs/flock"

	"github.com/beadsorch/orch/orchestrator/core"
	"github.com/beadsorch/orch/orchestrator/journal"
	"github.com/beadsorch/orch/orchestrator/land"
)

// Orchestrator holds one epic: its lock, its lease, its journal.
type Orchestrator struct {
	fx      *Effects
	loop    *Loop
	lock    *flock.Flock
	journal *journal.Journal
	base    core.Commit
}

// Options are what a run is for.
type Options struct {
	Mode    core.Mode                    // what the run is for
	Base    core.Commit                  // what a new epic branch starts from
	Observe func(core.Event, core.State) // is told each event with the state after it
	PID     int                          // who holds the epic, for others to see
	Host    string                       // and where
	// Wrap, where it is set, stands around every write of the journal; tests
	// inject faults there.
	Wrap func(append func(...core.Event) error) func(...core.Event) error
}

// Open takes the epic over from whoever had it: it takes the lock, ends what a
// killed run left running, mends what it left in git, replays the journal and
// takes the lease. It fails with *HeldError when another orch holds the epic,
// and with the errors of the journal when that can not be trusted.
func Open(ctx context.Context, deps Deps, opt Options) (*Orchestrator, error) {
	me := Holder{PID: opt.PID, Host: opt.Host, Started: deps.Now().UTC(), Command: string(opt.Mode)}
	l, err := lock(ctx, deps.Dir, deps.Epic, me)
	if err != nil {
		return nil, err
	}
	o := &Orchestrator{lock: l, base: opt.Base, fx: &Effects{Deps: deps, activity: map[core.TaskID]func() string{}}}
	o.loop = &Loop{Executor: o.fx, Observe: opt.Observe, Now: deps.Now, Append: o.append}
	if opt.Wrap != nil {
		o.loop.Append = opt.Wrap(o.append)
	}
	if err := o.takeOver(ctx, opt); err != nil {
		return nil, errors.Join(err, o.Close(ctx))
	}
	return o, nil
}

func (o *Orchestrator) append(events ...core.Event) error {
	batch := make([]any, len(events))
	for i, e := range events {
		batch[i] = e
	}
	_, err := o.journal.AppendAll(batch...)
	return err
}

// Replay folds the records of a journal into a state. It fails with an error
// that wraps ErrForbidden when they do not belong together.
func Replay(records []journal.Record) (core.State, error) {
	s := core.NewState()
	for _, r := range records {
		var e core.Event
		if err := json.Unmarshal(r.Event, &e); err != nil {
			return core.State{}, fmt.Errorf("journal record %d: %w", r.Seq, err)
		}
		if err := core.Check(s, e); err != nil {
			return core.State{}, fmt.Errorf("journal record %d: %w", r.Seq, err)
		}
		s = core.Apply(s, e)
	}
	return s, nil
}

// State is how things stand; only between Open and Run, or after it.
func (o *Orchestrator) State() core.State { return o.loop.State }

// Activity says what the agent of a task does now, in a clause; "" unknown.
func (o *Orchestrator) Activity(id core.TaskID) string { return o.fx.Activity(id) }

// Run drives the epic until the run is over. Requests are what signals ask for;
// those of other commands are taken from the epic's folder. It fails when the
// journal can not be written.
func (o *Orchestrator) Run(ctx context.Context, signals <-chan Request) error {
	inner, end := context.WithCancel(ctx)
	defer end()
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
func (o *Orchestrator) Land(ctx context.Context, id core.TaskID) error {
	t := o.loop.State.Task(id)
	if t == nil || !t.Last().Open() || !t.Last().Agent {
		return fmt.Errorf("no attempt of %s is under way: %w", id, core.ErrForbidden)
	}
	d := core.Decision{Event: core.Event{Task: id, Attempt: t.Last().Number, Agent: &core.Agent{Iteration: t.Last().Iteration}}}
	e := core.Event{Kind: core.AgentEnded, Task: id, Attempt: t.Last().Number, Agent: &core.Agent{End: core.EndedItself, Iteration: t.Last().Iteration}}
	return o.loop.record(o.fx.harvest(ctx, o.loop.State, d, e))
}

// Accept has the loop land what a parked task has done although it changes protected paths.
// It fails where the task is not parked for these.
func (o *Orchestrator) Accept(id core.TaskID) error {
	e := core.Event{Kind: core.TaskAccepted, Task: id, Reason: "a person has accepted its changes of protected paths"}
	if err := core.Check(o.loop.State, e); err != nil {
		return err
	}
	return o.loop.record(e)
}

// Close gives the epic back: scratch worktrees, lease, journal, lock. What it
// could not undo is in its error; nothing is lost by that.
func (o *Orchestrator) Close(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	errs := []error{o.fx.Store.Close(ctx)}
	if o.fx.lease.Name != "" {
		errs = append(errs, land.Release(ctx, o.fx.Repo, o.fx.lease))
	}
	if o.journal != nil {
		errs = append(errs, o.journal.Close())
	}
	return errors.Join(append(errs, o.lock.Unlock())...)
}

// takeOver is the start of every run, first or resumed.
func (o *Orchestrator) takeOver(ctx context.Context, opt Options) error {
	fx := o.fx
	left, err := reap(ctx, fx.Marker)
	if err != nil {
		return err
	}
	leftovers, err := fx.Store.Repair(ctx)
	if err != nil {
		return fmt.Errorf("mending what a killed run left: %w", err)
	}
	var rec journal.Recovery
	if o.journal, rec, err = journal.Open(fx.Dir, fx.Now); err != nil {
		return err
	}
	if o.loop.State, err = Replay(rec.Records); err != nil {
		return err
	}
	tip, err := fx.Store.EnsureEpic(ctx, o.base)
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
	events := left
	for _, l := range leftovers {
		events = append(events, core.Event{Kind: core.LeftoverFound, Reason: l.What + ": " + l.Fix, Text: strings.TrimSpace(l.Path + " " + l.Ref)})
	}
	if rec.TornBytes > 0 {
		events = append(events, core.Event{Kind: core.LeftoverFound, Reason: fmt.Sprintf("the journal ended in the middle of a record; %d bytes were cut and kept beside it", rec.TornBytes)})
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

func (o *Orchestrator) begin(mode core.Mode, tip core.Commit) core.Event {
	s := o.loop.State
	limits := o.fx.Limits
	if s.Run.Limits.Actor != "" {
		limits.Actor = s.Run.Limits.Actor // the same claimer as before
	}
	return core.Event{Kind: core.RunStarted, Epic: o.fx.Epic, Land: &core.Land{Commits: []core.Commit{tip}}, Run: &core.Run{Number: s.Run.Number + 1, Mode: mode, Limits: limits, Settings: o.fx.Settings}}
}
