package setup

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/document"
	"github.com/beadsorch/orch/cmd/internal/workspace"
	"github.com/beadsorch/orch/orchestrator"
	"github.com/beadsorch/orch/orchestrator/engine"
	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/epicdir"
	"github.com/beadsorch/orch/orchestrator/epicstore"
	"github.com/beadsorch/orch/orchestrator/git"
	"github.com/beadsorch/orch/orchestrator/land"
	"github.com/beadsorch/orch/orchestrator/private"
	"github.com/beadsorch/orch/orchestrator/refname"
	"github.com/beadsorch/orch/orchestrator/text"
	"github.com/beadsorch/orch/worktree"
)

// GC is the command orch gc.
func GC(a *cli.Invocation) *cobra.Command {
	var dry bool
	c := &cobra.Command{
		Use:   "gc [EPIC]",
		Short: "remove worktrees, branches and logs of what is finished; work that landed nowhere stays reachable",
		Args:  cli.AtMost(1, "at most one epic"),
		RunE:  func(c *cobra.Command, args []string) error { return collectGarbage(c.Context(), a, args, dry) },
	}
	c.Flags().BoolVarP(&dry, "dry-run", "n", false, "only say what would be removed")
	return c
}

func collectGarbage(ctx context.Context, a *cli.Invocation, args []string, dry bool) error {
	p, _, err := workspace.LoadEpic(ctx, a, args)
	if err == nil && !dry {
		err = p.Workspace.Project.Broken // how large what is kept of a worktree may be is in the settings
	}
	var none *cli.Error
	if len(args) == 0 && errors.As(err, &none) && none.Code == workspace.NoRunCode {
		return sweepOnly(ctx, a, dry)
	}
	if err != nil {
		return err
	}
	if p.Held {
		return &epicstore.HeldError{Epic: p.State.Epic, Holder: p.Holder}
	}
	store, err := p.Workspace.Store(p.State.Epic)
	if err != nil {
		return err
	}
	g := &collector{view: p, store: store, dry: dry, wanted: map[string]bool{}}
	if err := g.collect(ctx); err != nil {
		return err
	}
	printReport(a, p.State.Epic, dry, g.removed, g.kept)
	return nil
}

// collector removes what is there of an epic's attempts and nobody needs any more.
type collector struct {
	view  *workspace.EpicView
	store *worktree.Store
	dry   bool // only look

	wanted  map[string]bool     // the branches of the attempts that the journal knows; true where one is still worked on
	removed []string            // what was removed, or would be
	kept    []document.KeptPath // what could not be
}

// collect removes all that it can. It fails as git does, and not for a single thing that stays.
func (g *collector) collect(ctx context.Context) error {
	for _, t := range g.view.State.Tasks {
		g.collectTask(ctx, t)
	}
	if err := g.collectUnknown(ctx); err != nil {
		return err
	}
	tips, still, err := dropTips(ctx, g.view, g.dry)
	if err != nil {
		return err
	}
	swept, err := g.store.Sweep(ctx, g.dry)
	if err != nil {
		return err
	}
	g.removed, g.kept = append(append(g.removed, tips...), swept...), append(g.kept, still...)
	if g.dry {
		g.foresee()
		return nil
	}
	return g.close(ctx)
}

// foresee keeps what a mount would keep.
func (g *collector) foresee() {
	g.removed = slices.DeleteFunc(g.removed, func(path string) bool {
		err := private.Mounted(path)
		if err != nil {
			g.kept = append(g.kept, document.KeptPath{Path: path, Why: err.Error()})
		}
		return err != nil
	})
}

// remove has remove remove a thing of that name, and notes what became of it.
func (g *collector) remove(name string, remove func() error) {
	if !g.dry {
		if err := remove(); err != nil {
			g.kept = append(g.kept, document.KeptPath{Path: name, Why: err.Error()})
			return
		}
	}
	g.removed = append(g.removed, name)
}

// collectTask removes the worktrees of a task's attempts that have ended, and the logs of a task that is done.
func (g *collector) collectTask(ctx context.Context, t *epic.Task) {
	for _, at := range t.Attempts {
		n := g.store.Name(string(t.ID), at.Number)
		g.wanted[n.Branch] = at.Open() || !t.Done()
		if !at.Open() && g.store.Exists(string(t.ID), at.Number) {
			g.remove(n.Dir, func() error { return g.store.Remove(ctx, string(t.ID), at.Number, at.Head) })
		}
	}
	if logs := filepath.Dir(epicdir.Attempt(g.view.Folder, t.ID, 1)); t.Done() && cli.Exists(logs) {
		g.remove(logs, func() error { return orchestrator.RemoveLogs(g.view.Folder, logs) })
	}
}

// collectUnknown removes what a removal that failed has left, and what is of a journal that is gone.
func (g *collector) collectUnknown(ctx context.Context) error {
	list, err := g.store.List(ctx)
	if err != nil {
		return err
	}
	for _, e := range list {
		met := slices.Contains(g.removed, e.Dir) || slices.ContainsFunc(g.kept, func(k document.KeptPath) bool { return k.Path == e.Dir })
		if !met && !g.wanted[e.Branch] {
			g.remove(e.Branch, func() error { return g.store.RemoveFound(ctx, e) })
		}
	}
	return nil
}

// close closes the store, and notes what could not be removed.
func (g *collector) close(ctx context.Context) error {
	err := g.store.Close(ctx)
	var left *engine.LeftError
	if !errors.As(err, &left) {
		return err
	}
	for _, l := range left.Left {
		g.kept = append(g.kept, document.KeptPath{Path: l.Path, Why: l.What + "; " + l.Fix})
		g.removed = slices.DeleteFunc(g.removed, func(path string) bool { return path == l.Path })
	}
	return nil
}

// sweepOnly is for a repository in which no epic has run: other commands are killed too.
func sweepOnly(ctx context.Context, a *cli.Invocation, dry bool) error {
	w, err := workspace.Read(ctx, a)
	if err != nil {
		return err
	}
	var said []string
	var kept []document.KeptPath
	if dry {
		said, err = w.Project.Repo.Abandoned(w.Now())
	} else {
		var left []git.Unremoved
		said, left, err = w.Project.Repo.Sweep(w.Now())
		for _, u := range left {
			kept = append(kept, document.KeptPath{Path: u.Path, Why: u.Err.Error()})
		}
	}
	if err != nil {
		return err
	}
	printReport(a, "", dry, said, kept)
	return nil
}

// maxShown is how much a person is shown of a path, or of why it stays, in cells; the document has all of it.
const maxShown = 500

// printReport says what was removed, and what could not be.
func printReport(a *cli.Invocation, epicID epic.TaskID, dry bool, said []string, kept []document.KeptPath) {
	if a.JSON {
		cli.WriteJSON(a.Stdout, document.GC{Epic: epicID, DryRun: dry, Removed: said, Kept: kept})
		return
	}
	for _, path := range said {
		fmt.Fprintln(a.Stdout, text.Clause(path, maxShown))
	}
	for _, k := range kept {
		fmt.Fprintf(a.Stderr, "left as it is: %s: %s\n", text.Clause(k.Path, maxShown), text.Clause(k.Why, maxShown))
	}
	word := "removed"
	if dry {
		word = "would be removed"
	}
	fmt.Fprintf(a.Stdout, "%d %s; commits that landed nowhere stay below refs/orch\n", len(said), word)
}

// dropTips removes the references that keep tips of an epic whose work is all done: each once a
// branch of the person's has all of it, and where it stays, says why. It fails as git does.
func dropTips(ctx context.Context, p *workspace.EpicView, dry bool) (dropped []string, kept []document.KeptPath, err error) {
	if !p.State.Ended() {
		return nil, nil, nil
	}
	holder, done, err := inBranch(ctx, p.Workspace.Project.Repo, p.State.Tip)
	if err != nil || !done {
		return nil, nil, err
	}
	tip := land.TipRef(string(p.State.Epic))
	refs, err := p.Workspace.Project.Repo.Refs(ctx, path.Dir(tip)+"/")
	if err != nil {
		return nil, nil, err
	}
	var changes []git.RefChange
	for _, r := range refs {
		if r.Name != tip && !strings.HasPrefix(r.Name, tip+"-") {
			continue
		}
		switch _, done, err := inBranch(ctx, p.Workspace.Project.Repo, r.Commit); {
		case err != nil:
			return nil, nil, err
		case !done:
			kept = append(kept, document.KeptPath{Path: r.Name, Why: "no branch of yours has all of it; git log " + r.Name})
		default:
			dropped = append(dropped, r.Name)
			changes = append(changes, git.RefChange{Name: r.Name, Old: r.Commit})
		}
	}
	if dry || len(changes) == 0 {
		return dropped, kept, nil
	}
	if slices.ContainsFunc(changes, func(c git.RefChange) bool { return c.Old == p.State.Tip }) {
		// What a squash has taken over is known by that alone once git has collected the tip.
		note := orchestrator.Deps{Dir: p.Folder, Epic: p.State.Epic, Redact: p.Workspace.Project.Invocation.Redact, Now: p.Workspace.Now}
		f := epic.EpicLandedInto{Branch: git.Short(holder.Name), Tip: p.State.Tip, Commit: holder.Commit}
		if err := orchestrator.Note(ctx, note, f, "found there by orch gc"); err != nil {
			return nil, nil, err
		}
	}
	return dropped, kept, p.Workspace.Project.Repo.UpdateRefs(ctx, changes)
}

// inBranch finds a branch that is none of orch's and holds all of a commit: it has it among
// its ancestors, or merging it in would change nothing. It fails as git does.
func inBranch(ctx context.Context, repo *git.Repo, c git.Commit) (holder git.Ref, ok bool, err error) {
	refs, err := repo.Refs(ctx, "refs/heads/")
	if err != nil {
		return git.Ref{}, false, err
	}
	for _, r := range refs {
		if refname.IsOrchs(r.Name) {
			continue
		}
		lost, err := land.Lost(ctx, repo, r.Commit, map[string]git.Commit{"": c})
		if err != nil || len(lost) == 0 {
			return r, err == nil, err
		}
	}
	return git.Ref{}, false, nil
}
