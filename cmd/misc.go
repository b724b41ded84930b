package cmd

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/beadsorch/orch/cmd/cli"
	"github.com/beadsorch/orch/cmd/workspace"
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

func newConfigCmd(a *app) *cobra.Command {
	c := &cobra.Command{Use: "config", Short: "the settings in project.yaml, key workflow", Args: cli.AtMost(0, "a verb"),
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() }}
	c.AddCommand(&cobra.Command{
		Use:   "explain [KEY]",
		Short: "each setting, its value, and where that comes from",
		Args:  cli.AtMost(1, "at most one key"),
		RunE:  func(c *cobra.Command, args []string) error { return a.explainConfig(c.Context(), args) },
	})
	return c
}

func (a *app) explainConfig(ctx context.Context, args []string) error {
	w, err := workspace.Open(ctx, a.App)
	if err != nil {
		return err
	}
	shown := 0
	rows := []map[string]string{}
	for _, o := range w.Origins {
		if len(args) == 1 && !strings.HasPrefix(o.Key, args[0]) {
			continue
		}
		shown++
		rows = append(rows, map[string]string{"key": o.Key, "value": o.Value, "from": o.From})
		if !a.JSON {
			fmt.Fprintf(a.Stdout, "%-36s %-28s %s\n", o.Key, cli.Clip(o.Value, 28), o.From)
		}
	}
	if shown == 0 {
		return &cli.Error{Code: "NOT_FOUND", What: args[0] + " is not a setting", Exit: cli.ExitNotFound, Fix: []string{"orch config explain"}}
	}
	if a.JSON {
		cli.WriteJSON(a.Stdout, map[string]any{"schema": "orch.config/1", "settings": rows})
	}
	return nil
}
