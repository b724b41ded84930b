package cmd

import (
	"bytes"
	"io"

	"github.com/spf13/cobra"

	"github.com/beadsorch/orch/cmd/internal/document"
)

// answerInText has the commands whose answer is a text, cobra's own, print it as a document where one is asked for.
func (a *app) answerInText(root *cobra.Command) {
	help := root.HelpFunc()
	root.SetHelpFunc(func(c *cobra.Command, args []string) {
		if !a.App.JSON {
			help(c, args)
			return
		}
		var body bytes.Buffer
		c.SetOut(&body)
		help(c, args)
		c.SetOut(nil)
		a.App.Print(document.Text{Command: c.CommandPath(), Text: body.String()}, "")
	})
	scripts := map[string]func(w io.Writer, descriptions bool) error{
		"bash": root.GenBashCompletionV2,
		"fish": root.GenFishCompletion,
		"zsh": func(w io.Writer, descriptions bool) error {
			if descriptions {
				return root.GenZshCompletion(w)
			}
			return root.GenZshCompletionNoDesc(w)
		},
		"powershell": func(w io.Writer, descriptions bool) error {
			if descriptions {
				return root.GenPowerShellCompletionWithDesc(w)
			}
			return root.GenPowerShellCompletion(w)
		},
	}
	for _, c := range commandsOf(root, "completion") {
		script, ok := scripts[c.Name()]
		if !ok {
			continue
		}
		c.RunE = func(c *cobra.Command, _ []string) error {
			plain, err := c.Flags().GetBool("no-descriptions")
			var body bytes.Buffer
			if err == nil {
				err = script(&body, !plain)
			}
			if err == nil {
				a.App.Print(document.Text{Command: c.CommandPath(), Text: body.String()}, body.String())
			}
			return err
		}
	}
}

// commandsOf are the commands of a group.
func commandsOf(root *cobra.Command, group string) []*cobra.Command {
	for _, c := range root.Commands() {
		if c.Name() == group {
			return c.Commands()
		}
	}
	return nil
}
