package cmd

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/beadsorch/orch/beads"
	"github.com/beadsorch/orch/cmd/cli"
	"github.com/beadsorch/orch/cmd/hooks"
	"github.com/beadsorch/orch/cmd/iterate"
	"github.com/beadsorch/orch/cmd/workspace"
	"github.com/beadsorch/orch/orchestrator"
	"github.com/beadsorch/orch/orchestrator/core"
	"github.com/beadsorch/orch/orchestrator/iteration"
	"github.com/beadsorch/orch/orchestrator/validation"
	"github.com/beadsorch/orch/stophook/registry"
)

// iterationCommands are orch iteration and orch checkpoint.
func (a *app) iterationCommands() []*cobra.Command {
	return iterate.Commands(iterate.Host{
		Stdin: a.Stdin, Now: a.Now, Place: a.iterationPlace, Limit: a.limitTask, Hooks: a.iterationHooks, NeedsYou: cli.ExitWith(cli.ExitNeedsYou),
		Print: func(doc map[string]any, text string) error {
			if a.JSON {
				cli.WriteJSON(a.Stdout, doc)
				return nil
			}
			fmt.Fprint(a.Stdout, text)
			return nil
		},
		Fail: func(p iterate.Problem) error {
			exit := map[iterate.Kind]int{iterate.Usage: cli.ExitUsage, iterate.NotFound: cli.ExitNotFound, iterate.Held: cli.ExitHeld}[p.Kind]
			return &cli.Error{Code: p.Code, What: p.What, Why: p.Why, Fix: p.Fix, Exit: exit, Err: p.Err}
		},
	})
}

// iterationHooks has a task's hooks decide on an iteration.
func (a *app) iterationHooks(ctx context.Context, task string, n int, v validation.Verdict, output string, files []string) (iteration.Hook, error) {
	in := registry.Context{TaskID: task, Iteration: n, ExecutionPhase: "iteration", FilesModified: append([]string{}, files...), AgentOutput: output}
	for _, c := range v.Checks {
		in.ValidationResults = append(in.ValidationResults, registry.Validation{RuleName: c.Rule, Passed: c.Passed, Message: c.Why})
	}
	e, some, err := hooks.Decide(ctx, a.App, task, in)
	if err != nil || !some {
		return iteration.Hook{}, err
	}
	return iteration.Hook{ID: e.HookID, Action: string(e.Action), Reason: e.Reason, NextPrompt: e.NextPrompt}, nil
}

// limitTask leaves word for the run that drives a task.
func (a *app) limitTask(ctx context.Context, task string, n int) (told bool, err error) {
	p, t, err := workspace.Look(ctx, a.App, []string{task})
	if err != nil || t == nil {
		return false, nil // orch has not driven it
	}
	return true, orchestrator.Ask(p.Folder, core.Event{Kind: core.TaskLimited, Task: t.ID, Agent: &core.Agent{Iteration: n}, Reason: "asked by a person"}, a.Now())
}

// iterationPlace is where a task's loop and its work are, for the commands on loops.
func (a *app) iterationPlace(ctx context.Context, task string) (iterate.Place, error) {
	w, err := workspace.Open(ctx, a.App)
	if err != nil {
		return iterate.Place{}, err
	}
	at, err := w.WorkAt(task)
	return iterate.Place{
		Book: at.Book, Dir: at.Dir, Env: w.GateEnv(), Run: w.Proc.RunGuarded, Products: at.Products,
		Changed: func(ctx context.Context) ([]string, error) { return w.Changed(ctx, at) },
		Config:  func(ctx context.Context) (iteration.Config, error) { return w.Iteration(ctx, task) },
		Blocked: func(ctx context.Context) bool {
			i, ok := w.Issue(ctx, task)
			return ok && i.Status == beads.StatusBlocked
		},
	}, err
}
