package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/document"
	"github.com/beadsorch/orch/cmd/internal/workspace"
	"github.com/beadsorch/orch/orchestrator"
	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/git"
	"github.com/beadsorch/orch/orchestrator/land"
	"github.com/beadsorch/orch/orchestrator/private"
	"github.com/beadsorch/orch/orchestrator/reason"
	"github.com/beadsorch/orch/orchestrator/refname"
)

func newEpicCmd(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "epic",
		Short: "settle an epic branch that was moved by others",
		Long: `orch knows where the last landing left the epic branch. When landed work is no
longer on it, the run ends with EPIC_MOVED, and a person settles it: put the
branch back, or take it as it is.`,
		Args: cli.AtMost(0, "accept or restore"),
		RunE: a.App.Group,
	}
	c.AddCommand(
		&cobra.Command{
			Use:   "restore EPIC",
			Short: "put the branch back where the last landing left it; what is there now is kept",
			Args:  cli.Exactly(1, "an epic"),
			RunE: func(c *cobra.Command, args []string) error {
				return a.settle(c.Context(), epic.TaskID(args[0]), "restored", (*orchestrator.Orchestrator).RestoreBranch)
			},
		},
		&cobra.Command{
			Use:   "accept EPIC",
			Short: "take the branch as it is; landed tasks whose work it does not hold are open again",
			Args:  cli.Exactly(1, "an epic"),
			RunE: func(c *cobra.Command, args []string) error {
				return a.settle(c.Context(), epic.TaskID(args[0]), "accepted", (*orchestrator.Orchestrator).AcceptBranch)
			},
		},
		&cobra.Command{
			Use:   "merge EPIC COMMIT",
			Short: "put what another clone has landed, and you have fetched, onto the branch",
			Example: `  git fetch ../other epic/bd-a3f8
  orch epic merge bd-a3f8 FETCH_HEAD`,
			Args: cli.Exactly(2, "an epic and a commit"),
			RunE: func(c *cobra.Command, args []string) error {
				return a.settle(c.Context(), epic.TaskID(args[0]), "merged", func(o *orchestrator.Orchestrator, ctx context.Context) (epic.TipMove, error) {
					commit, err := a.commitNamed(ctx, args[1])
					if err != nil {
						return epic.TipMove{}, err
					}
					m, err := o.MergeBranch(ctx, commit)
					return m, mergeError(epic.TaskID(args[0]), commit, err)
				})
			},
		})
	return c
}

// settle does what a person says of the epic branch, and tells the tracker. Nothing that the
// settings name runs; the next run has the gate judge the branch.
func (a *app) settle(ctx context.Context, epicID epic.TaskID, word string, do func(*orchestrator.Orchestrator, context.Context) (epic.TipMove, error)) error {
	p, task, err := workspace.LoadEpic(ctx, a.App, []string{string(epicID)})
	if err != nil {
		return err
	}
	if task != nil {
		return cli.Usage("%s is a task; name its epic", task.ID)
	}
	var m epic.TipMove
	_, _, err = driver{workspace: p.Workspace, faults: a.faults}.brief(ctx, epicID, runFlags{base: "HEAD"}, epic.ModeSettle, nil, func(o *orchestrator.Orchestrator) error {
		m, err = do(o, ctx)
		return err
	})
	if errors.Is(err, orchestrator.ErrInPlace) {
		return &cli.Error{Code: "NOT_NOW", What: fmt.Sprintf("nothing to settle: %s", cmp.Or(map[string]string{"merged": "the epic branch has that commit"}[word], err.Error())), Exit: cli.ExitUsage, Fix: []string{"orch status " + cli.Quote(epicID)}}
	}
	if errors.Is(err, orchestrator.ErrTaken) {
		return &cli.Error{Code: "NOT_NOW", What: "nothing to settle: " + err.Error(), Exit: cli.ExitUsage, Err: err,
			Fix: []string{"orch run " + cli.Quote(epicID) + " --allow-red-base   goes on although the gate is red", "orch epic restore " + cli.Quote(epicID) + "   puts the branch back where the last landing left it"}}
	}
	var gone *orchestrator.CollectedError
	if errors.As(err, &gone) {
		return &cli.Error{Code: "NOT_NOW", What: "the branch cannot be put back: " + gone.Error(), Exit: cli.ExitUsage, Err: err,
			Why: "no reference kept it, as after orch gc, and git has collected it",
			Fix: []string{"orch epic accept " + cli.Quote(epicID) + "   begins from what you have checked out; what that has stays landed"}}
	}
	if err != nil {
		return err
	}
	text := fmt.Sprintf("%s: the epic branch is at %.12s\n", word, m.From)
	if word != "restored" {
		text = fmt.Sprintf("%s: the epic branch is at %.12s\n", word, m.To)
		for _, id := range m.Lost {
			text += fmt.Sprintf("  %s is open again\n", id)
		}
	}
	if m.Kept != "" {
		text += fmt.Sprintf("  what was there is kept at %s\n", m.Kept)
	}
	a.App.Print(document.EpicSettled{Epic: epicID, Did: word, Move: m}, text+fmt.Sprintf("go on: orch run %s\n", cli.Quote(epicID)))
	return nil
}

// commitNamed is the commit that a person names: also FETCH_HEAD, which belongs to the work tree.
func (a *app) commitNamed(ctx context.Context, name string) (epic.Commit, error) {
	w, err := workspace.Read(ctx, a.App)
	if err != nil {
		return "", err
	}
	rev := name
	if name == "FETCH_HEAD" {
		at, err := w.Project.Repo.CheckoutAt(w.Project.Repo.WorkTree())
		if err != nil {
			return "", err
		}
		line, err := private.ReadFile(filepath.Join(at.GitDir, name), maxFetchHead)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		rev, _, _ = strings.Cut(string(line), "\t")
	}
	c, err := w.Project.Repo.Resolve(ctx, rev)
	if errors.Is(err, git.ErrNoSuchRef) || rev == "" {
		return "", &cli.Error{Code: "NOT_FOUND", What: "this repository has no commit " + name, Exit: cli.ExitNotFound, Err: err, Fix: []string{"git fetch CLONE epic/EPIC"}}
	}
	return c, err
}

// maxFetchHead bounds FETCH_HEAD, in bytes.
const maxFetchHead = 1 << 20

// mergeError says what a person can do where a commit was not merged into the epic branch.
func mergeError(epicID epic.TaskID, commit epic.Commit, err error) error {
	var conflict *land.ConflictError
	id, branch := cli.Quote(epicID), refname.Of(string(epicID)).ShortBranch()
	switch {
	case errors.Is(err, orchestrator.ErrUnsettled):
		return &cli.Error{Code: string(reason.EpicMoved), What: err.Error(), Exit: cli.ExitNeedsYou, Err: err, Fix: []string{"orch status " + id}}
	case errors.As(err, &conflict):
		return &cli.Error{Code: string(reason.MergeConflict), What: "it does not merge into the epic branch: " + conflict.Error(), Exit: cli.ExitNeedsYou, Err: err,
			Fix: []string{"git worktree add ../merge " + branch + " && git -C ../merge merge " + string(commit), "git worktree remove ../merge   when it is committed, then orch run " + id}}
	}
	return err
}
