package orchestrator

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/beadsorch/orch/orchestrator/engine"
	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/iteration"
	"github.com/beadsorch/orch/orchestrator/reason"
)

// turn has the engine do one turn of an attempt, and answers with what it came to.
func (x *dispatch) turn(ctx context.Context, s epic.State, d epic.Decision, tell func(epic.Event) bool) epic.Event {
	p := &progress{x: x, d: d, tell: tell, inspect: func() []epic.Event { return x.inspect(ctx, d, tell) }}
	j := x.job(s, d)
	w, err := x.Engine.Run(ctx, j, p.report)
	if w.End == "" && !w.HandOver {
		w, err = x.recoverTurn(ctx, j, p, err)
	}
	p.end()
	for _, e := range survivorsEvent(w.Survivors, fmt.Sprintf("attempt %d at %s", d.Attempt, d.Task)) {
		tell(e)
	}
	return x.withJudgement(s.Task(d.Task), endEvent(d.Task, d.Attempt, j.Turn, completeWork(w, err)), w)
}

// withJudgement adds to the end of a turn the input of iteration.Judge, where its agent has ended it
// by itself.
func (x *dispatch) withJudgement(t *epic.Task, e epic.Event, w engine.Work) epic.Event {
	if f, ok := e.Fact.(epic.AgentEnded); ok && w.End == epic.EndedItself {
		e.Fact = f.ToJudge(x.Agents.role(t).Iteration, iteration.Turn{At: x.Now(), Verdict: w.Verdict, Output: w.Said, Full: w.Full, Hook: w.Hook})
	}
	return e
}

// survivorsEvent names, in one event, processes that could not be ended.
func survivorsEvent(pids []int, of string) []epic.Event {
	if len(pids) == 0 {
		return nil
	}
	const most = 10
	body := strings.Trim(fmt.Sprint(pids[:min(len(pids), most)]), "[]")
	if more := len(pids) - most; more > 0 {
		body += fmt.Sprintf(" and %d more", more)
	}
	return []epic.Event{{Fact: epic.LeftoverFound{}, Code: reason.Orphaned, Reason: "processes of " + of + " do not end: " + body}}
}

// recoverTurn is the result of a turn whose engine did not report one: it goes on, and is waited for; or
// what there is of it is collected.
func (x *dispatch) recoverTurn(ctx context.Context, j engine.Job, p *progress, why error) (engine.Work, error) {
	w, err := x.Engine.Attach(ctx, j.AttemptID, p.report)
	if !errors.Is(err, engine.ErrGone) && w.End != "" {
		return w, err
	}
	j.Abandon = true
	if w, err = x.Engine.Collect(context.WithoutCancel(ctx), j); err != nil {
		w = engine.Work{}
	}
	w.End, w.Text, w.Reason = epic.EndedMachine, "", unknownEnd(why).Error()
	return w, nil
}

// unknownEnd says why it is not known how a turn ended.
func unknownEnd(err error) error {
	if err == nil {
		err = errors.New("it did not say how the turn ended")
	}
	return fmt.Errorf("the engine: %w", err)
}

// progress follows one turn until its engine has answered; what it reports then, or again, is
// of no use any more.
type progress struct {
	x       *dispatch
	d       epic.Decision
	tell    func(epic.Event) bool
	inspect func() []epic.Event // compares what has one right value
	mu      sync.Mutex
	started bool
	exited  bool
}

func (p *progress) report(r engine.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.exited:
	case r.Stage == engine.Working:
		if !p.started {
			p.started = true
			p.tell(epic.Event{Fact: epic.AgentStarted{}, Task: p.d.Task, Attempt: p.d.Attempt})
		}
		p.x.watch(p.d.Task, r.Activity)
	case r.Stage == engine.Exited:
		p.exited = true
		for _, found := range p.inspect() { // before git is asked about its work
			p.tell(found)
		}
		p.x.unwatch(p.d.Task)
		if r.End == epic.EndedItself {
			p.tell(epic.Event{Fact: epic.AgentExited{}, Task: p.d.Task, Attempt: p.d.Attempt}) // its place is free
		}
	}
}

func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.exited = true
	p.x.unwatch(p.d.Task)
}

// completeWork is the work of a turn, whole also when the engine returned only an error: no agent
// can be blamed for that.
func completeWork(w engine.Work, err error) engine.Work {
	if w.End == "" && !w.HandOver {
		w.End, w.Reason = epic.EndedMachine, unknownEnd(err).Error()
	}
	return w
}

// endEvent is the event for what a turn came to.
func endEvent(task epic.TaskID, attempt, turn int, w engine.Work) epic.Event {
	if w.HandOver {
		return epic.Event{Fact: epic.AttemptHanded{}, Task: task, Attempt: attempt}
	}
	f := epic.AgentEnded{
		End: w.End, Iteration: turn, Session: w.Conversation, RetryAfter: w.RetryAfter, Usage: w.Usage, Fast: w.Fast, Took: w.Took, Sandbox: w.Sandbox,
		Head: w.Head, Base: w.Base, Changed: w.Changed, Salvaged: w.Salvaged, Unmerged: w.Unmerged, Beside: w.Beside, Apart: w.Apart[:min(len(w.Apart), 5)], Files: w.Files, Added: w.Added, Deleted: w.Deleted, Said: w.Text}
	e := epic.Event{Task: task, Attempt: attempt, Code: codeOf(w.End), Reason: w.Reason}
	if w.TooLarge != "" {
		e.Code = reason.TooLarge
	}
	if w.TooLarge != "" && w.Head != "" {
		e.Reason = w.TooLarge
		f.Said = "Your work is not taken, since it is too large: " + w.TooLarge + ". Do the task without it: build products, downloads and data sets do not belong into commits."
	}
	if len(w.Embedded) > 0 && w.End == epic.EndedItself {
		e.Code = reason.Embedded
	}
	if w.Gone != "" && (w.End == epic.EndedItself || w.End == epic.EndedCrash) {
		e.Code = reason.WorktreeGone
	}
	if w.Refused != "" && (w.End == epic.EndedItself || w.End == epic.EndedCrash || w.End == epic.EndedTime || w.End == epic.EndedIdle) {
		e.Code = reason.WorkRefused
	}
	e.Fact = f
	return e
}

// codeOf is the reason that goes with the end of an agent's process; "" none.
func codeOf(end epic.End) reason.Code {
	switch end {
	case epic.EndedTime, epic.EndedIdle:
		return reason.NoProgress
	case epic.EndedLimit, epic.EndedUsage:
		return reason.UsageLimit
	case epic.EndedAuth:
		return reason.AgentAuth
	case epic.EndedMachine:
		return reason.Machine
	case epic.EndedProcesses:
		return reason.ProcessLimit
	case epic.EndedMemory:
		return reason.MemoryLimit
	case epic.EndedOverDisk:
		return reason.DiskLimit
	case epic.EndedSetup:
		return reason.SetupFailed
	case epic.EndedItself, epic.EndedStopped:
		return ""
	}
	return reason.AgentCrashed
}

// clean has the engine discard the attempts at a task whose work is reachable.
func (x *dispatch) clean(ctx context.Context, s epic.State, d epic.Decision) epic.Event {
	e := epic.Event{Fact: epic.AttemptCleaned{}, Task: d.Task, Attempt: d.Attempt}
	for _, a := range s.Task(d.Task).Attempts {
		if err := x.Engine.Discard(ctx, x.attempt(d.Task, a.Number), a.Head); err != nil {
			e.Reason = err.Error()
		}
	}
	return e
}

func (x *dispatch) attempt(task epic.TaskID, n int) engine.AttemptID {
	return engine.AttemptID{Epic: x.Epic, Task: task, Number: n}
}

// conversationID is a UUID for the client's conversation, the same for the same turn.
func conversationID(s epic.State, d epic.Decision) string {
	h := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%d\x00%d\x00%s", s.Epic, d.Task, d.Attempt, d.Turn().Iteration, s.Run.Started))
	h[6], h[8] = h[6]&0x0f|0x40, h[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", h[0:4], h[4:6], h[6:8], h[8:10], h[10:16])
}

// Activity says what the agent of a task does now, in a clause; "" unknown.
func (x *dispatch) Activity(id epic.TaskID) string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.activity[id]
}

func (x *dispatch) watch(id epic.TaskID, activity string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.activity[id] = activity
}

func (x *dispatch) unwatch(id epic.TaskID) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.activity, id)
}
