package setup

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/document"
	"github.com/beadsorch/orch/cmd/internal/workspace"
	"github.com/beadsorch/orch/orchestrator/text"
)

// Config is the command orch config.
func Config(a *cli.Invocation) *cobra.Command {
	c := &cobra.Command{Use: "config", Short: "the settings in project.yaml, key workflow", Args: cli.AtMost(0, "a verb"),
		RunE: a.Group}
	c.AddCommand(&cobra.Command{
		Use:   "explain [KEY]",
		Short: "each setting, its value, and where that comes from",
		Args:  cli.AtMost(1, "at most one key"),
		RunE:  func(c *cobra.Command, args []string) error { return explainSettings(c.Context(), a, args) },
	})
	return c
}

func explainSettings(ctx context.Context, a *cli.Invocation, args []string) error {
	w, err := workspace.Read(ctx, a) // what can be read is explained
	if err != nil {
		return err
	}
	rows := []document.Setting{}
	for _, o := range w.Project.Origins {
		if len(args) == 0 || strings.HasPrefix(o.Key, args[0]) {
			rows = append(rows, document.Setting{Key: o.Key, Value: o.Value, From: o.From})
		}
	}
	if len(args) == 1 && args[0] == "protect" { // which adds to these
		rows = append(rows, document.Setting{Key: "protect", Value: "[" + strings.Join(workspace.AlwaysProtected(), ", ") + "]", From: "always"})
	}
	if len(rows) == 0 {
		return &cli.Error{Code: "NOT_FOUND", What: args[0] + " is not a setting", Exit: cli.ExitNotFound, Fix: []string{"orch config explain"}}
	}
	var body strings.Builder
	for _, r := range rows {
		value := r.Value
		if len(args) == 0 || len(rows) > 1 && args[0] != "protect" { // of one, all is shown
			value = text.Cut(value, 28)
		}
		fmt.Fprintf(&body, "%-36s %-28s %s\n", r.Key, value, r.From)
	}
	a.Print(document.Config{Settings: rows}, body.String())
	return nil
}
