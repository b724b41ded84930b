// Package iterate is the commands orch iteration and orch checkpoint: the iteration
// protocol for a person, and for a model whose client has no other tools.
package iterate

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/workspace"
	"github.com/beadsorch/orch/orchestrator"
	"github.com/beadsorch/orch/orchestrator/checkpoint"
	"github.com/beadsorch/orch/orchestrator/command"
	"github.com/beadsorch/orch/orchestrator/engine"
	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/fault"
	"github.com/beadsorch/orch/orchestrator/iteration"
	"github.com/beadsorch/orch/orchestrator/tracker"
	"github.com/beadsorch/orch/orchestrator/validation"
)

// commands is both commands.
type commands struct {
	app   *cli.Invocation
	hooks HooksOf
}

// HooksOf gives the hooks of a workspace's tasks.
type HooksOf func(*workspace.Workspace) engine.Hooks

// Iteration is the command orch iteration.
func Iteration(app *cli.Invocation, hooks HooksOf) *cobra.Command {
	return iterationCommand(commands{app, hooks})
}

// Checkpoint is the command orch checkpoint.
func Checkpoint(app *cli.Invocation, hooks HooksOf) *cobra.Command {
	return checkpointCommand(commands{app, hooks})
}

// print prints a document where JSON was asked for, else the text.
func (a commands) print(doc cli.Document, text string) error {
	a.app.Print(doc, text)
	return nil
}

// place is where a task's loop is kept, and where its work is.
type place struct {
	workspace *workspace.Workspace
	work      workspace.WorkDir
}

func (a commands) place(ctx context.Context, task string) (place, error) {
	w, err := workspace.Read(ctx, a.app)
	if err != nil {
		return place{}, err
	}
	at, err := w.FindWorkDir(ctx, task)
	return place{w, at}, err
}

// blocked reports whether a person has set the task to blocked in the tracker.
func (p place) blocked(ctx context.Context, task string) bool {
	i, ok := p.workspace.Issue(ctx, task)
	return ok && i.Status == tracker.StatusBlocked
}

// problem says what to do about an error of a log.
func problem(task string, err error) error {
	if err == nil {
		return nil
	}
	p := &cli.Error{What: err.Error(), Exit: cli.ExitUsage, Err: err}
	switch {
	case errors.Is(err, checkpoint.ErrNoLoop):
		p.Code, p.Exit, p.Fix = "NO_LOOP", cli.ExitNotFound, []string{"orch iteration start " + task}
	case errors.Is(err, checkpoint.ErrNotFound):
		p.Code, p.Exit, p.Fix = "NOT_FOUND", cli.ExitNotFound, []string{"orch checkpoint list " + task, "orch checkpoint create " + task}
	case errors.Is(err, checkpoint.ErrHeld):
		p.Code, p.Exit, p.Fix = "HELD", cli.ExitHeld, []string{"try again when it has ended"}
	case errors.Is(err, checkpoint.ErrActive):
		p.Code, p.Fix = "LOOP_ACTIVE", []string{"orch iteration status " + task, "orch iteration next " + task}
	case errors.Is(err, iteration.ErrMaximum):
		p.Code, p.Fix = "MAX_ITERATIONS", []string{"orch iteration complete " + task + " gives it up", "orch iteration limit " + task + " N raises the maximum"}
	case errors.Is(err, iteration.ErrNotYet):
		p.Code, p.Fix = "NOT_VALIDATED", []string{"orch iteration validate " + task}
	case errors.Is(err, iteration.ErrNotPassed):
		p.Code, p.Fix = "NOT_PASSED", []string{"orch iteration next " + task}
	case errors.Is(err, iteration.ErrDone):
		p.Code, p.Fix = "LOOP_ENDED", []string{"orch iteration status " + task, "orch iteration complete " + task}
	case errors.Is(err, iteration.ErrConfig), errors.Is(err, checkpoint.ErrContext):
		p.Code, p.Fix = "BAD_VALUE", []string{"orch help iteration start", "orch help checkpoint create"}
	default:
		return err
	}
	return p
}

// write opens the log of a task's loop, does one thing to it, and closes it.
func (a commands) write(ctx context.Context, task string, do func(*checkpoint.Log, place) error) error {
	at, err := a.place(ctx, task)
	if err != nil {
		return err
	}
	log, err := checkpoint.Open(ctx, at.work.LoopDir, a.app.Now)
	if err != nil {
		return problem(task, err)
	}
	log.RedactBy(a.app.Redact)
	h := a.recorder(at)
	if h == nil {
		return problem(task, errors.Join(do(log, at), log.Close()))
	}
	if err = h.attach(log); err == nil {
		err = do(log, at)
	}
	err = errors.Join(err, log.Close())
	h.waitForJournal(ctx)
	return problem(task, err)
}

// read reads the log of a task's loop.
func (a commands) read(ctx context.Context, task string, do func(*checkpoint.Log) error) error {
	at, err := a.place(ctx, task)
	if err != nil {
		return err
	}
	log, err := checkpoint.Read(at.work.LoopDir, a.app.Now)
	if err != nil {
		return problem(task, err)
	}
	return problem(task, do(log))
}

// judge asks the loop's rules, and then the task's hooks.
func (a commands) judge(ctx context.Context, p place, l iteration.Loop, output string) (v validation.Verdict, hook iteration.Hook, err error) {
	if p.workspace.Project.Broken != nil { // what runs is in the settings
		return v, hook, p.workspace.Project.Broken
	}
	if err := p.mayRun(ctx, l.Config.ValidationRules); err != nil {
		return v, hook, err
	}
	files, err := p.workspace.Changed(ctx, p.work)
	if err != nil {
		return v, hook, err
	}
	products, err := checkpoint.ProductText(p.work.LoopDir, time.Time{})
	if err != nil {
		return v, hook, err
	}
	v, err = validation.Judge(ctx, p.runner(), l.Config.ValidationRules, validation.Input{Dir: p.work.Dir, Env: p.workspace.Project.GateEnv(), Output: output, Products: products, Files: files, Now: a.app.Now})
	if err == nil {
		err = fault.Of(v.Err())
	}
	if err != nil {
		return v, hook, err
	}
	hook, err = a.hooks(p.workspace).Evaluate(ctx, engine.Turn{Task: epic.TaskID(l.TaskID), Number: l.Iteration, Verdict: v, Output: a.app.Redact.String(output), Files: files})
	return v, hook, err
}

// runner runs the commands of rules: within the bounds of the sandbox where orch has made the worktree, or an agent asks from within one. In the
// checkout, where commands write what they make, they run as the session does.
func (p place) runner() command.Runner {
	switch {
	case p.work.Task != nil && p.work.Task.Last().Number > 0 && p.work.Dir != p.workspace.Project.Root:
		return p.workspace.InRoom(p.workspace.VerifyRoom(p.work.Epic, p.work.Task.ID, p.work.Task.Last().Number))
	case p.workspace.Served():
		return p.workspace.RunBounded
	}
	return p.workspace.Project.Proc.RunGuarded
}

// requestLimit requests a limit of iterations from the run that drives a task; requested is false
// where none does.
func (a commands) requestLimit(ctx context.Context, task string, n int) (requested bool, err error) {
	p, t, err := workspace.LoadEpic(ctx, a.app, []string{task})
	if fault := workspace.JournalFault(err); fault != nil {
		return false, fault
	}
	if err != nil || t == nil {
		return false, nil // orch has not driven it
	}
	return true, orchestrator.PostRequest(p.Folder, epic.Event{Fact: epic.TaskLimited{Iterations: n}, Task: t.ID, Reason: "asked by a person"}, a.app.Now())
}
