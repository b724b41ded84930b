// Package show tells how an epic stands and goes: status, the live view of a run, logs, what a
// run would do, and what runs needed.
package show

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/document"
	"github.com/beadsorch/orch/cmd/internal/workspace"
	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/reason"
)

// statusFlags say how much status shows, and whether its exit code tells.
type statusFlags struct{ exitStatus, all bool }

// Status is the command orch status.
func Status(a *cli.Invocation) *cobra.Command {
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
	c.Flags().BoolVar(&f.exitStatus, "exit-status", false, "exit by the promise: 0 for LOOP_DONE, 8 for LOOP_CONTINUE, 7 at a set limit, 3 when only you can move it")
	c.Flags().BoolVar(&f.all, "all", false, "list the finished tasks too")
	return c
}

func status(ctx context.Context, a *cli.Invocation, args []string, f statusFlags) error {
	seen, task, err := workspace.Look(ctx, a, args)
	if err != nil {
		return err
	}
	p, err := pageOf(ctx, seen)
	if err != nil {
		return err
	}
	now := a.Now()
	sum := epic.Summarize(p.view.State, now)
	if a.JSON {
		cli.WriteJSON(a.Stdout, p.document(sum))
	} else if task != nil {
		fmt.Fprint(a.Stdout, p.taskText(task.ID, now))
	} else {
		p.print(f.all)
	}
	if !f.exitStatus {
		return nil
	}
	return cli.ExitWith(exitOf(sum))
}

// exitOf is the exit code by the promise: at a set limit that of the run that reached it.
func exitOf(sum epic.Summary) int {
	switch sum.Promise {
	case epic.LoopDone:
		return cli.ExitDone
	case epic.LoopContinue:
		return cli.ExitNotYet
	}
	if r, ok := reason.Of(sum.Code); ok && r.Exit == reason.ExitLimit {
		return cli.ExitLimit
	}
	return cli.ExitNeedsYou
}

// pageOf brings a view up to date with the tracker and git.
func pageOf(ctx context.Context, seen *workspace.EpicView) (page, error) {
	p := page{view: seen}
	var err error
	p.branch, err = seen.Update(ctx)
	return p, err
}

// print is status of the whole epic for a person.
func (p page) print(all bool) {
	fmt.Fprint(p.view.Workspace.Project.Invocation.Stdout, p.text(p.view.Workspace.Now(), all))
	for _, e := range p.view.Unremoved() {
		fmt.Fprintf(p.view.Workspace.Project.Invocation.Stdout, "left behind: %s: %s\n", e.Path, e.Why)
	}
}

// Page prints what status says of an epic, to a person, or to a program in one line. It fails where git does not
// answer, or where it cannot be written.
func Page(ctx context.Context, seen *workspace.EpicView) error {
	p, err := pageOf(ctx, seen)
	if err != nil {
		return err
	}
	if a := p.view.Workspace.Project.Invocation; a.JSON {
		return cli.WriteLine(a.Stdout, p.document(epic.Summarize(p.view.State, a.Now())))
	}
	p.print(false)
	return nil
}

// How many requests are listed that nobody has taken, of each kind: for a program, and for a person.
const (
	maxRequestsPrinted = 100
	maxRequestsShown   = 10
)

// document is status for a program.
func (p page) document(sum epic.Summary) document.Status {
	doc, age := documentOf(p.view.Workspace.Project.Invocation, p.view.State, sum, p.nextFor), int64(0)
	if read := p.view.State.ReadAt(); !read.IsZero() {
		age = p.view.Workspace.Now().Sub(read).Milliseconds()
	}
	asked, bad := min(len(p.view.Asked), maxRequestsPrinted), min(len(p.view.NoRequests), maxRequestsPrinted)
	doc.Around = &document.Around{Held: p.view.Held, TrackerAge: age, EpicBranch: branchDocument(p.branch),
		Asked: document.RecordsOf(p.view.Asked[:asked]), AskedMore: len(p.view.Asked) - asked, NoRequests: p.view.NoRequests[:bad], NoRequestsMore: len(p.view.NoRequests) - bad, LetGo: p.letGo(), Kept: foldersOf(p.view.Kept()), LeftBehind: foldersOf(p.view.Unremoved())}
	doc.Run.State = document.RunState(p.view.State, p.view.Held)
	if p.view.Held {
		holder := document.Holder(p.view.Holder)
		doc.Holder = &holder
	}
	doc.Tampered = TamperedDocument(p.view.Tampered())
	return doc
}

func foldersOf(all []workspace.Unremoved) []document.Folder {
	folders := []document.Folder{}
	for _, u := range all {
		folders = append(folders, document.Folder{Path: u.Path, Why: u.Why})
	}
	return folders
}

// Document is an epic for a program.
func Document(a *cli.Invocation, s epic.State, sum epic.Summary) document.Status {
	return documentOf(a, s, sum, func(t *epic.Task) []next { return nextFor(s, t, func(string) string { return "" }) })
}

func documentOf(a *cli.Invocation, s epic.State, sum epic.Summary, nextOf func(*epic.Task) []next) document.Status {
	return document.StatusOf(s, sum, a.Now(), func(t *epic.Task) (out []document.Command) {
		for _, n := range nextOf(t) {
			out = append(out, document.Command(n))
		}
		return out
	})
}
