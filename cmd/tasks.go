package cmd

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/beadsorch/orch/beads"
	"github.com/beadsorch/orch/cmd/cli"
	"github.com/beadsorch/orch/cmd/workspace"
	"github.com/beadsorch/orch/orchestrator/harness"
)

// tasksCmd is the commands of the embedded tracker.
type tasksCmd struct{ *app }

// newTasksCmd is the command of the embedded tracker.
func newTasksCmd(a tasksCmd) *cobra.Command {
	c := &cobra.Command{
		Use:   "tasks",
		Short: "the embedded tracker: .beads/issues.jsonl, in beads' own format",
		Args:  cli.AtMost(0, "a verb"),
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newTasksCreateCmd(a), newTasksListCmd(a), newTasksReadyCmd(a), newTasksShowCmd(a), newTasksUpdateCmd(a),
		newTasksCloseCmd(a), newTasksDepCmd(a), newTasksImportCmd(a), newTasksExportCmd(a))
	return c
}

// taskFile opens the embedded tracker. Where bd keeps the tasks it refuses, so
// that there are never two truths.
func (a tasksCmd) taskFile(ctx context.Context) (*beads.File, error) {
	w, err := workspace.Open(ctx, a.App)
	if err != nil {
		return nil, err
	}
	if _, hasBD, _ := beads.Find(w.Root); hasBD && w.Config.Tracker.Kind != "file" {
		return nil, &cli.Error{Code: "TRACKER_IS_BD", What: "the tasks here are kept by bd", Exit: cli.ExitNotReady,
			Fix: []string{"use bd itself", "or workflow.tracker.kind: file in project.yaml"}}
	}
	return w.Files()
}

// issueFlags are the fields of an issue that create and update take.
type issueFlags struct {
	title, kind, about, design, acceptance, notes, parent, status, assignee string
	priority                                                                int
	labels, deps                                                            []string
	id                                                                      string
	estimate                                                                int
}

func (f *issueFlags) add(c *cobra.Command) {
	c.Flags().StringVarP(&f.about, "description", "d", "", "what is to be done; - reads standard input")
	c.Flags().StringVar(&f.design, "design", "", "how")
	c.Flags().StringVar(&f.acceptance, "acceptance", "", "when it is done")
	c.Flags().StringVar(&f.notes, "notes", "", "anything else")
	c.Flags().IntVarP(&f.priority, "priority", "p", 2, "0 (urgent) to 4")
	c.Flags().StringSliceVarP(&f.labels, "labels", "l", nil, "labels; agent:NAME names the agent")
	c.Flags().IntVarP(&f.estimate, "estimate", "e", 0, "minutes")
	c.Flags().StringVarP(&f.assignee, "assignee", "a", "", "who does it")
}

// set puts the flags that were given into the issue.
func (f *issueFlags) set(c *cobra.Command, i *beads.Issue, stdin io.Reader) error {
	if f.about == "-" {
		b, err := io.ReadAll(io.LimitReader(stdin, 1<<20))
		if err != nil {
			return fmt.Errorf("reading the description: %w", err)
		}
		f.about = string(b)
	}
	text := map[string]struct {
		to   *string
		from string
	}{
		"description": {&i.Description, f.about}, "design": {&i.Design, f.design}, "acceptance": {&i.AcceptanceCriteria, f.acceptance},
		"notes": {&i.Notes, f.notes}, "assignee": {&i.Assignee, f.assignee}, "title": {&i.Title, f.title}, "type": {&i.Type, f.kind},
	}
	for name, v := range text {
		if c.Flags().Changed(name) {
			*v.to = v.from
		}
	}
	if c.Flags().Changed("priority") {
		i.Priority = f.priority
	}
	if c.Flags().Changed("labels") {
		i.Labels = f.labels
	}
	if c.Flags().Changed("estimate") {
		i.EstimatedMinutes = f.estimate
	}
	if c.Flags().Changed("status") {
		i.Status = beads.Status(f.status)
	}
	return nil
}

func newTasksCreateCmd(a tasksCmd) *cobra.Command {
	var f issueFlags
	c := &cobra.Command{
		Use:     "create TITLE",
		Short:   "make a task, or an epic with --type epic",
		Example: "  orch tasks create \"Passwordless login\" --type epic\n  orch tasks create \"Token format\" --parent or-k3f --deps or-k3f.1",
		Args:    cli.Exactly(1, "a title"),
	}
	f.add(c)
	c.Flags().StringVarP(&f.kind, "type", "t", "task", "task, bug, feature, chore or epic")
	c.Flags().StringVar(&f.parent, "parent", "", "the epic that it belongs to")
	c.Flags().StringSliceVar(&f.deps, "deps", nil, "what must be done first")
	c.Flags().StringVar(&f.id, "id", "", "its id; made up by default")
	c.RunE = func(c *cobra.Command, args []string) error {
		t, err := a.taskFile(c.Context())
		if err != nil {
			return err
		}
		i := beads.Issue{ID: f.id, Title: args[0], Type: f.kind, Priority: f.priority}
		if err := f.set(c, &i, a.Stdin); err != nil {
			return err
		}
		i.Type = f.kind
		made, err := t.Create(c.Context(), i, f.parent)
		if err != nil {
			return tasksError(err)
		}
		for _, dep := range f.deps {
			if err := t.AddDependency(c.Context(), made.ID, dep, "blocks"); err != nil {
				return tasksError(fmt.Errorf("%s was made, but not what it waits for: %w", made.ID, err))
			}
		}
		return a.sayIssues("orch.tasks/1", []beads.Issue{made})
	}
	return c
}

func tasksError(err error) error {
	u := cli.Explain(err)
	if u.Code != "UNEXPECTED" {
		return err
	}
	return &cli.Error{Code: "REFUSED", What: err.Error(), Exit: cli.ExitUsage, Err: err, Fix: []string{"orch tasks list"}}
}

// sayIssues prints issues: one line each, or the records themselves.
func (a tasksCmd) sayIssues(schema string, issues []beads.Issue) error {
	if a.JSON {
		if issues == nil {
			issues = []beads.Issue{}
		}
		cli.WriteJSON(a.Stdout, map[string]any{"schema": schema, "issues": issues})
		return nil
	}
	for _, i := range issues {
		fmt.Fprintln(a.Stdout, strings.TrimRight(fmt.Sprintf("%-12s %-12s P%d %-8s %s", harness.Clause(i.ID, 64), i.Status, i.Priority, i.Type, harness.Clause(i.Title, 200)), " "))
	}
	return nil
}

func newTasksListCmd(a tasksCmd) *cobra.Command {
	var all bool
	var status, kind, parent string
	c := &cobra.Command{Use: "list", Short: "the tasks that are not closed", Args: cli.AtMost(0, "no argument")}
	c.Flags().BoolVar(&all, "all", false, "the closed ones too")
	c.Flags().StringVar(&status, "status", "", "only of this status")
	c.Flags().StringVarP(&kind, "type", "t", "", "only of this type")
	c.Flags().StringVar(&parent, "parent", "", "only below this epic")
	c.RunE = func(c *cobra.Command, _ []string) error {
		issues, err := a.all(c.Context())
		if err != nil {
			return err
		}
		x := beads.NewIndex(issues)
		below := map[string]bool{}
		for _, id := range x.Descendants(parent) {
			below[id] = true
		}
		var out []beads.Issue
		for _, i := range issues {
			closed := i.Status == beads.StatusClosed
			if closed && !all && status != "closed" || status != "" && string(i.Status) != status || kind != "" && i.Type != kind || parent != "" && !below[i.ID] {
				continue
			}
			out = append(out, i)
		}
		return a.sayIssues("orch.tasks/1", out)
	}
	return c
}

func newTasksReadyCmd(a tasksCmd) *cobra.Command {
	var parent string
	c := &cobra.Command{Use: "ready", Short: "the tasks that nothing blocks", Args: cli.AtMost(0, "no argument")}
	c.Flags().StringVar(&parent, "parent", "", "only below this epic")
	c.RunE = func(c *cobra.Command, _ []string) error {
		issues, err := a.all(c.Context())
		if err != nil {
			return err
		}
		return a.sayIssues("orch.tasks/1", beads.NewIndex(issues).Ready(beads.Filter{Parent: parent}, a.Now()))
	}
	return c
}

func newTasksShowCmd(a tasksCmd) *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Short: "all of one task", Args: cli.Exactly(1, "an id"),
		RunE: func(c *cobra.Command, args []string) error {
			issues, err := a.all(c.Context())
			if err != nil {
				return err
			}
			i, ok := beads.NewIndex(issues).Issue(args[0])
			if !ok {
				return &cli.Error{Code: "NOT_FOUND", What: "no task " + args[0], Exit: cli.ExitNotFound, Fix: []string{"orch tasks list --all"}}
			}
			if a.JSON {
				return a.sayIssues("orch.tasks/1", []beads.Issue{i})
			}
			fmt.Fprint(a.Stdout, issueText(i))
			return nil
		},
	}
}

func issueText(i beads.Issue) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s\n%s, P%d, %s\n", harness.Clause(i.ID, 64), harness.Clause(i.Title, 200), i.Status, i.Priority, i.Type)
	for _, part := range [][2]string{{"description", i.Description}, {"design", i.Design}, {"acceptance", i.AcceptanceCriteria}, {"notes", i.Notes}, {"assignee", i.Assignee}, {"closed", i.CloseReason}, {"labels", strings.Join(i.Labels, ", ")}} {
		if part[1] != "" {
			fmt.Fprintf(&b, "\n%s\n  %s\n", part[0], strings.ReplaceAll(strings.TrimSpace(part[1]), "\n", "\n  "))
		}
	}
	for _, d := range i.Dependencies {
		fmt.Fprintf(&b, "\n%s %s", d.Type, d.DependsOnID)
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

func newTasksUpdateCmd(a tasksCmd) *cobra.Command {
	var f issueFlags
	c := &cobra.Command{Use: "update ID", Short: "change a task's fields", Args: cli.Exactly(1, "an id")}
	f.add(c)
	c.Flags().StringVar(&f.title, "title", "", "its title")
	c.Flags().StringVarP(&f.kind, "type", "t", "", "task, bug, feature, chore or epic")
	c.Flags().StringVarP(&f.status, "status", "s", "", "open, in_progress, blocked, deferred")
	c.RunE = func(c *cobra.Command, args []string) error {
		t, err := a.taskFile(c.Context())
		if err != nil {
			return err
		}
		made, err := t.Update(c.Context(), args[0], func(i *beads.Issue) error { return f.set(c, i, a.Stdin) })
		if err != nil {
			return tasksError(err)
		}
		return a.sayIssues("orch.tasks/1", []beads.Issue{made})
	}
	return c
}

func newTasksCloseCmd(a tasksCmd) *cobra.Command {
	var reason string
	var force bool
	c := &cobra.Command{Use: "close ID", Short: "close a task by hand", Args: cli.Exactly(1, "an id")}
	c.Flags().StringVarP(&reason, "reason", "r", "closed by a person", "why")
	c.Flags().BoolVar(&force, "force", false, "although something blocks it")
	c.RunE = func(c *cobra.Command, args []string) error {
		t, err := a.taskFile(c.Context())
		if err != nil {
			return err
		}
		if err := t.CloseIssue(c.Context(), args[0], reason, force); err != nil {
			return tasksError(err)
		}
		if !a.JSON {
			fmt.Fprintf(a.Stdout, "%s closed\n", args[0])
			return nil
		}
		cli.WriteJSON(a.Stdout, map[string]any{"schema": "orch.tasks/1", "closed": args[0]})
		return nil
	}
	return c
}

func newTasksDepCmd(a tasksCmd) *cobra.Command {
	c := &cobra.Command{Use: "dep", Short: "what waits for what", Args: cli.AtMost(0, "a verb"), RunE: func(c *cobra.Command, _ []string) error { return c.Help() }}
	var kind string
	add := &cobra.Command{Use: "add ID ON", Short: "ID waits for ON", Args: cli.Exactly(2, "two ids")}
	add.Flags().StringVarP(&kind, "type", "t", "blocks", "blocks, parent-child, related, ...")
	add.RunE = func(c *cobra.Command, args []string) error {
		return a.changeDep(c.Context(), func(t *beads.File) error { return t.AddDependency(c.Context(), args[0], args[1], kind) }, args[0]+" waits for "+args[1])
	}
	remove := &cobra.Command{Use: "remove ID ON", Short: "ID no longer waits for ON", Args: cli.Exactly(2, "two ids")}
	remove.RunE = func(c *cobra.Command, args []string) error {
		return a.changeDep(c.Context(), func(t *beads.File) error { return t.RemoveDependency(c.Context(), args[0], args[1]) }, args[0]+" no longer waits for "+args[1])
	}
	c.AddCommand(add, remove)
	return c
}

func (a tasksCmd) changeDep(ctx context.Context, change func(*beads.File) error, said string) error {
	t, err := a.taskFile(ctx)
	if err != nil {
		return err
	}
	if err := change(t); err != nil {
		return tasksError(err)
	}
	if a.JSON {
		cli.WriteJSON(a.Stdout, map[string]any{"schema": "orch.tasks/1", "changed": said})
		return nil
	}
	fmt.Fprintln(a.Stdout, said)
	return nil
}

// maxImport bounds what is imported, in bytes.
const maxImport = 256 << 20

func newTasksImportCmd(a tasksCmd) *cobra.Command {
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
			if a.JSON {
				cli.WriteJSON(a.Stdout, map[string]any{"schema": "orch.tasks/1", "created": created, "updated": updated})
				return nil
			}
			fmt.Fprintf(a.Stdout, "%d created, %d updated\n", created, updated)
			return nil
		},
	}
}

// all is every issue of the embedded tracker.
func (a tasksCmd) all(ctx context.Context) ([]beads.Issue, error) {
	t, err := a.taskFile(ctx)
	if err != nil {
		return nil, err
	}
	return t.Survey(ctx)
}

// readInput reads issues; - is standard input.
func (a tasksCmd) readInput(name string) ([]byte, error) {
	f, err := a.Open(name)
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

func newTasksExportCmd(a tasksCmd) *cobra.Command {
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
			_, err = a.Stdout.Write(b)
			return err
		},
	}
}
