package tasks

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/beadsorch/orch/beads"
	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/document"
)

// maxImport bounds what is imported, in bytes.
const maxImport = 256 << 20

func importCommand(a tasksCmd) *cobra.Command {
	return &cobra.Command{
		Use: "import FILE", Short: "take in issues from beads' JSONL (bd export); - is standard input", Args: cli.Exactly(1, "a file"),
		RunE: func(c *cobra.Command, args []string) error {
			t, err := a.taskFile(c.Context())
			if err != nil {
				return err
			}
			b, err := a.readInput(args[0])
			if err != nil {
				return err
			}
			issues, err := beads.ParseJSONL(b)
			if err != nil {
				return &cli.Error{Code: "BAD_INPUT", What: args[0] + ": " + err.Error(), Exit: cli.ExitUsage, Err: err, Why: "nothing was imported", Fix: []string{"bd export -o FILE writes what import reads"}}
			}
			created, updated, err := t.Import(c.Context(), issues)
			if err != nil {
				return tasksError(err)
			}
			a.app.Print(document.TasksImported{Created: created, Updated: updated}, fmt.Sprintf("%d created, %d updated\n", created, updated))
			return nil
		},
	}
}

// readInput reads issues; - is standard input.
func (a tasksCmd) readInput(name string) ([]byte, error) {
	f, err := a.app.Open(name)
	if err != nil {
		return nil, &cli.Error{Code: "BAD_INPUT", What: err.Error(), Exit: cli.ExitUsage, Err: err}
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxImport))
	if err != nil {
		return nil, &cli.Error{Code: "BAD_INPUT", What: err.Error(), Exit: cli.ExitUsage, Err: err}
	}
	return b, nil
}

func exportCommand(a tasksCmd) *cobra.Command {
	return &cobra.Command{
		Use: "export", Short: "all issues as beads' JSONL, for bd import", Args: cli.AtMost(0, "no argument"),
		RunE: func(c *cobra.Command, _ []string) error {
			t, err := a.taskFile(c.Context())
			if err != nil {
				return err
			}
			b, err := t.Export(c.Context())
			if err != nil {
				return err
			}
			_, err = a.app.Stdout.Write(b)
			return err
		},
	}
}
