// Package tasks is the commands on the tracker: orch tasks for the embedded one, orch task for one
// task of whichever is used.
package tasks

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/beadsorch/orch/beads"
	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/document"
	"github.com/beadsorch/orch/cmd/internal/explain"
	"github.com/beadsorch/orch/cmd/internal/workspace"
	"github.com/beadsorch/orch/orchestrator/text"
	"github.com/beadsorch/orch/orchestrator/tracker"
)

// tasksCmd is the commands of the embedded tracker.
type tasksCmd struct{ app *cli.Invocation }

// Tasks is the command orch tasks.
func Tasks(app *cli.Invocation) *cobra.Command {
	a := tasksCmd{app}
	c := &cobra.Command{
		Use:   "tasks",
		Short: "the embedded tracker: .beads/issues.jsonl, in beads' own format",
		Args:  cli.AtMost(0, "a verb"),
		RunE:  a.app.Group,
	}
	c.AddCommand(createCommand(a), listCommand(a), readyCommand(a), showCommand(a), updateCommand(a),
		closeCommand(a), depCommand(a), importCommand(a), exportCommand(a))
	return c
}

// taskFile opens the embedded tracker. Where bd keeps the tasks it refuses, so
// that there are never two truths.
func (a tasksCmd) taskFile(ctx context.Context) (*beads.File, error) {
	w, err := workspace.Read(ctx, a.app)
	if err != nil {
		return nil, err
	}
	if w.Project.Broken != nil && w.Project.Config.Tracker.Kind == "auto" && !w.HasFile() {
		return nil, w.Project.Broken // they may name another tracker
	}
	if _, hasBD, _ := beads.Find(w.Project.Root); hasBD && w.Project.Config.Tracker.Kind != "file" {
		return nil, &cli.Error{Code: "TRACKER_IS_BD", What: "the tasks here are kept by bd", Exit: cli.ExitNotReady,
			Fix: []string{"use bd itself", "or workflow.tracker.kind: file in project.yaml"}}
	}
	return w.Files()
}

func tasksError(err error) error {
	u := explain.Error(err)
	if u.Code != "UNEXPECTED" {
		return err
	}
	return &cli.Error{Code: "REFUSED", What: err.Error(), Exit: cli.ExitUsage, Err: err, Fix: []string{"orch tasks list"}}
}

// sayIssues prints issues: one line each, or the records themselves.
func (a tasksCmd) sayIssues(issues ...tracker.Issue) error {
	if a.app.JSON {
		cli.WriteJSON(a.app.Stdout, document.TasksOf(issues...))
		return nil
	}
	for _, i := range issues {
		fmt.Fprintln(a.app.Stdout, strings.TrimRight(fmt.Sprintf("%-12s %-12s P%d %-8s %s", text.Clause(i.ID, 64), i.Status, i.Priority, i.Type, text.Clause(i.Title, 200)), " "))
	}
	return nil
}

// all is every issue of the embedded tracker.
func (a tasksCmd) all(ctx context.Context) ([]tracker.Issue, error) {
	t, err := a.taskFile(ctx)
	if err != nil {
		return nil, err
	}
	return t.Survey(ctx)
}
