package tasks

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/beadsorch/orch/beads"
	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/document"
	"github.com/beadsorch/orch/orchestrator/tracker"
)

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
func (f *issueFlags) set(c *cobra.Command, i *tracker.Issue, stdin io.Reader) error {
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
		i.Status = tracker.Status(f.status)
	}
	return nil
}

func createCommand(a tasksCmd) *cobra.Command {
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
		i := tracker.Issue{ID: f.id, Title: args[0], Type: f.kind, Priority: f.priority}
		if err := f.set(c, &i, a.app.Stdin); err != nil {
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
		return a.sayIssues(made)
	}
	return c
}

func updateCommand(a tasksCmd) *cobra.Command {
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
		made, err := t.Update(c.Context(), args[0], func(i *tracker.Issue) error { return f.set(c, i, a.app.Stdin) })
		if err != nil {
			return tasksError(err)
		}
		return a.sayIssues(made)
	}
	return c
}

func closeCommand(a tasksCmd) *cobra.Command {
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
		a.app.Print(document.TaskClosed{Closed: args[0]}, args[0]+" closed\n")
		return nil
	}
	return c
}

func depCommand(a tasksCmd) *cobra.Command {
	c := &cobra.Command{Use: "dep", Short: "what waits for what", Args: cli.AtMost(0, "a verb"), RunE: a.app.Group}
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
	a.app.Print(document.DependencyChanged{Changed: said}, said+"\n")
	return nil
}
