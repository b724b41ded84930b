package cmd

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/beadsorch/orch/beads"
	"github.com/beadsorch/orch/cmd/cli"
	"github.com/beadsorch/orch/cmd/iterate"
	"github.com/beadsorch/orch/orchestrator"
	"github.com/beadsorch/orch/orchestrator/checkpoint"
	"github.com/beadsorch/orch/orchestrator/core"
	"github.com/beadsorch/orch/orchestrator/iteration"
	"github.com/beadsorch/orch/orchestrator/proc"
	"github.com/beadsorch/orch/orchestrator/slug"
	"github.com/beadsorch/orch/orchestrator/validation"
	"github.com/beadsorch/orch/stophook/registry"
)

// iterationCommands are orch iteration and orch checkpoint.
func (a *app) iterationCommands() []*cobra.Command {
	return iterate.Commands(iterate.Host{
		Stdin: a.Stdin, Now: a.Now, Place: a.iterationPlace, Limit: a.limitTask, Hooks: a.iterationHooks, NeedsYou: cli.ExitWith(cli.ExitNeedsYou),
		Print: func(doc map[string]any, text string) error {
			if a.JSON {
				cli.WriteJSON(a.Stdout, doc)
				return nil
			}
			fmt.Fprint(a.Stdout, text)
			return nil
		},
		Fail: func(p iterate.Problem) error {
			exit := map[iterate.Kind]int{iterate.Usage: cli.ExitUsage, iterate.NotFound: cli.ExitNotFound, iterate.Held: cli.ExitHeld}[p.Kind]
			return &cli.Error{Code: p.Code, What: p.What, Why: p.Why, Fix: p.Fix, Exit: exit, Err: p.Err}
		},
	})
}

// iterationHooks has a task's hooks decide on an iteration.
func (a *app) iterationHooks(ctx context.Context, task string, n int, v validation.Verdict, output string, files []string) (iteration.Hook, error) {
	h := hookCmd{a}
	store, err := h.hooks()
	if err != nil {
		return iteration.Hook{}, err
	}
	in := registry.Context{TaskID: task, Iteration: n, ExecutionPhase: "iteration", FilesModified: append([]string{}, files...), AgentOutput: output}
	for _, c := range v.Checks {
		in.ValidationResults = append(in.ValidationResults, registry.Validation{RuleName: c.Rule, Passed: c.Passed, Message: c.Why})
	}
	e, some, err := h.decideByHooks(ctx, store, task, in)
	if err != nil || !some {
		return iteration.Hook{}, err
	}
	return iteration.Hook{ID: e.HookID, Action: string(e.Action), Reason: e.Reason, NextPrompt: e.NextPrompt}, nil
}

// limitTask leaves word for the run that drives a task.
func (a *app) limitTask(ctx context.Context, task string, n int) (told bool, err error) {
	p, t, err := a.look(ctx, []string{task})
	if err != nil || t == nil {
		return false, nil // orch has not driven it
	}
	return true, orchestrator.Ask(p.dir, core.Event{Kind: core.TaskLimited, Task: t.ID, Agent: &core.Agent{Iteration: n}, Reason: "asked by a person"}, a.Now())
}

// iterationPlace finds a task's loop: in the attempt that an agent calls from, in the open
// attempt of an epic, or for a task that orch does not drive in a folder of its own. The
// work is in the attempt's worktree, or here.
func (a *app) iterationPlace(ctx context.Context, task string) (iterate.Place, error) {
	w, err := a.open(ctx)
	if err != nil {
		return iterate.Place{}, err
	}
	p := iterate.Place{Dir: a.Dir, Env: w.gateEnv(), Run: w.sys.RunGuarded, Book: filepath.Join(w.dir, "iterations", slug.Of(task)),
		Config: func(ctx context.Context) (iteration.Config, error) { return w.iterationConfig(ctx, task) },
		Blocked: func(ctx context.Context) bool {
			i, ok := w.issue(ctx, task)
			return ok && i.Status == beads.StatusBlocked
		},
	}
	base := "HEAD"
	if dir := a.Getenv("ORCH_ATTEMPT_DIR"); dir != "" && a.Getenv("ORCH_TASK") == task {
		p.Book, p.Dir = filepath.Join(dir, checkpoint.Folder), cmp.Or(a.Getenv("ORCH_WORKTREE"), a.Dir)
	}
	if pic, t, err := a.look(ctx, []string{task}); err == nil && t != nil && t.Last().Open() {
		store, err := pic.store(pic.state.Epic)
		if err != nil {
			return p, err
		}
		last := t.Last()
		p.Book = filepath.Join(orchestrator.AttemptDir(pic.dir, t.ID, last.Number), checkpoint.Folder)
		p.Dir, base = store.Name(string(t.ID), last.Number).Dir, string(last.Base)
	}
	p.Products = func() (string, error) { return productsOf(p.Book) }
	p.Changed = func(ctx context.Context) ([]string, error) { return w.changedIn(ctx, p.Dir, base) }
	return p, nil
}

// iterationConfig is how the agent of a task iterates: the one that its label agent:NAME
// names, and me without one.
func (w *workspace) iterationConfig(ctx context.Context, task string) (iteration.Config, error) {
	name := core.DefaultAgent
	if i, ok := w.issue(ctx, task); ok {
		name = cmp.Or(core.AgentOf(i.Labels), name)
	}
	d, ok := w.cfg.Agents[name]
	if !ok {
		return iteration.Config{}, &cli.Error{Code: "NO_AGENT", What: fmt.Sprintf("the task's label says agent:%s, and no such agent is set up", core.TaskID(name)), Exit: cli.ExitUsage,
			Fix: []string{"workflow.agents in project.yaml", "or change the label"}}
	}
	c := iteration.Config{MaxIterations: d.Iterations(), CompletionPromises: d.CompletionPromises}
	for _, r := range w.cfg.Gate {
		if len(d.ValidationRules) == 0 || slices.Contains(d.ValidationRules, r.Name) {
			c.ValidationRules = append(c.ValidationRules, r)
		}
	}
	return c, nil
}

// issue is what the tracker says of a task; ok is false where it does not know it, or does
// not answer.
func (w *workspace) issue(ctx context.Context, task string) (beads.Issue, bool) {
	issues, err := w.survey(ctx)
	if err != nil {
		return beads.Issue{}, false
	}
	return beads.NewIndex(issues).Issue(task)
}

// changedIn lists the files in a folder that differ from a commit, new ones included.
func (w *workspace) changedIn(ctx context.Context, dir, base string) (files []string, err error) {
	for _, args := range [][]string{{"diff", "--name-only", "-z", "--no-renames", base, "--"}, {"ls-files", "--others", "--exclude-standard", "-z"}} {
		res, err := w.sys.Run(ctx, proc.Cmd{Dir: dir, Argv: append([]string{"git"}, args...), Env: w.Pick(append(systemEnv, gitEnv...)...)})
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
