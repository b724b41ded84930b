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

// evaluate runs the agent's own rules, if it has some, on a turn that ended by itself, and then the
// hooks of its task. It only records their results; what follows from them is decided elsewhere. A
// turn that a full context has cut off is not evaluated.
func (t *turn) evaluate(ctx context.Context, w *engine.Work) {
	if w.End != epic.EndedItself || w.Full || len(w.Unmerged) > 0 || w.TooLarge != "" || w.Gone != "" || len(w.Embedded) > 0 || w.Refused != "" {
		return
	}
	v := validation.Verdict{Passed: true, Score: 100}
	if len(t.Rules) > 0 && w.Changed {
		var err error
		if v, err = t.runRules(ctx, w.Files, w.Said); err != nil {
			return // interrupted, or the machine's fault: the gate decides
		}
		for n := range v.Checks {
			v.Checks[n].Err = nil // no fault of the machine, and no data
		}
		w.Verdict = &v
	}
	t.runHooks(ctx, w, v)
}

// runRules judges the turn by the agent's rules, in the worktree of its attempt.
func (t *turn) runRules(ctx context.Context, files []string, said string) (validation.Verdict, error) {
	products, err := checkpoint.ProductText(checkpoint.Dir(t.dir), time.Time{})
	if err != nil {
		products = "" // then a rule that needs them fails
	}
	v, err := validation.Judge(ctx, t.judging(), t.Rules, validation.Input{
		Dir: t.names.Dir, Env: t.e.RuleEnv, Files: files, Output: said, Products: products})
	if err == nil {
		err = fault.Of(v.Err())
	}
	return v, err
}

// runHooks runs the hooks of the task. Where that fails the hook's result is to escalate to a person.
func (t *turn) runHooks(ctx context.Context, w *engine.Work, v validation.Verdict) {
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
// and for a person. No decision of a run depends on it. It fails when it cannot be written.
func (t *turn) saveCheckpoint(ctx context.Context, w engine.Work) error {
	if w.End != epic.EndedItself {
		return nil
	}
	b, err := checkpoint.Open(context.WithoutCancel(ctx), checkpoint.Dir(t.dir), t.e.Now)
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
