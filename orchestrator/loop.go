package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/reason"
)

// Executor does what a decision asks for, and answers with the events that say
// how it went; what is worth knowing earlier it tells, which says whether the event is in the
// journal now: not when the run is over. It may be called from many goroutines; s never
// changes under it. The context ends when the decision is to
// be given up; its cause says why.
type Executor interface {
	Execute(ctx context.Context, s epic.State, d epic.Decision, tell func(epic.Event) bool) []epic.Event
}

// Request is an event that comes from outside the loop: a person's verb or a
// signal. Done is called once it is in the journal, or was refused.
type Request struct {
	Event epic.Event // what is asked for
	Done  func()     // may be nil
}

// Loop drives a State to the end of a run. Its goroutine owns the state; workers
// get copies of it and answer with events.
type Loop struct {
	State    epic.State                   // owned by Run while it runs
	Executor Executor                     // does what is decided
	Append   func(...epic.Event) error    // durable when it returns
	Redact   func(epic.Event) epic.Event  // takes secrets out before anything is made of an event; may be nil
	Observe  func(epic.Event, epic.State) // is called with each event after it was applied; may be nil
	Requests <-chan Request               // a person's, and signals
	Now      func() time.Time             // the clock

	answers chan answer
	workers sync.WaitGroup
	cancels map[work]context.CancelCauseFunc
}

// answer is what a worker says.
type answer struct {
	events  []epic.Event
	written chan<- bool // receives whether they are in the journal; nil where no worker waits for that
}

// done tells a worker that waits whether its events are in the journal.
func (a answer) done(written bool) {
	if a.written != nil {
		a.written <- written
	}
}

// work names something under way that can be given up.
type work struct {
	act  epic.Act
	task epic.TaskID
}

// errRunOver is the cause that workers see when the loop has ended.
var errRunOver = errors.New("the run is over")

// errInterrupted is the cause that workers see when they are to stop now.
var errInterrupted = errors.New("interrupted")

// Run decides, writes down, and acts until the run is over; then no worker is
// left. A context that ends interrupts everything, as a second Ctrl-C does. It
// fails when the journal cannot be written, and then nothing more was begun.
func (l *Loop) Run(ctx context.Context) error {
	l.answers = make(chan answer, 64)
	l.cancels = map[work]context.CancelCauseFunc{}
	inner, end := context.WithCancelCause(context.WithoutCancel(ctx))
	defer l.drainAnswers()
	defer end(errRunOver)
	stop := ctx.Done()
	for {
		over, wake, err := l.decide(inner)
		if over || err != nil {
			return err
		}
		timer := time.NewTimer(l.until(wake))
		select {
		case a := <-l.answers:
			for i, e := range a.events {
				a.events[i] = epic.Current(l.State, e)
			}
			err = l.record(a.events...)
			a.done(err == nil)
		case r := <-l.Requests:
			err = l.request(r)
		case <-timer.C:
		case <-stop:
			stop = nil
			err = l.record(epic.Event{Fact: epic.DrainStarted{}, Code: reason.Interrupted, Reason: "interrupted"}, epic.Event{Fact: epic.InterruptStarted{}})
		}
		timer.Stop()
		if err != nil {
			return err
		}
	}
}

// drainAnswers waits for the last worker; what it answers is found again by the
// next run.
func (l *Loop) drainAnswers() {
	done := make(chan struct{})
	go func() { l.workers.Wait(); close(done) }()
	for {
		select {
		case a := <-l.answers:
			a.done(false)
		case <-done:
			return
		}
	}
}

// until is how long to wait for an event, where Decide wants to be asked again at wake.
func (l *Loop) until(wake time.Time) time.Duration {
	if wake.IsZero() {
		return time.Hour
	}
	return max(wake.Sub(l.Now()), time.Millisecond)
}

// decide acts on decisions until there are none, and says when there may be some though nothing
// happens.
func (l *Loop) decide(ctx context.Context) (over bool, wake time.Time, err error) {
	for {
		ds, wake := epic.Decide(l.State, l.Now())
		if len(ds) == 0 {
			return false, wake, nil
		}
		intents := make([]epic.Event, len(ds))
		for i, d := range ds {
			intents[i] = d.Event
		}
		if err := l.record(intents...); err != nil { // write it down,
			return false, wake, err
		}
		for _, d := range ds { // then do it
			if d.Act == epic.Finish {
				return true, wake, nil
			}
			l.act(ctx, d)
		}
	}
}

func (l *Loop) act(ctx context.Context, d epic.Decision) {
	switch d.Act {
	case epic.Nothing:
		return
	case epic.Stop:
		for _, act := range []epic.Act{epic.Start, epic.Iterate} {
			if cancel := l.cancels[work{act, d.Task}]; cancel != nil {
				cancel(fmt.Errorf("%w: %s", errInterrupted, d.Reason))
			}
		}
		return
	}
	ctx, cancel := context.WithCancelCause(ctx)
	l.cancels[work{d.Act, d.Task}] = cancel
	l.workers.Add(1)
	go func(s epic.State) {
		defer l.workers.Done()
		defer cancel(errRunOver)
		l.answers <- answer{events: l.execute(ctx, s, d)}
	}(l.State)
}

// execute answers for a worker that panics: the bug is ours, and the task waits
// for a person with the trace.
func (l *Loop) execute(ctx context.Context, s epic.State, d epic.Decision) (events []epic.Event) {
	defer func() {
		if p := recover(); p != nil {
			events = append(fallbackEvents(d), epic.Event{Fact: epic.WorkerPanicked{Trace: string(debug.Stack())}, Reason: fmt.Sprintf("%s: %v", d.Act, p)})
		}
	}()
	return l.Executor.Execute(ctx, s, d, func(e epic.Event) bool {
		written := make(chan bool, 1)
		l.answers <- answer{[]epic.Event{e}, written}
		return <-written
	})
}

// fallbackEvents is the answer to a decision that came to nothing through a bug.
func fallbackEvents(d epic.Decision) []epic.Event {
	const why = "a bug in orch; its trace is in the journal"
	switch d.Act {
	case epic.Reply:
		return []epic.Event{{Fact: epic.RequestAnswered{}, Request: d.Request}}
	case epic.LookAtSessions:
		return []epic.Event{{Fact: epic.SessionLookEnded{}}}
	case epic.Start, epic.Iterate, epic.Collect:
		return []epic.Event{{Fact: epic.AgentEnded{End: epic.EndedCrash}, Task: d.Task, Attempt: d.Attempt, Code: reason.AgentCrashed, Reason: why}}
	case epic.Gate, epic.Move:
		return []epic.Event{{Fact: epic.LandingLost{}, Reason: why}}
	case epic.Survey, epic.Write:
		return []epic.Event{{Fact: epic.TrackerFailed{}, Reason: why}}
	case epic.CheckBase:
		return []epic.Event{{Fact: epic.BaseChecked{Output: why}}}
	case epic.Clean:
		return []epic.Event{{Fact: epic.AttemptCleaned{}, Task: d.Task, Attempt: d.Attempt, Reason: why}}
	case epic.Into:
		return []epic.Event{{Fact: epic.EpicNotLanded{}, Reason: why}}
	case epic.LookAtTip, epic.RestoreTip, epic.SeekLandings:
		return []epic.Event{{Fact: epic.MachineFailed{}, Code: reason.Machine, Reason: why}}
	}
	return nil
}

// record writes the events down, applies them and calls the observer. An event
// that the state forbids is a bug here, and stops the program before it harms.
func (l *Loop) record(events ...epic.Event) error {
	next := l.State
	states := make([]epic.State, len(events))
	var lines []epic.Event
	for i := range events {
		if l.Redact != nil {
			events[i] = l.Redact(events[i])
		}
		events[i].At = l.Now().UTC()
		if err := epic.Check(next, events[i]); err != nil {
			panic(err)
		}
		next = epic.Apply(next, events[i])
		states[i] = next
		if events[i].Journaled() {
			lines = append(lines, events[i])
		}
	}
	if len(lines) > 0 {
		if err := l.Append(lines...); err != nil {
			return fmt.Errorf("writing the journal: %w", err)
		}
	}
	l.State = next
	for i, e := range events {
		if e.Fact == (epic.InterruptStarted{}) {
			l.giveUp()
		}
		if l.Observe != nil {
			l.Observe(e, states[i])
		}
	}
	return nil
}

// giveUp stops the gate, whose candidate is then queued again.
func (l *Loop) giveUp() {
	for _, act := range []epic.Act{epic.Gate, epic.CheckBase} {
		if cancel := l.cancels[work{act: act}]; cancel != nil {
			cancel(errInterrupted)
		}
	}
}

// request records what a person asked for, or that it is not possible.
func (l *Loop) request(r Request) error {
	e := r.Event
	if l.State.Took(e.Request) { // before a crash, or twice
		if r.Done != nil {
			r.Done()
		}
		return nil
	}
	if err := epic.Check(l.State, e); err != nil {
		e = epic.Event{Fact: epic.RequestRefused{Kind: e.Kind()}, Request: e.Request, Reason: epic.Refusal(err)}
	}
	err := l.record(e)
	if r.Done != nil && err == nil {
		r.Done()
	}
	return err
}
