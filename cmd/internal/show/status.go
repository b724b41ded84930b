// Package show tells how an epic stands and goes: status, the live view of a run, logs, what a
// run would do, and what runs needed.
package show

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/workspace"
	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/slug"
)

// statusFlags say how much status shows, and whether its exit code tells.
type statusFlags struct{ exitStatus, all bool }

// Status is the command orch status.
func Status(a *cli.App) *cobra.Command {
	var f statusFlags
	c := &cobra.Command{
		Use:   "status [EPIC|TASK]",
		Short: "what needs you and why, what runs, what waits",
		Long: `Status replays the journal, reads the tracker, asks who holds the epic, and says
what needs a person first: the reason, the evidence, and the command to type.
Without an id it shows the epic that orch worked on last.`,
		Args: cli.AtMost(1, "at most one epic or task"),
		RunE: func(c *cobra.Command, args []string) error { return status(c.Context(), a, args, f) },
	}
	c.Flags().BoolVar(&f.exitStatus, "exit-status", false, "exit 0 when all is done, 3 when tasks need you, 8 when not finished")
	c.Flags().BoolVar(&f.all, "all", false, "list the finished tasks too")
	return c
}

func status(ctx context.Context, a *cli.App, args []string, f statusFlags) error {
	seen, task, err := workspace.Look(ctx, a, args)
	if err != nil {
		return err
	}
	p := page{Picture: seen}
	p.Refresh(ctx)
	now := a.Now()
	if p.branch, err = seen.Standing(ctx); err != nil {
		return err
	}
	if m := p.branch.Moved; m.From != "" {
		p.State.Moved = epic.Moved{TipMove: m}
	}
	sum := epic.Summarize(p.State, now)
	if a.JSON {
		cli.WriteJSON(a.Stdout, p.document(sum))
	} else if task != nil {
		fmt.Fprint(a.Stdout, p.taskText(task.ID, now))
	} else {
		fmt.Fprint(a.Stdout, p.text(now, f.all))
		for _, left := range seen.Unremoved() {
			fmt.Fprintf(a.Stdout, "left behind: %s: %s\n", left.Path, left.Why)
		}
	}
	if !f.exitStatus {
		return nil
	}
	switch {
	case p.branch.NeedsYou(), p.stopped():
		return cli.ExitWith(cli.ExitNeedsYou)
	case sum.Promise == epic.LoopDone:
		return nil
	case p.Held || sum.Counts.NeedsYou == 0:
		return cli.ExitWith(cli.ExitNotYet)
	}
	return cli.ExitWith(cli.ExitNeedsYou)
}

// document is status for a program.
func (p page) document(sum epic.Summary) map[string]any {
	doc := Document(p.App, p.State, sum)
	doc["held"] = p.Held
	doc["run"].(map[string]any)["state"] = RunState(p.State, p.Held)
	if p.Held {
		doc["holder"] = p.Holder
	}
	doc["tracker_age_ms"] = p.Now().Sub(p.State.ReadAt()).Milliseconds()
	doc["asked"] = p.Asked
	doc["no_requests"] = p.NoRequests
	doc["epic_branch"] = branchDocument(p.branch)
	return doc
}

// RunState says whether a run goes on: running, ended, cut_off (it was killed) or none.
func RunState(s epic.State, held bool) string {
	switch {
	case held:
		return "running"
	case s.Run.Number == 0:
		return "none"
	case s.Run.Ended.IsZero():
		return "cut_off"
	}
	return "ended"
}

// Document is an epic for a program.
func Document(a *cli.App, s epic.State, sum epic.Summary) map[string]any {
	now := a.Now()
	type task struct {
		ID       epic.TaskID    `json:"id"`
		Title    string         `json:"title"`
		State    epic.TaskState `json:"state"`
		Tracker  string         `json:"tracker_status"`
		Reason   epic.Code      `json:"reason,omitempty"`
		Why      string         `json:"why,omitempty"`
		Since    time.Time      `json:"since,omitzero"`
		WaitsFor []epic.TaskID  `json:"waits_for,omitempty"`
		Attempts int            `json:"attempts"`
		Turns    int            `json:"iterations,omitempty"` // of the newest attempt
		Scores   []int          `json:"scores,omitempty"`     // of those that its agent's rules judged
		Commit   epic.Commit    `json:"commit,omitempty"`
		Next     []next         `json:"next,omitempty"`
	}
	tasks := []task{}
	for _, t := range s.Tasks {
		if t.Epic || t.External || t.Deleted {
			continue
		}
		row := task{ID: t.ID, Title: t.Title, State: t.State, Tracker: t.Status, Reason: t.Code, Why: t.Why, Since: t.Since, Attempts: len(t.Attempts), Commit: t.Commit}
		row.Turns = t.Last().Iteration
		for _, r := range t.Last().Rounds {
			row.Scores = append(row.Scores, r.ValidationScore)
		}
		switch {
		case s.IsReady(t, now):
			row.State = epic.Ready
		case t.State == epic.Waiting:
			o := epic.ObstacleOf(s, t, now)
			row.Reason, row.Why, row.WaitsFor = o.Code, o.Why, o.On
		case t.State == epic.Parked:
			row.Next = nextFor(t)
		}
		tasks = append(tasks, row)
	}
	return map[string]any{
		"schema": "orch.status/1", "epic": s.Epic, "as_of": now.UTC(), "counts": sum.Counts, "tasks": tasks,
		"eta_ms": epic.ETA(s, now).Milliseconds(), "branch": "epic/" + slug.Of(string(s.Epic)), "tip": s.Tip,
		"run": map[string]any{"number": s.Run.Number, "state": RunState(s, false), "promise": sum.Promise, "code": sum.Code, "reason": sum.Reason,
			"cost_usd": s.Run.CostUSD, "tokens": s.Run.Tokens, "iterations": s.Run.Iterations, "elapsed_ms": sum.Took.Milliseconds()},
	}
}
