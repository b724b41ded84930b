package setup

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/document"
	"github.com/beadsorch/orch/cmd/internal/workspace"
	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/epicstore"
	"github.com/beadsorch/orch/orchestrator/slug"
)

// Purge is the command orch purge.
func Purge(a *cli.Invocation) *cobra.Command {
	var p purge
	c := &cobra.Command{
		Use:   "purge (--task TASK | --before DATE)",
		Short: "forget what agents said and were told: last words, questions, feedback, logs, briefs, checkpoints",
		Long: `Purge removes texts that agents and gates have left with orch, of one task or of
the time before a date. It does not forget what stands in the journal itself: what
happened, titles of tasks, names of files, and of each longer text its first
clause. Work stays in git, also that of attempts which landed nowhere; the
tracker, and commits, are not orch's to forget. An epic that a run holds is refused,
and attempts that have not ended stay.`,
		Example: "  orch purge --task bd-a3f8.2 --dry-run\n  orch purge --before 2026-01-31",
		Args:    cli.AtMost(0, "--task or --before"),
		RunE:    func(c *cobra.Command, _ []string) error { return p.run(c.Context(), a) },
	}
	c.Flags().StringVar(&p.task, "task", "", "forget what is about this `task`")
	c.Flags().StringVar(&p.before, "before", "", "forget what is older than this `date`, as 2006-01-31 or with a time as in RFC 3339")
	c.Flags().BoolVarP(&p.dry, "dry-run", "n", false, "only say what would be removed")
	c.MarkFlagsMutuallyExclusive("task", "before")
	return c
}

// purge is the command's flags.
type purge struct {
	task, before string
	dry          bool
}

func (p purge) run(ctx context.Context, a *cli.Invocation) error {
	if p.task == "" && p.before == "" {
		return cli.Usage("say what is to be forgotten: --task TASK, or --before DATE")
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown host"
	}
	what := epicstore.Purge{DryRun: p.dry, Me: epicstore.Holder{PID: os.Getpid(), Host: host, Started: a.Now().UTC(), Command: "purge"}}
	var folders []string
	var w *workspace.Workspace
	if p.task != "" {
		view, t, err := workspace.LoadEpic(ctx, a, []string{p.task})
		if err != nil {
			return err
		}
		if t == nil {
			return cli.Usage("%s is an epic; name a task of it", epic.TaskID(p.task))
		}
		what.Task, w, folders = t.ID, view.Workspace, []string{view.Folder}
	} else {
		if what.Before, err = dateOf(p.before); err != nil {
			return cli.Usage("%q is no date; write one as 2006-01-31", p.before)
		}
		if w, err = workspace.Read(ctx, a); err != nil {
			return err
		}
		if folders, err = w.Epics(); err != nil {
			return err
		}
	}
	var sum epicstore.Purged
	for _, what.Dir = range folders {
		done, err := what.Do(ctx)
		if err != nil {
			return err
		}
		sum.Texts, sum.Attempts, sum.Others = sum.Texts+done.Texts, sum.Attempts+done.Attempts, sum.Others+done.Others
		sum.Bytes, sum.Inline, sum.Open = sum.Bytes+done.Bytes, sum.Inline+done.Inline, sum.Open+done.Open
	}
	if dir := filepath.Join(w.Project.Home, "iterations", slug.Of(string(what.Task))); what.Task != "" && cli.Exists(dir) {
		sum.Others++
		if !p.dry {
			if err := os.RemoveAll(dir); err != nil {
				return fmt.Errorf("forgetting the loop of %s: %w", what.Task, err)
			}
		}
	}
	p.say(a, sum)
	return nil
}

// dateOf is a day, which begins at midnight here, or a time.
func dateOf(text string) (time.Time, error) {
	if day, err := time.ParseInLocation(time.DateOnly, text, time.Local); err == nil {
		return day, nil
	}
	return time.Parse(time.RFC3339, text)
}

// notForgotten is what purge leaves, for the person to know.
const notForgotten = "not forgotten: the journal keeps what happened, with titles, names of files and the first clause of each text; git keeps the work, and the tracker its notes"

func (p purge) say(a *cli.Invocation, sum epicstore.Purged) {
	if a.JSON {
		cli.WriteJSON(a.Stdout, document.Purge{DryRun: p.dry, Removed: document.Purged(sum), NotForgotten: notForgotten})
		return
	}
	word := "removed"
	if p.dry {
		word = "would be removed"
	}
	fmt.Fprintf(a.Stdout, "%d %s, %d %s of attempts, %d %s: %d bytes %s\n", sum.Texts, cli.Plural(sum.Texts, "text", "texts"),
		sum.Attempts, cli.Plural(sum.Attempts, "folder", "folders"), sum.Others, cli.Plural(sum.Others, "other", "others"), sum.Bytes, word)
	if sum.Inline > 0 {
		fmt.Fprintf(a.Stdout, "%d %s in the journal itself, where an older orch wrote them, and stay\n", sum.Inline, cli.Plural(sum.Inline, "text stands", "texts stand"))
	}
	if sum.Open > 0 {
		fmt.Fprintf(a.Stdout, "%d %s not ended, and stay\n", sum.Open, cli.Plural(sum.Open, "attempt has", "attempts have"))
	}
	fmt.Fprintln(a.Stdout, notForgotten)
}
