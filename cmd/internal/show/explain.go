package show

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/document"
	"github.com/beadsorch/orch/orchestrator/reason"
)

// Explain is the command orch explain.
func Explain(a *cli.Invocation) *cobra.Command {
	return &cobra.Command{
		Use:   "explain [CODE]",
		Short: "what a code of a task, a run or an error means, and what to do",
		Args:  cli.AtMost(1, "at most one code"),
		RunE: func(_ *cobra.Command, args []string) error {
			list := cli.Codes()
			if len(args) == 1 {
				code := reason.Code(strings.ToUpper(strings.Trim(args[0], "[]")))
				if list = cli.CodesOf(code); len(list) == 0 {
					return &cli.Error{Code: "NOT_FOUND", What: args[0] + " is no code that orch prints", Exit: cli.ExitNotFound, Fix: []string{"orch explain lists them; for a task: orch status " + args[0]}}
				}
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
