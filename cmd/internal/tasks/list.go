package tasks

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/orchestrator/text"
	"github.com/beadsorch/orch/orchestrator/tracker"
)

func listCommand(a tasksCmd) *cobra.Command {
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
		x := tracker.NewIndex(issues)
		below := map[string]bool{}
		for _, id := range x.Descendants(parent) {
			below[id] = true
		}
		var out []tracker.Issue
		for _, i := range issues {
			closed := i.Status == tracker.StatusClosed
			if closed && !all && status != "closed" || status != "" && string(i.Status) != status || kind != "" && i.Type != kind || parent != "" && !below[i.ID] {
				continue
			}
			out = append(out, i)
		}
		return a.sayIssues(out...)
	}
	return c
}

func readyCommand(a tasksCmd) *cobra.Command {
	var parent string
	c := &cobra.Command{Use: "ready", Short: "the tasks that nothing blocks, as the tracker has them", Args: cli.AtMost(0, "no argument"),
		Long: `Ready lists what nothing blocks by the tracker's own rules, in all epics: the epics
themselves too, and without a word of what orch knows. What agents and sessions
may begin in an epic is what orch status shows as ready, and orch next hands out.`}
	c.Flags().StringVar(&parent, "parent", "", "only below this epic")
	c.RunE = func(c *cobra.Command, _ []string) error {
		issues, err := a.all(c.Context())
		if err != nil {
			return err
		}
		return a.sayIssues(tracker.NewIndex(issues).Ready(tracker.Filter{Parent: parent}, a.app.Now())...)
	}
	return c
}

func showCommand(a tasksCmd) *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Short: "all of one task", Args: cli.Exactly(1, "an id"),
		RunE: func(c *cobra.Command, args []string) error {
			issues, err := a.all(c.Context())
			if err != nil {
				return err
			}
			i, ok := tracker.NewIndex(issues).Issue(args[0])
			if !ok {
				return &cli.Error{Code: "NOT_FOUND", What: "no task " + args[0], Exit: cli.ExitNotFound, Fix: []string{"orch tasks list --all"}}
			}
			if a.app.JSON {
				return a.sayIssues(i)
			}
			fmt.Fprint(a.app.Stdout, issueText(i))
			return nil
		},
	}
}

func issueText(i tracker.Issue) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s\n%s, P%d, %s\n", text.Clause(i.ID, 64), text.Clause(i.Title, 200), i.Status, i.Priority, i.Type)
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
