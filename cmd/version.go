package cmd

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/beadsorch/orch/cmd/internal/cli"
)

func newVersionCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "which orch this is",
		Args:  cli.AtMost(0, "no argument"),
		RunE: func(*cobra.Command, []string) error {
			v, commit := cli.Version()
			a.Print(map[string]any{"schema": "orch.version/1", "version": v, "commit": commit}, strings.TrimSpace("orch "+v+" "+commit)+"\n")
			return nil
		},
	}
}
