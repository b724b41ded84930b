package cmd

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/document"
	"github.com/beadsorch/orch/cmd/internal/workspace"
	"github.com/beadsorch/orch/orchestrator"
	"github.com/beadsorch/orch/orchestrator/epic"
)

func newEpicCmd(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "epic",
		Short: "settle an epic branch that was moved by others",
		Long: `orch knows where the last landing left the epic branch. When landed work is no
longer on it, the run ends with EPIC_MOVED, and a person settles it: put the
branch back, or take it as it is.`,
		Args: cli.AtMost(0, "accept or restore"),
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(
		&cobra.Command{
			Use:   "restore EPIC",
			Short: "put the branch back where the last landing left it; what is there now is kept",
			Args:  cli.Exactly(1, "an epic"),
			RunE: func(c *cobra.Command, args []string) error {
				return a.settle(c.Context(), epic.TaskID(args[0]), "restored", (*orchestrator.Orchestrator).RestoreBranch)
			},
		},
		&cobra.Command{
			Use:   "accept EPIC",
			Short: "take the branch as it is; landed tasks whose work it does not hold are open again",
			Args:  cli.Exactly(1, "an epic"),
			RunE: func(c *cobra.Command, args []string) error {
				return a.settle(c.Context(), epic.TaskID(args[0]), "accepted", (*orchestrator.Orchestrator).AcceptBranch)
			},
		})
	return c
}

// settle does what a person says of the epic branch, and tells the tracker. Nothing that the
// settings name runs; the next run has the gate judge the branch.
func (a *app) settle(ctx context.Context, epicID epic.TaskID, word string, do func(*orchestrator.Orchestrator, context.Context) (epic.TipMove, error)) error {
	p, task, err := workspace.LoadEpic(ctx, a.App, []string{string(epicID)})
	if err != nil {
		return err
	}
	if task != nil {
		return cli.Usage("%s is a task; name its epic", task.ID)
	}
	var m epic.TipMove
	_, _, err = driver{workspace: p.Workspace, faults: a.faults}.brief(ctx, epicID, runFlags{base: "HEAD"}, epic.ModeSettle, nil, func(o *orchestrator.Orchestrator) error {
		m, err = do(o, ctx)
		return err
	})
	if errors.Is(err, orchestrator.ErrInPlace) {
		return &cli.Error{Code: "NOT_NOW", What: fmt.Sprintf("nothing to settle: %s", err), Exit: cli.ExitUsage, Fix: []string{"orch status " + cli.Quote(epicID)}}
	}
	var gone *orchestrator.CollectedError
	if errors.As(err, &gone) {
		return &cli.Error{Code: "NOT_NOW", What: "the branch cannot be put back: " + gone.Error(), Exit: cli.ExitUsage, Err: err,
			Why: "no reference kept it, as after orch gc, and git has collected it",
			Fix: []string{"orch epic accept " + cli.Quote(epicID) + "   begins from what you have checked out; what that has stays landed"}}
	}
	if err != nil {
		return err
	}
	text := fmt.Sprintf("%s: the epic branch is at %.12s\n", word, m.From)
	if word == "accepted" {
		text = fmt.Sprintf("%s: the epic branch is at %.12s\n", word, m.To)
		for _, id := range m.Lost {
			text += fmt.Sprintf("  %s is open again\n", id)
		}
	}
	if m.Kept != "" {
		text += fmt.Sprintf("  what was there is kept at %s\n", m.Kept)
	}
	a.App.Print(document.EpicSettled{Epic: epicID, Did: word, Move: m}, text+fmt.Sprintf("go on: orch run %s\n", cli.Quote(epicID)))
	return nil
}
