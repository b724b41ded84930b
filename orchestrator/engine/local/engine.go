// Package local is the engine that runs agents here: a process in a worktree for each turn.
package local

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/beadsorch/orch/orchestrator/checkpoint"
	"github.com/beadsorch/orch/orchestrator/engine"
	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/epicdir"
	"github.com/beadsorch/orch/orchestrator/fault"
	"github.com/beadsorch/orch/orchestrator/git"
	"github.com/beadsorch/orch/orchestrator/harness"
	"github.com/beadsorch/orch/orchestrator/private"
	"github.com/beadsorch/orch/orchestrator/proc"
	"github.com/beadsorch/orch/orchestrator/redact"
	"github.com/beadsorch/orch/orchestrator/setup"
)

// Options is what an Engine is made of; all of it has to be set but Hooks, SetUp, Sandbox and Redact.
type Options struct {
	// Dir is the epic's folder, for briefs and logs.
	Dir string
	// Repo is the repository.
	Repo *git.Repo
	// Bench is where the attempts are.
	Bench engine.Bench
	// Proc starts processes.
	Proc *proc.System
	// Harness is the adapter to an agent's client. It fails where that cannot be started here.
	Harness func(engine.Client) (harness.Harness, error)
	// Env is the whole environment of an agent, but for the ORCH_ variables.
	Env []string
	// RuleEnv is the whole environment of a rule's command.
	RuleEnv []string
	// Hooks decide on turns; nil for none.
	Hooks engine.Hooks
	// SetUp makes a new worktree ready.
	SetUp setup.Plan
	// Sandbox bounds agents and rules; nil for none.
	Sandbox engine.Sandbox
	// Redact takes secrets out of all that is kept; nil knows none.
	Redact *redact.Redactor
	// Now is the clock.
	Now func() time.Time
}

// Engine runs turns of one epic's attempts here. It is safe for concurrent use on different tasks.
type Engine struct{ Options }

// New checks nothing and makes nothing.
func New(o Options) *Engine { return &Engine{o} }

// Run does one turn to its end. A context that ends interrupts the agent. The returned Work has
// all of what happened; the error says why a turn could not run, or its work not be inspected.
func (e *Engine) Run(ctx context.Context, j engine.Job, progress func(engine.Progress)) (engine.Work, error) {
	t, err := e.newTurn(j, progress)
	if err != nil {
		return notStarted("preparing the brief", private.Refused(err))
	}
	defer t.files.Close()
	if what, err := t.addWorktree(ctx); err != nil {
		return noWorktree(what, private.Refused(err))
	}
	if w, err := t.setUp(ctx); err != nil {
		return w, err
	}
	spec, env, err := t.prepare()
	if err != nil {
		return notStarted("preparing the brief", private.Refused(err))
	}
	if j.HandOver {
		return engine.Work{HandOver: true}, nil
	}
	w, err := t.run(ctx, spec, env)
	if err != nil {
		return notStarted("starting the agent", errors.Join(err, t.leave(ctx, &w)))
	}
	if err := t.harvest(ctx, &w); err != nil {
		return w, err
	}
	w.Reason = joinClauses(w.Reason, t.setAside)
	t.checkMachine(context.WithoutCancel(ctx), &w, spec.Dir)
	t.evaluate(ctx, &w)
	if err := t.saveCheckpoint(ctx, w); err != nil {
		w.Reason = joinClauses(w.Reason, "its checkpoint: "+err.Error())
	}
	return w, nil
}

// Attach finds a turn that outlived its orchestrator. There is none here: agents end with the
// process that started them. It fails with [engine.ErrGone].
func (e *Engine) Attach(context.Context, engine.AttemptID, func(engine.Progress)) (engine.Work, error) {
	return engine.Work{}, engine.ErrGone
}

// Has reports whether an attempt is there to go on with.
func (e *Engine) Has(_ context.Context, id engine.AttemptID) bool {
	return e.Bench.Exists(string(id.Task), id.Number)
}

// Collect inspects what an attempt has left, while no turn of it runs, and makes all of it
// reachable. Where its worktree is gone that is what is on its branch.
func (e *Engine) Collect(ctx context.Context, j engine.Job) (engine.Work, error) {
	t, err := e.newTurn(j, nil)
	if err != nil {
		return engine.Work{}, err
	}
	defer t.files.Close()
	w := engine.Work{End: epic.EndedItself}
	t.cell = abandoned{e, t.dir}
	return w, t.harvest(ctx, &w)
}

// Discard removes the worktree and the branch of an attempt, once all of its work and head are
// reachable. It fails with an [*engine.UnsavedError], or as git does.
func (e *Engine) Discard(ctx context.Context, id engine.AttemptID, head epic.Commit) error {
	if _, err := (abandoned{e, epicdir.Attempt(e.Dir, id.Task, id.Number)}).Leave(ctx); err != nil {
		return err
	}
	err := errors.Join(e.Bench.Remove(ctx, string(id.Task), id.Number, head), e.removeHome(id))
	return errors.Join(err, checkpoint.Prune(checkpoint.Dir(epicdir.Attempt(e.Dir, id.Task, id.Number))))
}

// addWorktree makes the worktree of a new attempt. What earlier ones left behind is made
// reachable and removed first.
func (t *turn) addWorktree(ctx context.Context) (what string, err error) {
	if t.Turn != 1 {
		return "", nil
	}
	for _, a := range t.Earlier {
		if err := t.clear(ctx, a); err != nil {
			return fmt.Sprintf("clearing attempt %d", a.Number), err
		}
	}
	return "making the worktree", t.e.Bench.Add(ctx, string(t.Task), t.Number, t.Base)
}

// clear removes the worktree of an earlier attempt. What it has that cannot be made reachable is set aside.
func (t *turn) clear(ctx context.Context, a engine.Earlier) error {
	err := t.e.Bench.Remove(ctx, string(t.Task), a.Number, a.Head)
	var unsaved *engine.UnsavedError
	if !errors.As(err, &unsaved) || unsaved.Large {
		return err
	}
	dir, err := t.e.Bench.SetAside(string(t.Task), a.Number, unsaved)
	if err != nil {
		return err
	}
	t.setAside = joinClauses(t.setAside, fmt.Sprintf("%s of attempt %d is in %s", strings.Join(unsaved.Paths[:min(len(unsaved.Paths), 5)], ", "), a.Number, dir))
	return t.e.Bench.Remove(ctx, string(t.Task), a.Number, a.Head)
}

// notStarted is the result when the agent never ran.
func notStarted(what string, err error) (engine.Work, error) {
	w := engine.Work{End: epic.EndedNoStart, Reason: what + ": " + err.Error(), Fast: true}
	blameMachine(&w, what, err)
	if why, ok := fault.Damaged(err); ok { // by now it is the base that cannot be read
		w.End, w.Reason, w.Fast = epic.EndedMachine, what+": "+why, false
	}
	var unsaved *engine.UnsavedError
	if errors.As(err, &unsaved) && unsaved.Large {
		w.TooLarge, w.Fast = err.Error(), false
	}
	return w, fmt.Errorf("%s: %w", what, err)
}

// noWorktree is the result when the attempt has no worktree to work in: no agent is to blame for that.
func noWorktree(what string, err error) (engine.Work, error) {
	w, err := notStarted(what, err)
	if w.TooLarge == "" {
		w.End, w.Fast = epic.EndedMachine, false
	}
	return w, err
}

// blameMachine blames the end of a turn on the machine where err is a fault of it, or a
// reference of orch's own was changed by another: no attempt is charged for that.
func blameMachine(w *engine.Work, what string, err error) {
	why, ok := fault.Machine(err)
	if errors.Is(err, git.ErrRefMoved) {
		why, ok = err.Error(), true
	}
	if ok {
		w.End, w.Reason, w.Fast = epic.EndedMachine, what+": "+why, false
	}
}

// checkMachine blames the end of a turn on the machine where the disk is full: what its agent wrote may be
// cut short without its having noticed; and where its agent has come to nothing, and no git can
// write objects, or every one but orch's own fails at the repository's commit-graph. Its work is kept.
func (t *turn) checkMachine(ctx context.Context, w *engine.Work, dir string) {
	if w.End != epic.EndedCrash && w.End != epic.EndedItself {
		return
	}
	why, at := fault.NoRoom(t.e.Env, dir, t.e.Repo.CommonDir())
	if !at && w.End == epic.EndedCrash {
		why, at = fault.NoProcess(w.Reason)
	}
	if nothing := w.End == epic.EndedCrash || !w.Changed; nothing && !at {
		if why, at = fault.Machine(fault.ClosedObjects(filepath.Join(t.e.Repo.CommonDir(), "objects"))); !at {
			why, at = t.e.Repo.DamagedGraph(ctx, t.Base)
		}
	}
	if at {
		w.End, w.Fast, w.Reason = epic.EndedMachine, false, joinClauses(w.Reason, why)
	}
}

// joinClauses puts one clause behind another, where there is one.
func joinClauses(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "; " + b
}
