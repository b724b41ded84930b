package cmd

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/document"
	"github.com/beadsorch/orch/cmd/internal/trust"
	"github.com/beadsorch/orch/cmd/internal/trust/plan"
	"github.com/beadsorch/orch/cmd/internal/workspace"
	"github.com/beadsorch/orch/orchestrator/fault"
	"github.com/beadsorch/orch/orchestrator/validation"
)

func newVerifyCmd(a *app) *cobra.Command {
	var word string
	c := &cobra.Command{
		Use:   "verify TASK",
		Short: "run the gate now, in a task's worktree",
		Long: `Verify runs the rules of the gate in the worktree of the task's last attempt, as it
is there now, uncommitted changes included, and says what each found. It changes
nothing: what lands is judged again, on the tree that lands.`,
		Args: cli.Exactly(1, "a task"),
		RunE: func(c *cobra.Command, args []string) error { return a.verify(c.Context(), args[0], word) },
	}
	trust.Flag(c, &word)
	return c
}

func (a *app) verify(ctx context.Context, id, word string) error {
	p, t, attempt, err := workspace.FindAttempt(ctx, a.App, id, 0)
	if err == nil {
		err = p.Workspace.Project.Broken // the gate is in the settings
	}
	if err != nil {
		return err
	}
	store, err := p.Workspace.Store(p.State.Epic)
	if err != nil {
		return err
	}
	name := store.Name(string(t.ID), attempt.Number)
	if !store.Exists(string(t.ID), attempt.Number) {
		return &cli.Error{Code: "NO_WORKTREE", What: fmt.Sprintf("%s has no worktree now", t.ID), Exit: cli.ExitNotFound,
			Why: "a worktree is removed when its work has landed, or a new attempt begins", Fix: []string{"orch status " + cli.Quote(t.ID)}}
	}
	if err := trust.Check(ctx, p.Workspace.Project, word, plan.Settings); err != nil {
		return err
	}
	var files []string
	if head, err := p.Workspace.Project.Repo.Resolve(ctx, name.Branch); err == nil {
		changes, err := p.Workspace.Project.Repo.ChangedFiles(ctx, attempt.Base, head)
		if err != nil {
			return fmt.Errorf("listing what %s changed: %w", t.ID, err)
		}
		for _, c := range changes {
			files = append(files, c.Path)
		}
	}
	run := p.Workspace.InRoom(p.Workspace.VerifyRoom(p.State.Epic, t.ID, attempt.Number))
	v, err := validation.Judge(ctx, run, validation.Within(p.Workspace.Project.Config.Gate, validation.OfChange), validation.Input{Dir: name.Dir, Env: p.Workspace.Project.GateEnv(), Files: files, Now: a.App.Now})
	if err == nil {
		err = fault.Of(v.Err())
	}
	if err != nil {
		return err
	}
	if a.App.JSON {
		cli.WriteJSON(a.App.Stdout, document.Verify{Task: t.ID, Dir: name.Dir, Passed: v.Passed, Score: v.Score, Checks: document.ChecksOf(v), Promise: p.Promise(ctx).Promise})
	} else {
		a.App.PrintVerdict(v)
	}
	if !v.Passed {
		return cli.ExitWith(cli.ExitNeedsYou)
	}
	return nil
}
