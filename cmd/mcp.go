package cmd

import (
	"bytes"
	"context"

	"github.com/spf13/cobra"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/mcp"
)

func newMCPCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "mcp",
		Short: "serve orch's commands to a model, as tools of the Model Context Protocol",
		Long: `Mcp speaks the Model Context Protocol on standard input and output. Its tools are
the commands orch iteration, checkpoint, hook, task, next, land, status and stats: a
client without the protocol has all of them there.`,
		Example: "  claude mcp add orch -- orch mcp",
		Args:    cli.AtMost(0, "no argument"),
		RunE: func(c *cobra.Command, _ []string) error {
			v, _ := cli.Version()
			return mcp.Serve(c.Context(), a.App.Stdin, a.App.Stdout, v, a.call)
		},
	}
}

// call runs another command of orch, as if it had been typed in the same place.
func (a *app) call(ctx context.Context, args []string, stdin []byte) (document []byte, exit int) {
	var out bytes.Buffer
	p := a.App.Process
	p.Args = append([]string{"orch"}, args...)
	p.Stdin, p.Stdout, p.Served = bytes.NewReader(stdin), &out, true
	exit = run(ctx, p, a.faults)
	return out.Bytes(), exit
}
