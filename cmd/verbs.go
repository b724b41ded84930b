package cmd

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/document"
	"github.com/beadsorch/orch/cmd/internal/workspace"
	"github.com/beadsorch/orch/orchestrator"
	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/reason"
)

func newRetryCmd(a *app) *cobra.Command {
	var hint string
	c := &cobra.Command{
		Use:   "retry TASK",
		Short: "give a parked or skipped task new attempts",
		Long: `Retry gives a task new attempts that is parked, skipped, or blocked or closed in
the tracker without its work being done here; there it is opened again.`,
		Example: `  orch retry bd-a3f8.7 -m "use a token bucket"`,
		Args:    cli.Exactly(1, "a task"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.ask(c.Context(), args[0], epic.Event{Fact: epic.TaskRetried{Hint: hint}, Reason: "asked by a person"}, "is tried again")
		},
	}
	c.Flags().StringVarP(&hint, "message", "m", "", "advice for the next attempt")
	return c
}

func newAnswerCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "answer TASK TEXT",
		Short:   "answer a task's question, so that it goes on",
		Example: `  orch answer bd-a3f8.9 "10 minutes"`,
		Args:    cli.Exactly(2, "a task and the answer"),
		RunE: func(c *cobra.Command, args []string) error {
			if strings.TrimSpace(args[1]) == "" {
				return cli.Usage("the answer is empty")
			}
			return a.ask(c.Context(), args[0], epic.Event{Fact: epic.TaskRetried{Hint: args[1]}, Reason: "answered by a person"}, "goes on with the answer")
		},
	}
}

func newSkipCmd(a *app) *cobra.Command {
	var reason string
	var closeIt bool
	c := &cobra.Command{
		Use:   "skip TASK",
		Short: "go on without a task",
		Long: `Skip takes a task out of the run. It is marked blocked in the tracker, so what
waits for it waits on; with --close it is closed, and what waits for it goes on
without its work. orch retry takes it up again.`,
		Args: cli.Exactly(1, "a task"),
		RunE: func(c *cobra.Command, args []string) error {
			f := epic.TaskSkipped{Status: "blocked"}
			if closeIt {
				f.Status = "closed"
			}
			e := epic.Event{Fact: f, Reason: epic.SkipReason(reason)}
			return a.ask(c.Context(), args[0], e, "is skipped")
		},
	}
	c.Flags().StringVar(&reason, "reason", "", "why, for the tracker")
	c.Flags().BoolVar(&closeIt, "close", false, "close it in the tracker, so that what waits for it goes on")
	return c
}

// ask leaves a request about a task for the run that goes on, or the next one.
func (a *app) ask(ctx context.Context, id string, e epic.Event, what string) error {
	p, task, err := workspace.LoadEpic(ctx, a.App, []string{id})
	if err != nil {
		return err
	}
	if task == nil {
		return cli.Usage("%s is an epic; name a task of it", id)
	}
	e.Task = task.ID
	now := e
	now.At = a.App.Now()
	if err := epic.Check(p.State, now); err != nil {
		return &cli.Error{Code: "NOT_NOW", What: epic.Refusal(err),
			Exit: cli.ExitUsage, Err: err, Fix: []string{"orch status " + cli.Quote(task.ID)}}
	}
	if err := orchestrator.PostRequest(p.Folder, orchestrator.WithoutSecrets(a.App.Redact, e), a.App.Now()); err != nil {
		return err
	}
	return a.said(p, fmt.Sprintf("%s %s", task.ID, what))
}

// said confirms a request, and tells who takes it.
func (a *app) said(p *workspace.EpicView, what string) error {
	then := "the run that goes on takes it now"
	if !p.Driven() {
		then = "go on: orch run " + cli.Quote(p.State.Epic)
	}
	a.App.Print(document.Asked{Epic: p.State.Epic, What: what, Running: p.Driven()}, fmt.Sprintf("%s; %s\n", what, then))
	return nil
}

func newPauseCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "pause [EPIC]",
		Short: "start no agent in the run that goes on, until orch continue; what runs goes on to its end",
		Args:  cli.AtMost(1, "at most one epic"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.tell(c.Context(), args, "is paused", epic.Event{Fact: epic.RunPaused{}, Reason: "asked by orch pause"})
		},
	}
}

func newContinueCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "continue [EPIC]",
		Short: "let a run that was paused go on",
		Args:  cli.AtMost(1, "at most one epic"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.tell(c.Context(), args, "goes on", epic.Event{Fact: epic.RunContinued{}, Reason: "asked by orch continue"})
		},
	}
}

func newStopCmd(a *app) *cobra.Command {
	var now bool
	c := &cobra.Command{
		Use:   "stop [EPIC]",
		Short: "let the run end after what runs now, or at once",
		Args:  cli.AtMost(1, "at most one epic"),
		RunE:  func(c *cobra.Command, args []string) error { return a.stop(c.Context(), args, now) },
	}
	c.Flags().BoolVar(&now, "now", false, "interrupt the agents; their work is kept")
	return c
}

func (a *app) stop(ctx context.Context, args []string, now bool) error {
	drain := epic.Event{Fact: epic.DrainStarted{}, Code: reason.Interrupted, Reason: "asked by orch stop"}
	if now {
		return a.tell(ctx, args, "stops", drain, epic.Event{Fact: epic.InterruptStarted{}, Reason: "asked by orch stop --now"})
	}
	return a.tell(ctx, args, "stops after what runs now", drain)
}

// tell leaves requests for the run of an epic that goes on. A short command that has the epic is none, and can only be
// interrupted.
func (a *app) tell(ctx context.Context, args []string, what string, events ...epic.Event) error {
	p, _, err := workspace.LoadEpic(ctx, a.App, args)
	if err != nil {
		return err
	}
	isInterrupt := func(e epic.Event) bool { _, is := e.Fact.(epic.InterruptStarted); return is }
	if !p.Driven() && !(p.Held && slices.ContainsFunc(events, isInterrupt)) {
		return &cli.Error{Code: "NO_RUN", What: fmt.Sprintf("no run of %s is going on", p.State.Epic), Exit: cli.ExitNotFound, Fix: []string{"orch status " + cli.Quote(p.State.Epic)}}
	}
	for _, e := range events {
		if err := orchestrator.PostRequest(p.Folder, orchestrator.WithoutSecrets(a.App.Redact, e), a.App.Now()); err != nil {
			return err
		}
	}
	return a.said(p, fmt.Sprintf("%s %s", p.State.Epic, what))
}
