package local

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/beadsorch/orch/orchestrator/checkpoint"
	"github.com/beadsorch/orch/orchestrator/engine"
	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/fault"
	"github.com/beadsorch/orch/orchestrator/iteration"
	"github.com/beadsorch/orch/orchestrator/promise"
	"github.com/beadsorch/orch/orchestrator/validation"
)

// round ends a turn of an agent that ended by itself: its own rules, where it has some, are
// asked about what it has left and said, and then the hooks of its task. The gate judges
// what lands all the same.
func (t *turn) round(ctx context.Context, w *engine.Work, said string) {
	switch w.Signal {
	case epic.SignalBlocked, epic.SignalEscalate, epic.SignalFresh:
		return
	}
	if w.End != epic.EndedItself || len(w.Unmerged) > 0 || w.TooLarge != "" {
		return
	}
	v := validation.Verdict{Passed: true, Score: 100}
	if len(t.Rules) > 0 && w.Changed {
		var err error
		if v, err = t.ask(ctx, w.Files, said); err != nil {
			return // interrupted, or the machine's fault: the gate will tell
		}
		w.Verdict = &engine.Verdict{Entry: iteration.EntryOf(t.Turn, v, t.e.Now()), Feedback: v.Feedback()}
		w.Verdict.Failure = v.Why()
	}
	t.hooked(ctx, w, v, said)
}

// ask has the agent's rules judge the turn, in the worktree of its attempt.
func (t *turn) ask(ctx context.Context, files []string, said string) (validation.Verdict, error) {
	products, err := checkpoint.Products(checkpoint.In(t.dir), time.Time{})
	if err != nil {
		products = "" // then a rule that looks for something there tells
	}
	v, err := validation.Judge(ctx, t.e.Proc.RunGuarded, t.Rules, validation.Input{
		Dir: t.names.Dir, Env: t.e.RuleEnv, Files: files, Output: said, Products: products})
	if err == nil {
		err = fault.Of(v.Err())
	}
	return v, err
}

// hooked has the task's hooks decide on a turn: one that escalates asks for a person, one
// that continues keeps going what is not red, one that completes what is not red needs no
// promise.
func (t *turn) hooked(ctx context.Context, w *engine.Work, v validation.Verdict, said string) {
	if t.e.Hooks == nil {
		return
	}
	h, err := t.e.Hooks.Evaluate(ctx, engine.Turn{Task: t.Task, Number: t.Turn, Verdict: v, Output: t.e.Redact.String(said), Files: w.Files})
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		h = iteration.Hook{Action: "escalate", Reason: "the hooks of the task cannot be asked: " + err.Error()}
	}
	says := strings.TrimSpace(h.Reason + "\n\n" + h.NextPrompt)
	switch {
	case h.Action == "":
	case h.Action == "escalate":
		w.Signal, w.Text = epic.SignalEscalate, strings.TrimSpace("hook "+h.ID)+": "+h.Reason
	case !v.Passed:
		w.Verdict.Feedback += "\n" + says + "\n"
	case h.Action == "continue":
		w.Signal, w.Text = epic.SignalContinue, says
	case h.Action == "complete":
		w.Signal = string(promise.Complete)
	}
}

// saveCheckpoint makes a checkpoint of a turn that has ended, for a fresh session that goes on,
// and for a person. Nothing of a run rests on it. It fails when it cannot be written.
func (t *turn) saveCheckpoint(ctx context.Context, w engine.Work) error {
	if w.End != epic.EndedItself {
		return nil
	}
	b, err := checkpoint.Open(context.WithoutCancel(ctx), checkpoint.In(t.dir), t.e.Now)
	if err != nil {
		return err
	}
	b.RedactBy(t.e.Redact)
	notes := w.Reason
	if w.Verdict != nil && !w.Verdict.Passed {
		notes = "red: " + w.Verdict.Failure
	}
	_, err = b.Create(checkpoint.Checkpoint{TaskID: string(t.Task), Trigger: checkpoint.Turn, ExecutionPhase: "turn", ExecutionStep: t.Turn, FilesModified: w.Files, Notes: notes})
	return errors.Join(err, b.Close())
}
