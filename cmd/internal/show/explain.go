package show

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/document"
	"github.com/beadsorch/orch/orchestrator/epic"
)

// Explain is the command orch explain.
func Explain(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "explain [CODE]",
		Short: "what a reason code means, and what to do",
		Args:  cli.AtMost(1, "at most one reason code"),
		RunE: func(_ *cobra.Command, args []string) error {
			list := epic.Reasons()
			if len(args) == 1 {
				e, ok := epic.ReasonOf(epic.Code(strings.ToUpper(args[0])))
				if !ok {
					return &cli.Error{Code: "NOT_FOUND", What: args[0] + " is not a reason code", Exit: cli.ExitNotFound, Fix: []string{"orch explain lists them; for a task: orch status " + args[0]}}
				}
				list = []epic.Reason{e}
			}
			if a.JSON {
				cli.WriteJSON(a.Stdout, document.ExplainOf(list))
				return nil
			}
			for _, e := range list {
				fmt.Fprintf(a.Stdout, "%s\n  %s\n  do   %s\n", e.Code, e.Means, e.Do)
			}
			return nil
		},
	}
}
