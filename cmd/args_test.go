package cmd

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/cmd/internal/cli"
)

// commandsBelow are a command and all below it.
func commandsBelow(c *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{c}
	for _, sub := range c.Commands() {
		all = append(all, commandsBelow(sub)...)
	}
	return all
}

// TestArguments: each command refuses more and fewer arguments than its use line names, as USAGE, and a
// group without a verb is refused where a program asks.
func TestArguments(t *testing.T) {
	t.Parallel()
	a := &app{App: &cli.Invocation{}}
	root := newRoot(a)
	a.App.JSON = true
	for _, c := range commandsBelow(root) {
		if !c.Runnable() || c.Name() == "help" || c.CommandPath() == "orch sandbox try" { // which takes a command line
			continue
		}
		wrong := [][]string{make([]string, 20)}
		for _, word := range strings.Fields(c.Use)[1:] {
			if word[0] >= 'A' && word[0] <= 'Z' && !strings.Contains(c.Use, "--") {
				wrong = append(wrong, nil)
				break
			}
		}
		for _, args := range wrong {
			err := c.ValidateArgs(args)
			var said *cli.Error
			require.ErrorAs(t, err, &said, "%s with %d arguments", c.CommandPath(), len(args))
			require.Equal(t, "USAGE", said.Code, c.CommandPath())
			require.Equal(t, cli.ExitUsage, said.Exit, c.CommandPath())
		}
		if c.HasSubCommands() && c.Name() != "demo" && c.Name() != "completion" {
			var said *cli.Error
			require.ErrorAs(t, c.RunE(c, nil), &said, c.CommandPath())
			require.Equal(t, "USAGE", said.Code, c.CommandPath())
		}
	}
}
