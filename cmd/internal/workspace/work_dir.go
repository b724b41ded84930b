package workspace

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/orchestrator/checkpoint"
	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/epicdir"
	"github.com/beadsorch/orch/orchestrator/git"
	"github.com/beadsorch/orch/orchestrator/iteration"
	"github.com/beadsorch/orch/orchestrator/slug"
	"github.com/beadsorch/orch/orchestrator/validation"
)

// WorkDir is the folders of the work at a task: its files and its loop.
type WorkDir struct {
	// Dir is the folder of the work, absolute.
	Dir string
	// Base is the commit that the work began from; empty for the one that is checked out.
	Base git.Commit
	// LoopDir is the folder of the task's loop.
	LoopDir string
	// Task is what orch has done for the task; nil where it does not drive it here.
	Task *epic.Task
	// Epic is the epic that it drives it for.
	Epic epic.TaskID
}

// InSession reports whether a session works on the task: how it iterates is then in the epic's
// journal too.
func (at WorkDir) InSession() bool {
	return at.Task != nil && at.Task.Last().InSession && at.Task.Last().Open()
}

// FindWorkDir finds the work at a task: in the attempt that an agent calls from, in the newest one
// that goes on or has left checkpoints, or for a task that orch does not drive here, with the
// loop in a folder of its own. It fails as Store does, and where the journal of the task's epic cannot be believed.
func (w *Workspace) FindWorkDir(ctx context.Context, task string) (WorkDir, error) {
	at := WorkDir{Dir: w.Project.Invocation.Dir, LoopDir: filepath.Join(w.Project.Home, "iterations", slug.Of(task))}
	if dir := w.Project.Invocation.Getenv("ORCH_ATTEMPT_DIR"); dir != "" && w.Project.Invocation.Getenv("ORCH_TASK") == task {
		at.LoopDir, at.Dir = filepath.Join(dir, checkpoint.DirName), cmp.Or(w.Project.Invocation.Getenv("ORCH_WORKTREE"), w.Project.Invocation.Dir)
	}
	p, t, err := w.loadEpic(ctx, []string{task})
	if fault := JournalFault(err); fault != nil {
		return at, fault
	}
	if err != nil || t == nil || t.Last().Number == 0 {
		return at, nil
	}
	at.Task, at.Epic = t, p.State.Epic
	last := t.Last()
	loopDir := checkpoint.Dir(epicdir.Attempt(p.Folder, t.ID, last.Number))
	if !last.Open() && (t.State == epic.Landed || !cli.Exists(loopDir)) {
		return at, nil
	}
	store, err := p.Workspace.Store(p.State.Epic)
	if err != nil {
		return at, err
	}
	at.LoopDir = loopDir
	at.Dir, at.Base = store.Name(string(t.ID), last.Number).Dir, last.Base
	return at, nil
}

// Changed lists the files that the work has changed, new ones included, from the top of its
// work tree. It fails when git does.
func (w *Workspace) Changed(ctx context.Context, at WorkDir) (files []string, err error) {
	c, err := w.Project.Repo.CheckoutAt(at.Dir)
	if err == nil {
		files, err = w.Project.Repo.ChangedIn(ctx, c, at.Base)
	}
	if err != nil {
		return nil, fmt.Errorf("listing what has changed: %w", err)
	}
	return files, nil
}

// Iteration is how the agent of a task iterates: the one that its label agent:NAME names, and
// me without one. It fails where that is not set up.
func (w *Workspace) Iteration(ctx context.Context, task string) (iteration.Config, error) {
	name := epic.DefaultAgent
	if i, ok := w.Issue(ctx, task); ok {
		name = cmp.Or(epic.AgentOf(i.Labels), name)
	}
	if _, ok := w.Project.Config.Agents[name]; !ok {
		return iteration.Config{}, &cli.Error{Code: "NO_AGENT", What: fmt.Sprintf("the task's label says agent:%s, and no such agent is set up", epic.TaskID(name)), Exit: cli.ExitUsage,
			Fix: []string{"workflow.agents in project.yaml", "or change the label"}}
	}
	return w.iteration(name, false), nil
}

// iteration is how the agent of a name iterates, in a run and in a loop of its own. Its rules are
// those of the gate that its definition names, and those about what an agent says, which can be
// asked nowhere else. Where the gate judges what lands after it, that is all, and an agent that
// does not iterate meets the gate alone; a loop without rules of its own has all of the gate's.
func (w *Workspace) iteration(agent string, gated bool) iteration.Config {
	d := w.Project.Config.Agents[agent]
	c := iteration.Config{MaxIterations: d.Iterations(), CompletionPromises: d.CompletionPromises, CircuitBreakerThreshold: d.CircuitBreakerThreshold}
	for _, r := range w.Project.Config.Gate {
		named := slices.Contains(d.ValidationRules, r.Name) || len(d.ValidationRules) == 0 && !gated
		if r.Scope() == validation.OfAgent || named && (d.Enabled || !gated) {
			c.ValidationRules = append(c.ValidationRules, r)
		}
	}
	return c
}
