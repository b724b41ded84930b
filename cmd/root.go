package cmd

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/hooks"
	"github.com/beadsorch/orch/cmd/internal/iterate"
	"github.com/beadsorch/orch/cmd/internal/setup"
	"github.com/beadsorch/orch/cmd/internal/show"
	"github.com/beadsorch/orch/cmd/internal/tasks"
	"github.com/beadsorch/orch/cmd/internal/trust"
)

// newRoot builds the whole command line. All commands are listed here.
func newRoot(a *app) *cobra.Command {
	var dir string
	root := &cobra.Command{
		Use:           "orch",
		Short:         "orch runs an epic of tasks with parallel coding agents in git worktrees",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return unknownCommand(c, args[0])
		},
		RunE: func(c *cobra.Command, _ []string) error { return a.intro(c) },
		PersistentPreRunE: func(c *cobra.Command, args []string) error {
			if err := cli.CheckValues(c); err != nil && !a.App.Served { // whose values are a model's words
				return err
			}
			if info, err := os.Stat(dir); dir != "" && (err != nil || !info.IsDir()) {
				return cli.Usage("-C %s: there is no such folder", dir)
			}
			if dir != "" {
				a.App.Dir = dir
			}
			return a.onlyPersons(c.Context(), c, args)
		},
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return cli.Usage("%s", err) })
	root.PersistentFlags().BoolVar(&a.App.JSON, "json", false, "print one JSON document instead of text")
	root.PersistentFlags().StringVarP(&dir, "dir", "C", "", "work in the repository that holds this `folder`")
	attempt := func(ctx context.Context, dir string) bool { _, inside := a.inside(ctx, dir); return inside }
	root.AddCommand(
		newDemoCmd(demoCmd{a}), setup.Init(a.App), trust.Command(a.App), show.Plan(a.App), newRunCmd(a), newWatchCmd(a), show.Status(a.App),
		show.Logs(a.App), show.Diff(a.App), show.Events(a.App), show.Explain(a.App),
		newRetryCmd(a), newSkipCmd(a), newAnswerCmd(a), newPauseCmd(a), newContinueCmd(a), newStopCmd(a), newEpicCmd(a),
		newNextCmd(a), newLandCmd(a), newVerifyCmd(a),
		hooks.StopHook(a.App, attempt), hooks.SessionStart(a.App, attempt), hooks.SessionEnd(a.App, attempt), hooks.SessionPrompt(a.App, attempt), hooks.Session(a.App), hooks.Loop(a.App), hooks.Hook(a.App),
		tasks.Tasks(a.App), tasks.Task(a.App), show.Stats(a.App), newMCPCmd(a), setup.Doctor(a.App), setup.Sandbox(a.App), setup.GC(a.App), setup.Purge(a.App), setup.Config(a.App), newVersionCmd(a),
		iterate.Iteration(a.App, hooks.Of), iterate.Checkpoint(a.App, hooks.Of),
	)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	a.answerInText(root)
	cli.RefuseArgs(root)
	return root
}

// intro is for a person who has only typed orch.
func (a *app) intro(c *cobra.Command) error {
	if a.App.JSON {
		return a.App.Group(c, nil)
	}
	fmt.Fprint(a.App.Stdout, `orch runs an epic of tasks with parallel coding agents in git worktrees.

  orch demo              watch it work: about 15 seconds, no account, no network
  orch plan EPIC         what it would do here
  orch run EPIC          do it; run it again to resume
  orch status            what needs you, why, and what to do
  orch help              everything else
`)
	return nil
}

// unknownCommand says what may have been meant.
func unknownCommand(c *cobra.Command, word string) error {
	u := &cli.Error{Code: "USAGE", What: "no command " + word, Exit: cli.ExitUsage, Fix: []string{"orch help"}}
	if near := c.SuggestionsFor(word); len(near) > 0 {
		u.Fix = []string{"did you mean orch " + near[0] + "?"}
	}
	return u
}
