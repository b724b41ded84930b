package cmd

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/beadsorch/orch/cmd/cli"
)

func (a *app) intro() error {
	fmt.Fprint(a.Stdout, `orch runs an epic of tasks with parallel coding agents in git worktrees.

  orch demo              watch it work: about 15 seconds, no account, no network
  orch plan EPIC         what it would do here
  orch run EPIC          do it; run it again to resume
  orch status            what needs you, why, and what to do
  orch help              everything else
`)
	return nil
}

func newVersionCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "which orch this is",
		Args:  cli.AtMost(0, "no argument"),
		RunE: func(*cobra.Command, []string) error {
			v, commit := cli.Version()
			if a.JSON {
				cli.WriteJSON(a.Stdout, map[string]any{"schema": "orch.version/1", "version": v, "commit": commit})
				return nil
			}
			fmt.Fprintln(a.Stdout, strings.TrimSpace("orch "+v+" "+commit))
			return nil
		},
	}
}
