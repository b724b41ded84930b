package cmd

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/document"
)

func newVersionCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "which orch this is",
		Args:  cli.AtMost(0, "no argument"),
		RunE: func(*cobra.Command, []string) error {
			v, commit := cli.Version()
			a.App.Print(document.Version{Version: v, Commit: commit}, strings.TrimSpace("orch "+v+" "+commit)+"\n")
			return nil
		},
	}
}
