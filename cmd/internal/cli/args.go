package cli

import "github.com/spf13/cobra"

// AtMost takes up to n arguments; what names them for the [Usage] error of more.
func AtMost(n int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) > n {
			return Usage("%s takes %s: %s", c.CommandPath(), what, c.UseLine())
		}
		return nil
	}
}

// Exactly takes n arguments; what names them for the [Usage] error of others.
func Exactly(n int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) != n {
			return Usage("%s takes %s: %s", c.CommandPath(), what, c.UseLine())
		}
		return nil
	}
}
