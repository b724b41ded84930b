package show

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/document"
	"github.com/beadsorch/orch/cmd/internal/workspace"
	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/epicdir"
	"github.com/beadsorch/orch/orchestrator/journal"
	"github.com/beadsorch/orch/orchestrator/private"
	"github.com/beadsorch/orch/orchestrator/text"
	"github.com/beadsorch/orch/orchestrator/watch"
)

// What the names of an attempt's logs begin with.
const (
	outputLog = "output-"
	gateLog   = "gate"
)

// Logs is the command orch logs.
func Logs(a *cli.Invocation) *cobra.Command {
	var attempt int
	var gate, brief bool
	c := &cobra.Command{
		Use:   "logs TASK",
		Short: "what the agent, or the gate, said",
		Args:  cli.Exactly(1, "a task"),
		RunE: func(c *cobra.Command, args []string) error {
			kind := outputLog
			switch {
			case gate:
				kind = gateLog
			case brief:
				kind = "brief-"
			}
			return logs(c.Context(), a, args[0], attempt, kind)
		},
	}
	c.Flags().IntVar(&attempt, "attempt", 0, "which attempt; the last one by default")
	c.Flags().BoolVar(&gate, "gate", false, "the gate's output")
	c.Flags().BoolVar(&brief, "brief", false, "what the agent was told")
	c.MarkFlagsMutuallyExclusive("gate", "brief")
	return c
}

// logFiles are the logs of a kind that an attempt has left, and that are there still.
func logFiles(p *workspace.EpicView, id epic.TaskID, attempt int, kind string) ([]string, error) {
	return filepath.Glob(filepath.Join(epicdir.Attempt(p.Folder, id, attempt), kind+"*"))
}

func logs(ctx context.Context, a *cli.Invocation, id string, number int, kind string) error {
	p, t, attempt, err := workspace.FindAttempt(ctx, a, id, number)
	if err != nil {
		return err
	}
	files, err := logFiles(p, t.ID, attempt.Number, kind)
	if err != nil {
		return fmt.Errorf("looking for logs: %w", err)
	}
	if len(files) == 0 {
		return &cli.Error{Code: "NO_LOG", What: fmt.Sprintf("attempt %d of %s left no such log", attempt.Number, t.ID), Exit: cli.ExitNotFound,
			Fix: []string{"orch status " + cli.Quote(t.ID)}}
	}
	if a.JSON {
		cli.WriteJSON(a.Stdout, document.Logs{Task: t.ID, Attempt: attempt.Number, Files: files})
		return nil
	}
	for _, file := range files {
		if err := show(a, file); err != nil {
			return err
		}
	}
	return nil
}

// logLevels is how deep an attempt's log is below the git directory: orch/epics/EPIC/attempts/TASK/N/LOG.
const logLevels = 7

// show prints a log, without what could drive a terminal.
func show(a *cli.Invocation, file string) error {
	files, err := private.OpenAbove(file, logLevels)
	if err != nil {
		return fmt.Errorf("opening the log: %w", err)
	}
	defer files.Close()
	f, err := files.Open(file)
	if err != nil {
		return fmt.Errorf("opening the log: %w", err)
	}
	defer f.Close()
	if _, terminal := a.Terminal(a.Stdout); !terminal {
		_, err = io.Copy(a.Stdout, f)
		return err
	}
	b, err := io.ReadAll(f)
	if err != nil {
		return fmt.Errorf("reading the log: %w", err)
	}
	fmt.Fprint(a.Stdout, text.Clean(string(b)))
	return nil
}

// Diff is the command orch diff.
func Diff(a *cli.Invocation) *cobra.Command {
	var attempt int
	var stat bool
	c := &cobra.Command{
		Use:   "diff TASK",
		Short: "what an attempt changed",
		Args:  cli.Exactly(1, "a task"),
		RunE:  func(c *cobra.Command, args []string) error { return diff(c.Context(), a, args[0], attempt, stat) },
	}
	c.Flags().IntVar(&attempt, "attempt", 0, "which attempt; the last one by default")
	c.Flags().BoolVar(&stat, "stat", false, "only the files, and how much")
	return c
}

func diff(ctx context.Context, a *cli.Invocation, id string, number int, stat bool) error {
	p, t, attempt, err := workspace.FindAttempt(ctx, a, id, number)
	if err != nil {
		return err
	}
	head := attempt.Head
	if head == "" {
		if store, err := p.Workspace.Store(p.State.Epic); err == nil {
			head, err = p.Workspace.Project.Repo.Resolve(ctx, store.Name(string(t.ID), attempt.Number).Branch)
			if err != nil {
				head = attempt.Base
			}
		}
	}
	args := []string{"diff", "--no-color", "--no-ext-diff", "--no-textconv"}
	if stat || a.JSON {
		args = append(args, "--stat")
	}
	out, err := p.Workspace.Project.Repo.Out(ctx, append(args, string(attempt.Base), string(head), "--")...)
	if err != nil {
		return err
	}
	if a.JSON {
		cli.WriteJSON(a.Stdout, document.Diff{Task: t.ID, Attempt: attempt.Number, Base: attempt.Base, Head: head, Stat: out})
		return nil
	}
	if out == "" {
		out = fmt.Sprintf("attempt %d of %s has changed nothing that is committed", attempt.Number, t.ID)
	}
	if _, terminal := a.Terminal(a.Stdout); terminal {
		out = text.Clean(out)
	}
	fmt.Fprintln(a.Stdout, out)
	return nil
}

// Events is the command orch events.
func Events(a *cli.Invocation) *cobra.Command {
	var follow bool
	var since int64
	c := &cobra.Command{
		Use:         "events [EPIC|TASK]",
		Short:       "the journal: each decision with its reason, as JSON lines",
		Args:        cli.AtMost(1, "at most one epic or task"),
		Annotations: cli.PrintsLines(),
		RunE:        func(c *cobra.Command, args []string) error { return events(c.Context(), a, args, since, follow) },
	}
	c.Flags().BoolVarP(&follow, "follow", "f", false, "go on with what comes")
	c.Flags().Int64Var(&since, "since", 0, "only records after this `number`")
	return c
}

func events(ctx context.Context, a *cli.Invocation, args []string, since int64, follow bool) error {
	p, task, err := workspace.Look(ctx, a, args)
	if err != nil {
		return err
	}
	print := func(r journal.Record) error {
		return PrintEvent(a, r, func(e epic.Event) bool { return r.Seq > since && (task == nil || e.Task == task.ID) })
	}
	for _, r := range p.Records {
		if err := print(r); err != nil {
			return err
		}
	}
	if !follow {
		return nil
	}
	resets := 0
	err = p.Watch.Follow(ctx, func(e watch.Event) error {
		if n := p.Watch.Resets(); n > resets {
			resets, since = n, 0
			fmt.Fprintln(a.Stderr, "warning: the journal was replaced; what follows is the new one, from its start")
		}
		if e.Record.Seq == 0 {
			return nil
		}
		return print(e.Record)
	}, nil)
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// PrintEvent prints a record of the journal as a line for a program, if it is wanted. It fails where
// the record is no event, and where nothing can be printed.
func PrintEvent(a *cli.Invocation, r journal.Record, wanted func(epic.Event) bool) error {
	var e epic.Event
	if err := json.Unmarshal(r.Event, &e); err != nil {
		return fmt.Errorf("record %s: %w", strconv.FormatInt(r.Seq, 10), err)
	}
	if !wanted(e) {
		return nil
	}
	printed, err := document.RecordOf(e)
	if err != nil {
		return fmt.Errorf("record %s: %w", strconv.FormatInt(r.Seq, 10), err)
	}
	return cli.WriteLine(a.Stdout, document.Event{Seq: r.Seq, Event: printed})
}
