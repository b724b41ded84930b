package show

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/document"
	"github.com/beadsorch/orch/cmd/internal/explain"
	"github.com/beadsorch/orch/cmd/internal/workspace"
	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/reason"
	"github.com/beadsorch/orch/orchestrator/text"
	"github.com/beadsorch/orch/orchestrator/tracker"
)

// Plan is the command orch plan.
func Plan(a *cli.Invocation) *cobra.Command {
	return &cobra.Command{
		Use:   "plan EPIC",
		Short: "waves, critical path and problems of an epic; starts nothing",
		Args:  cli.Exactly(1, "an epic"),
		RunE:  func(c *cobra.Command, args []string) error { return plan(c.Context(), a, epic.TaskID(args[0])) },
	}
}

func plan(ctx context.Context, a *cli.Invocation, epicID epic.TaskID) error {
	w, err := workspace.Open(ctx, a)
	if err != nil && (w == nil || !errors.Is(err, w.Project.Broken)) {
		return err
	}
	found, err := w.FindEpic(ctx, epicID)
	if err != nil {
		return workspace.WithPromise(ctx, a, string(epicID), err)
	}
	p, err := w.CurrentView(ctx, epicID, found.Issues)
	if err != nil {
		return err
	}
	plan, sum := epic.PlanOf(p.State, found.Issues, a.Now()), epic.Summarize(p.State, a.Now())
	plan.Problems = append(plan.Problems, problems(w)...)
	if a.JSON {
		doc := document.Plan{Epic: epicID, Title: found.Issue.Title, Tracker: found.Tracker.Name(), Plan: plan, Counts: sum.Counts, Promise: sum.Promise, Code: sum.Code, Reason: sum.Reason}
		if w.Project.Broken != nil {
			doc.SettingsBroken = explain.Error(w.Project.Broken).What
		}
		cli.WriteJSON(a.Stdout, doc)
	} else {
		fmt.Fprint(a.Stdout, planText(w, found.Issue, plan)+stuckText(w, p.State, plan, sum))
	}
	switch {
	case w.Project.Broken != nil && a.JSON:
		return cli.ExitWith(cli.ExitUsage)
	case w.Project.Broken != nil: // what needs no settings was shown
		return w.Project.Broken
	case plan.Stuck:
		return cli.ExitWith(cli.ExitNeedsYou)
	}
	return nil
}

// problems are what the settings alone show.
func problems(w *workspace.Workspace) (out []string) {
	if w.Project.Broken != nil {
		return []string{"the settings are broken, so that orch run would not start: " + text.Head(explain.Error(w.Project.Broken).What)}
	}
	if len(w.Project.Config.Gate) == 0 {
		out = append(out, "no gate is set: whatever an agent commits lands. Add workflow.gate to project.yaml")
	}
	if err := w.CheckHarness(); err != nil {
		out = append(out, err.Error())
	}
	return out
}

func planText(w *workspace.Workspace, epicID tracker.Issue, p epic.Plan) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s\n%d %s to do, %d done · %d %s · up to %d at once here, %.1f of use on average\n",
		text.Clause(epicID.ID, 64), text.Clause(epicID.Title, 200), p.ToDo, cli.Plural(p.ToDo, "task", "tasks"), p.Done, len(p.Waves), cli.Plural(len(p.Waves), "wave", "waves"), w.Project.Config.Run.MaxParallel, p.Parallelism)
	for i, wave := range p.Waves {
		fmt.Fprintf(&b, "\n  wave %d\n", i+1)
		for _, t := range wave {
			line := fmt.Sprintf("    %-12s %s", t.ID, text.Cut(text.Clause(t.Title, 200), 40))
			if len(t.For) > 0 {
				line += "  for " + joinIDs(t.For, 3)
			}
			fmt.Fprintln(&b, line)
		}
	}
	if len(p.Critical) > 0 {
		fmt.Fprintf(&b, "\n  critical path  %s\n", strings.ReplaceAll(joinIDs(p.Critical, 12), ", ", " → "))
	}
	gate, agent := "none", w.Project.Config.Agent.Harness
	if w.Project.Broken != nil {
		gate, agent = "not known", "not known"
	} else if len(w.Project.Config.Gate) > 0 {
		var names []string
		for _, r := range w.Project.Config.Gate {
			names = append(names, cmp.Or(r.Command, r.Name))
		}
		gate = strings.Join(names, "; ")
	}
	fmt.Fprintf(&b, "  gate           %s\n  agent          %s\n", gate, agent)
	if len(p.Problems) > 0 {
		fmt.Fprintln(&b)
	}
	for _, problem := range p.Problems {
		fmt.Fprintf(&b, "  ! %s\n", problem)
	}
	return b.String()
}

// stuckText is how to go on: what keeps the epic and what helps, as the JSON tells, or the command that
// starts it.
func stuckText(w *workspace.Workspace, s epic.State, p epic.Plan, sum epic.Summary) string {
	var b strings.Builder
	if p.Stuck && sum.Code != "" {
		ways := explain.Ways(s, sum)
		if r, known := reason.Of(sum.Code); len(ways) == 0 && known {
			ways = []string{r.Do}
		}
		fmt.Fprintf(&b, "\n  ✗ [%s] %s\n", sum.Code, text.Clause(sum.Reason, 1000))
		for i, way := range ways {
			fmt.Fprintf(&b, "      %-4s  %s\n", []string{"next", ""}[min(i, 1)], way)
		}
	}
	start := "Start it: orch run "
	switch {
	case w.Project.Broken != nil:
		start = "Mend the settings first; then orch run "
	case len(p.Waves) == 0:
		start = "Nothing can start now: orch status "
	case p.Stuck:
		start = "It needs you first: orch status "
	}
	fmt.Fprintf(&b, "\nNothing was started. %s%s\n", start, cli.Quote(s.Epic))
	return b.String()
}
