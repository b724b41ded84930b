package workspace

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/beadsorch/orch/cmd/cli"
	"github.com/beadsorch/orch/orchestrator"
	"github.com/beadsorch/orch/orchestrator/checkpoint"
	"github.com/beadsorch/orch/orchestrator/core"
	"github.com/beadsorch/orch/orchestrator/iteration"
	"github.com/beadsorch/orch/orchestrator/proc"
	"github.com/beadsorch/orch/orchestrator/slug"
)

// Work is where the work at a task is, and its loop.
type Work struct {
	// Dir is the folder of the work, absolute.
	Dir string
	// Base is the revision that the work began from.
	Base string
	// Book is the folder of the task's loop.
	Book string
}

// WorkAt finds the work at a task: in the attempt that an agent calls from, in the newest one
// that goes on or has left checkpoints, or for a task that orch does not drive here, with the
// loop in a folder of its own. It fails as Store does.
func (w *Workspace) WorkAt(task string) (Work, error) {
	at := Work{Dir: w.Dir, Base: "HEAD", Book: filepath.Join(w.Home, "iterations", slug.Of(task))}
	if dir := w.Getenv("ORCH_ATTEMPT_DIR"); dir != "" && w.Getenv("ORCH_TASK") == task {
		at.Book, at.Dir = filepath.Join(dir, checkpoint.Folder), cmp.Or(w.Getenv("ORCH_WORKTREE"), w.Dir)
	}
	p, t, err := w.look([]string{task})
	if err != nil || t == nil || t.Last().Number == 0 {
		return at, nil
	}
	last := t.Last()
	book := orchestrator.BookDir(p.Folder, t.ID, last.Number)
	if !last.Open() && (t.State == core.Landed || !cli.Exists(book)) {
		return at, nil
	}
	store, err := w.Store(p.State.Epic)
	if err != nil {
		return at, err
	}
	at.Book = book
	at.Dir, at.Base = store.Name(string(t.ID), last.Number).Dir, string(last.Base)
	return at, nil
}

// Changed lists the files that the work has changed, new ones included. It fails when git
// does.
func (w *Workspace) Changed(ctx context.Context, at Work) (files []string, err error) {
	for _, args := range [][]string{{"diff", "--name-only", "-z", "--no-renames", at.Base, "--"}, {"ls-files", "--others", "--exclude-standard", "-z"}} {
		res, err := w.Proc.Run(ctx, proc.Cmd{Dir: at.Dir, Argv: append([]string{"git"}, args...), Env: w.SystemEnv(gitNames()...)})
		if err != nil {
			return nil, fmt.Errorf("listing what has changed: %w", err)
		}
		for file := range strings.SplitSeq(strings.Trim(string(res.Stdout), "\x00"), "\x00") {
			if file != "" {
				files = append(files, file)
			}
		}
	}
	slices.Sort(files)
	return slices.Compact(files), nil
}

// Iteration is how the agent of a task iterates: the one that its label agent:NAME names, and
// me without one. It fails where that is not set up.
func (w *Workspace) Iteration(ctx context.Context, task string) (iteration.Config, error) {
	name := core.DefaultAgent
	if i, ok := w.Issue(ctx, task); ok {
		name = cmp.Or(core.AgentOf(i.Labels), name)
	}
	d, ok := w.Config.Agents[name]
	if !ok {
		return iteration.Config{}, &cli.Error{Code: "NO_AGENT", What: fmt.Sprintf("the task's label says agent:%s, and no such agent is set up", core.TaskID(name)), Exit: cli.ExitUsage,
			Fix: []string{"workflow.agents in project.yaml", "or change the label"}}
	}
	c := iteration.Config{MaxIterations: d.Iterations(), CompletionPromises: d.CompletionPromises}
	for _, r := range w.Config.Gate {
		if len(d.ValidationRules) == 0 || slices.Contains(d.ValidationRules, r.Name) {
			c.ValidationRules = append(c.ValidationRules, r)
		}
	}
	return c, nil
}
