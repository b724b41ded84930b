package setup

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/beadsorch/orch/cmd/cli"
	"github.com/beadsorch/orch/cmd/workspace"
	"github.com/beadsorch/orch/orchestrator"
)

// GC is the command orch gc.
func GC(a *cli.App) *cobra.Command {
	var dry bool
	c := &cobra.Command{
		Use:   "gc [EPIC]",
		Short: "remove worktrees, branches and logs of what is finished; work that landed nowhere stays reachable",
		Args:  cli.AtMost(1, "at most one epic"),
		RunE:  func(c *cobra.Command, args []string) error { return collect(c.Context(), a, args, dry) },
	}
	c.Flags().BoolVarP(&dry, "dry-run", "n", false, "only say what would be removed")
	return c
}

func collect(ctx context.Context, a *cli.App, args []string, dry bool) error {
	p, _, err := workspace.Look(ctx, a, args)
	if err != nil {
		return err
	}
	if p.Held {
		return &orchestrator.HeldError{Epic: p.State.Epic, Holder: p.Holder}
	}
	store, err := p.Store(p.State.Epic)
	if err != nil {
		return err
	}
	var said []string
	for _, t := range p.State.Tasks {
		for _, at := range t.Attempts {
			n := store.Name(string(t.ID), at.Number)
			if at.Open() || !store.Exists(string(t.ID), at.Number) {
				continue
			}
			said = append(said, n.Dir)
			if dry {
				continue
			}
			if err := store.Remove(ctx, string(t.ID), at.Number, at.Head); err != nil {
				return err
			}
		}
		if t.Done() {
			if logs := filepath.Dir(orchestrator.AttemptDir(p.Folder, t.ID, 1)); cli.Exists(logs) {
				said = append(said, logs)
				if !dry {
					if err := orchestrator.RemoveLogs(p.Folder, logs); err != nil {
						return fmt.Errorf("removing logs: %w", err)
					}
				}
			}
		}
	}
	if !dry {
		if err := store.Close(ctx); err != nil {
			return err
		}
	}
	if a.JSON {
		cli.WriteJSON(a.Stdout, map[string]any{"schema": "orch.gc/1", "epic": p.State.Epic, "dry_run": dry, "removed": said})
		return nil
	}
	for _, path := range said {
		fmt.Fprintln(a.Stdout, path)
	}
	word := "removed"
	if dry {
		word = "would be removed"
	}
	fmt.Fprintf(a.Stdout, "%d %s; commits that landed nowhere stay below refs/orch\n", len(said), word)
	return nil
}
