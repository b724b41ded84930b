package orchestrator

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/beadsorch/orch/orchestrator/checkpoint"
	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/fault"
	"github.com/beadsorch/orch/orchestrator/iteration"
	"github.com/beadsorch/orch/orchestrator/promise"
	"github.com/beadsorch/orch/orchestrator/validation"
)

// round ends a turn of an agent that ended by itself: its own rules, where it has some, are
// asked about what it has left and said, and then the hooks of its task. The gate judges
// what lands all the same.
func (x *Effects) round(ctx context.Context, s epic.State, d epic.Decision, e epic.Event, said string) epic.Event {
	switch e.Agent.Signal {
	case epic.SignalBlocked, epic.SignalEscalate, epic.SignalFresh:
		return e
	}
	if e.Agent.End != epic.EndedItself || len(e.Agent.Unmerged) > 0 || e.Code == epic.TooLarge {
		return e
	}
	t, v := s.Task(d.Task), validation.Verdict{Passed: true, Score: 100}
	if rules := x.role(t).Rules; len(rules) > 0 && e.Agent.Changed {
		var err error
		if v, err = x.ask(ctx, t, d, rules, e.Files, said); err != nil {
			return e // interrupted, or the machine's fault: the gate will tell
		}
		e.Round = &epic.Round{Entry: iteration.EntryOf(d.Agent.Iteration, v, x.Now()), Feedback: v.Feedback()}
		e.Round.Failure = why(v)
	}
	return x.hooked(ctx, t, d, e, v, said)
}

// ask has rules judge a turn, in the worktree of its attempt.
func (x *Effects) ask(ctx context.Context, t *epic.Task, d epic.Decision, rules []validation.Rule, files []string, said string) (validation.Verdict, error) {
	products, err := checkpoint.Products(BookDir(x.Dir, t.ID, d.Attempt), time.Time{})
	if err != nil {
		products = "" // then a rule that looks for something there tells
	}
	v, err := validation.Judge(ctx, x.Proc.RunGuarded, rules, validation.Input{
		Dir: x.Store.Name(string(t.ID), d.Attempt).Dir, Env: x.GateEnv, Files: files, Output: said, Products: products})
	if err == nil {
		err = fault.Of(v.Err())
	}
	return v, err
}

// hooked has the task's hooks decide on a turn: one that escalates asks for a person, one
// that continues keeps going what is not red, one that completes what is not red needs no
// promise.
func (x *Effects) hooked(ctx context.Context, t *epic.Task, d epic.Decision, e epic.Event, v validation.Verdict, said string) epic.Event {
	if x.Hooks == nil {
		return e
	}
	h, err := x.Hooks(ctx, string(t.ID), d.Agent.Iteration, v, x.Redact.String(said), e.Files)
	if ctx.Err() != nil {
		return e
	}
	if err != nil {
		h = iteration.Hook{Action: "escalate", Reason: "the hooks of the task can not be asked: " + err.Error()}
	}
	says := strings.TrimSpace(h.Reason + "\n\n" + h.NextPrompt)
	switch {
	case h.Action == "":
	case h.Action == "escalate":
		e.Agent.Signal, e.Text = epic.SignalEscalate, strings.TrimSpace("hook "+h.ID)+": "+h.Reason
	case !v.Passed:
		e.Round.Feedback += "\n" + says + "\n"
	case h.Action == "continue":
		e.Agent.Signal, e.Text = epic.SignalContinue, says
	case h.Action == "complete":
		e.Agent.Signal = string(promise.Complete)
	}
	return e
}

// mark makes a checkpoint of a turn that has ended, for a fresh session that goes on, and for
// a person. Nothing of a run rests on it. It fails when it cannot be written.
func (x *Effects) mark(ctx context.Context, t *epic.Task, d epic.Decision, e epic.Event) error {
	if e.Agent.End != epic.EndedItself {
		return nil
	}
	b, err := checkpoint.Open(context.WithoutCancel(ctx), BookDir(x.Dir, t.ID, d.Attempt), x.Now)
	if err != nil {
		return err
	}
	b.RedactBy(x.Redact)
	notes := e.Reason
	if e.Round != nil && !e.Round.Passed {
		notes = "red: " + e.Round.Failure
	}
	_, err = b.Create(checkpoint.Checkpoint{TaskID: string(t.ID), Trigger: checkpoint.Turn, ExecutionPhase: "turn", ExecutionStep: d.Agent.Iteration, FilesModified: e.Files, Notes: notes})
	return errors.Join(err, b.Close())
}
