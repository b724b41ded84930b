package cmd

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/beadsorch/orch/beads"
	"github.com/beadsorch/orch/cmd/cli"
	"github.com/beadsorch/orch/orchestrator"
	"github.com/beadsorch/orch/orchestrator/core"
	"github.com/beadsorch/orch/orchestrator/journal"
	"github.com/beadsorch/orch/orchestrator/slug"
)

// statusFlags say how much status shows, and whether its exit code tells.
type statusFlags struct{ exitStatus, all bool }

func newStatusCmd(a *app) *cobra.Command {
	var f statusFlags
	c := &cobra.Command{
		Use:   "status [EPIC|TASK]",
		Short: "what needs you and why, what runs, what waits",
		Long: `Status replays the journal, reads the tracker, asks who holds the epic, and says
what needs a person first: the reason, the evidence, and the command to type.
Without an id it shows the epic that orch worked on last.`,
		Args: cli.AtMost(1, "at most one epic or task"),
		RunE: func(c *cobra.Command, args []string) error { return a.status(c.Context(), args, f) },
	}
	c.Flags().BoolVar(&f.exitStatus, "exit-status", false, "exit 0 when all is done, 3 when tasks need you, 8 when not finished")
	c.Flags().BoolVar(&f.all, "all", false, "list the finished tasks too")
	return c
}

// picture is an epic as a command that only looks sees it.
type picture struct {
	*workspace
	dir     string
	state   core.State
	records []journal.Record
	holder  orchestrator.Holder
	held    bool
	asked   []core.Event
	read    time.Time // when the tracker was read; zero when it did not answer
	readWhy string
}

func (a *app) status(ctx context.Context, args []string, f statusFlags) error {
	p, task, err := a.look(ctx, args)
	if err != nil {
		return err
	}
	p.refresh(ctx)
	now := a.Now()
	sum := core.Summarize(p.state, now)
	if a.JSON {
		cli.WriteJSON(a.Stdout, p.document(sum))
	} else if task != nil {
		fmt.Fprint(a.Stdout, p.taskText(task.ID, now))
	} else {
		fmt.Fprint(a.Stdout, p.text(now, f.all))
	}
	if !f.exitStatus {
		return nil
	}
	switch {
	case sum.Counts.Done == sum.Counts.Total:
		return nil
	case p.held || sum.Counts.NeedsYou == 0:
		return cli.ExitWith(cli.ExitNotYet)
	}
	return cli.ExitWith(cli.ExitNeedsYou)
}

// look opens the picture of the epic that is meant: the one named, the one that
// holds the task named, or the one worked on last.
func (a *app) look(ctx context.Context, args []string) (*picture, *core.Task, error) {
	w, err := a.open(ctx)
	if err != nil {
		return nil, nil, err
	}
	dirs, err := w.epics()
	if err != nil {
		return nil, nil, err
	}
	if len(dirs) == 0 {
		return nil, nil, noRun(args)
	}
	if len(args) == 0 {
		p, err := w.picture(dirs[0])
		return p, nil, err
	}
	id := core.TaskID(args[0])
	if dir := w.epicDir(id); slices.Contains(dirs, dir) {
		p, err := w.picture(dir)
		return p, nil, err
	}
	for _, dir := range dirs {
		p, err := w.picture(dir)
		if err != nil {
			return nil, nil, err
		}
		if t := p.find(id); t != nil {
			return p, t, nil
		}
	}
	return nil, nil, noRun(args)
}

func noRun(args []string) error {
	if len(args) == 0 {
		return &cli.Error{Code: "NO_RUN", What: "orch has not run here yet", Exit: cli.ExitNotFound, Fix: []string{"orch run EPIC", "orch plan EPIC shows what it would do"}}
	}
	return &cli.Error{Code: "NOT_FOUND", What: fmt.Sprintf("orch knows no epic or task %s here", args[0]), Exit: cli.ExitNotFound,
		Why: "it knows those of epics that it has run", Fix: []string{"orch status", "orch run " + args[0]}}
}

// find looks a task up by its id, or by an ending of it that only one has.
func (p *picture) find(id core.TaskID) *core.Task {
	if t := p.state.Task(id); t != nil && !t.Epic {
		return t
	}
	var found *core.Task
	for _, t := range p.state.Tasks {
		if strings.HasPrefix(string(id), ".") && strings.HasSuffix(string(t.ID), string(id)) {
			if found != nil {
				return nil
			}
			found = t
		}
	}
	return found
}

func (w *workspace) picture(dir string) (*picture, error) {
	rec, err := journal.Read(dir)
	if err != nil {
		return nil, err
	}
	p := &picture{workspace: w, dir: dir, records: rec.Records}
	if p.state, err = orchestrator.Replay(rec.Records); err != nil {
		return nil, err
	}
	if p.holder, p.held, err = orchestrator.HeldBy(dir); err != nil {
		return nil, err
	}
	p.asked, _, err = orchestrator.Asked(dir)
	return p, err
}

// statusPatience is how long status waits for the tracker before it goes by
// what the journal knows.
const statusPatience = 5 * time.Second

// refresh brings the picture up to what the tracker says now. When it does not
// answer, the picture says so.
func (p *picture) refresh(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, statusPatience)
	defer cancel()
	t, err := p.tracker(ctx)
	var issues []beads.Issue
	if err == nil {
		issues, err = t.Survey(ctx)
	}
	if err != nil {
		p.readWhy = cli.FirstLine(err.Error())
		return
	}
	p.read = p.Now()
	p.state = core.Compare(p.state, issues, p.Now())
}

// document is status for a program.
func (p *picture) document(sum core.Summary) map[string]any {
	doc := statusDocument(p.app, p.state, sum)
	doc["held"] = p.held
	if p.held {
		doc["holder"] = p.holder
	}
	doc["tracker_age_ms"] = p.Now().Sub(p.state.ReadAt()).Milliseconds()
	doc["asked"] = p.asked
	return doc
}

// statusDocument is an epic for a program.
func statusDocument(a *app, s core.State, sum core.Summary) map[string]any {
	now := a.Now()
	type task struct {
		ID       core.TaskID    `json:"id"`
		Title    string         `json:"title"`
		State    core.TaskState `json:"state"`
		Tracker  string         `json:"tracker_status"`
		Reason   core.Code      `json:"reason,omitempty"`
		Why      string         `json:"why,omitempty"`
		Since    time.Time      `json:"since,omitzero"`
		WaitsFor []core.TaskID  `json:"waits_for,omitempty"`
		Attempts int            `json:"attempts"`
		Commit   core.Commit    `json:"commit,omitempty"`
		Next     []next         `json:"next,omitempty"`
	}
	tasks := []task{}
	for _, t := range s.Tasks {
		if t.Epic || t.Outside || t.Deleted {
			continue
		}
		row := task{ID: t.ID, Title: t.Title, State: t.State, Tracker: t.Status, Reason: t.Code, Why: t.Why, Since: t.Since, Attempts: len(t.Attempts), Commit: t.Commit}
		switch {
		case s.IsReady(t, now):
			row.State = core.Ready
		case t.State == core.Waiting:
			o := core.ObstacleOf(s, t, now)
			row.Reason, row.Why, row.WaitsFor = o.Code, o.Why, o.On
		case t.State == core.Parked:
			row.Next = nextFor(t)
		}
		tasks = append(tasks, row)
	}
	return map[string]any{
		"schema": "orch.status/1", "epic": s.Epic, "as_of": now.UTC(), "counts": sum.Counts, "tasks": tasks,
		"eta_ms": core.ETA(s, now).Milliseconds(), "branch": "epic/" + slug.Of(string(s.Epic)), "tip": s.Tip,
		"run": map[string]any{"number": s.Run.Number, "promise": cmp.Or(s.Run.Promise, string(sum.Promise)), "code": sum.Code, "reason": sum.Reason,
			"cost_usd": s.Run.CostUSD, "tokens": s.Run.Tokens, "iterations": s.Run.Iterations, "elapsed_ms": sum.Took.Milliseconds()},
	}
}
