package local

import (
	"context"
	"errors"
	"time"

	"github.com/beadsorch/orch/orchestrator/checkpoint"
	"github.com/beadsorch/orch/orchestrator/engine"
	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/fault"
	"github.com/beadsorch/orch/orchestrator/iteration"
	"github.com/beadsorch/orch/orchestrator/validation"
)

// round ends a turn of an agent that ended by itself: its own rules, where it has some, are
// asked about what it has left and said, and then the hooks of its task. What comes of their
// answers is not decided here. What a full context has cut off is not done, and nobody is asked.
func (t *turn) round(ctx context.Context, w *engine.Work) {
	if w.End != epic.EndedItself || w.Full || len(w.Unmerged) > 0 || w.TooLarge != "" {
		return
	}
	v := validation.Verdict{Passed: true, Score: 100}
	if len(t.Rules) > 0 && w.Changed {
		var err error
		if v, err = t.ask(ctx, w.Files, w.Said); err != nil {
			return // interrupted, or the machine's fault: the gate will tell
		}
		for n := range v.Checks {
			v.Checks[n].Err = nil // no fault of the machine, and no data
		}
		w.Verdict = &v
	}
	t.askHooks(ctx, w, v)
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

// askHooks asks the hooks of the task. Where that fails a person has to look.
func (t *turn) askHooks(ctx context.Context, w *engine.Work, v validation.Verdict) {
	if t.e.Hooks == nil {
		return
	}
	h, err := t.e.Hooks.Evaluate(ctx, engine.Turn{Task: t.Task, Number: t.Turn, Verdict: v, Output: t.e.Redact.String(w.Said), Files: w.Files})
	switch {
	case ctx.Err() != nil:
	case err != nil:
		w.Hook = iteration.Hook{Action: "escalate", Reason: "the hooks of the task cannot be asked: " + err.Error()}
	default:
		w.Hook = h
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
		notes = "red: " + iteration.EntryOf(t.Turn, *w.Verdict, t.e.Now()).Failure
	}
	_, err = b.Create(checkpoint.Checkpoint{TaskID: string(t.Task), Trigger: checkpoint.Turn, ExecutionPhase: "turn", ExecutionStep: t.Turn, FilesModified: w.Files, Notes: notes})
	return errors.Join(err, b.Close())
}
