package tasks

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/document"
	"github.com/beadsorch/orch/cmd/internal/workspace"
	"github.com/beadsorch/orch/orchestrator/checkpoint"
	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/text"
	"github.com/beadsorch/orch/orchestrator/tracker"
)

// taskCmd looks at one task of whichever tracker is used here, and says where it stands: what
// a model that works on it may do. It never closes one: work that lands does.
type taskCmd struct{ app *cli.Invocation }

// Task is the command orch task.
func Task(app *cli.Invocation) *cobra.Command {
	a := taskCmd{app}
	c := &cobra.Command{Use: "task", Short: "one task of the tracker here: get, update, store its work product", Args: cli.AtMost(0, "a verb"),
		RunE: a.app.Group}
	get := &cobra.Command{Use: "get ID", Short: "all of one task", Args: cli.Exactly(1, "a task"), RunE: func(c *cobra.Command, args []string) error { return a.get(c.Context(), args[0]) }}
	var status, note string
	update := &cobra.Command{Use: "update ID", Short: "say where a task stands: open, in_progress or blocked, with a note", Args: cli.Exactly(1, "a task"),
		RunE: func(c *cobra.Command, args []string) error { return a.update(c.Context(), args[0], status, note) }}
	update.Flags().StringVarP(&status, "status", "s", "", "open, in_progress or blocked")
	update.Flags().StringVarP(&note, "note", "m", "", "why, or how far it is")
	var p checkpoint.Product
	var file string
	store := &cobra.Command{Use: "store ID", Short: "keep a work product of a task: a report, a review, a plan", Args: cli.Exactly(1, "a task"),
		RunE: func(c *cobra.Command, args []string) error { return a.store(c.Context(), args[0], p, file) }}
	store.Flags().StringVar(&p.Type, "type", "other", "what kind of product")
	store.Flags().StringVar(&p.Title, "title", "", "its title")
	store.Flags().StringVar(&file, "file", "-", "the `file` with it; - is standard input")
	c.AddCommand(get, update, store)
	return c
}

func (a taskCmd) get(ctx context.Context, id string) error {
	w, err := workspace.Read(ctx, a.app)
	if err != nil {
		return err
	}
	issues, err := w.Survey(ctx)
	if err != nil {
		return workspace.TrackerError(err)
	}
	i, ok := tracker.NewIndex(issues).Issue(id)
	if !ok {
		return noTask(id)
	}
	a.app.Print(document.Task{Task: i}, issueText(i))
	return nil
}

func noTask(id string) error {
	return &cli.Error{Code: "NOT_FOUND", What: "no task " + epic.TaskID(id).String(), Exit: cli.ExitNotFound, Fix: []string{"orch tasks list --all, or bd list --all"}}
}

func (a taskCmd) update(ctx context.Context, id, status, note string) error {
	known := []string{string(tracker.StatusOpen), string(tracker.StatusInProgress), string(tracker.StatusBlocked)}
	if slices.Contains([]string{string(tracker.StatusClosed), "completed", "done"}, status) {
		return &cli.Error{Code: "NOT_CLOSED", What: "a task is closed when its work has landed, not by hand", Exit: cli.ExitUsage, Fix: []string{"orch land " + cli.Quote(epic.TaskID(id))}}
	}
	if !slices.Contains(known, status) {
		return &cli.Error{Code: "BAD_VALUE", What: fmt.Sprintf("%q is no status to set", text.Clause(status, 40)), Exit: cli.ExitUsage, Fix: []string{"--status " + strings.Join(known, ", or ")}}
	}
	w, err := workspace.Read(ctx, a.app)
	if err != nil {
		return err
	}
	t, err := w.Tracker(ctx)
	if err != nil {
		return workspace.TrackerError(err)
	}
	out, err := t.Apply(ctx, w.Person(), []tracker.Change{{ID: id, Kind: tracker.SetStatus, Status: tracker.Status(status), Note: a.app.Redact.String(note)}})
	if err == nil && len(out) == 1 {
		err = out[0].Err
	}
	if err != nil {
		return workspace.TrackerError(err)
	}
	a.app.Print(document.TaskUpdated{ID: id, Status: status, Updated: true}, fmt.Sprintf("%s is %s\n", epic.TaskID(id), status))
	return nil
}

// maxProduct bounds a work product, in bytes.
const maxProduct = 4 << 20

// store keeps a work product of a task.
func (a taskCmd) store(ctx context.Context, id string, p checkpoint.Product, file string) error {
	f, err := a.app.Open(file)
	if err != nil {
		return &cli.Error{Code: "NO_INPUT", What: "the work product cannot be read", Why: err.Error(), Exit: cli.ExitNotFound, Err: err}
	}
	defer f.Close()
	body, err := io.ReadAll(io.LimitReader(f, maxProduct+1))
	if err != nil {
		return fmt.Errorf("reading the work product: %w", err)
	}
	if len(body) == 0 || len(body) > maxProduct {
		return &cli.Error{Code: "BAD_VALUE", What: fmt.Sprintf("a work product has 1 to %d bytes", maxProduct), Exit: cli.ExitUsage}
	}
	w, err := workspace.Read(ctx, a.app)
	if err != nil {
		return err
	}
	at, err := w.FindWorkDir(ctx, id)
	if err != nil {
		return err
	}
	now := a.app.Now().UTC()
	p.ID, p.TaskID, p.Content, p.At = fmt.Sprintf("WP-%d", now.UnixNano()), id, a.app.Redact.String(strings.ToValidUTF8(string(body), "\ufffd")), now
	p.Type, p.Title = a.app.Redact.String(p.Type), a.app.Redact.String(p.Title)
	path, err := checkpoint.SaveProduct(at.LoopDir, p)
	if err != nil {
		return err
	}
	a.app.Print(document.Product{ID: p.ID, TaskID: id, Type: p.Type, Title: p.Title, Path: path, Bytes: len(p.Content)}, fmt.Sprintf("%s  %s\n", p.ID, path))
	return nil
}
