package workspace

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/beadsorch/orch/cmd/internal/config"
	"github.com/beadsorch/orch/cmd/internal/inside"
	"github.com/beadsorch/orch/orchestrator"
	"github.com/beadsorch/orch/orchestrator/command"
	"github.com/beadsorch/orch/orchestrator/engine"
	"github.com/beadsorch/orch/orchestrator/engine/local"
	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/harness/all"
	"github.com/beadsorch/orch/orchestrator/land"
	"github.com/beadsorch/orch/orchestrator/private"
	"github.com/beadsorch/orch/orchestrator/sandbox"
	"github.com/beadsorch/orch/orchestrator/sandbox/cell"
	"github.com/beadsorch/orch/orchestrator/slug"
	"github.com/beadsorch/orch/worktree"
)

// Store is the epic's worktrees and branches. It fails when their folder cannot be used.
func (w *Workspace) Store(epicID epic.TaskID) (*worktree.Store, error) {
	return worktree.Open(worktree.Options{
		Repo: w.Project.Repo, Root: filepath.Join(w.Project.Worktrees(), slug.Of(string(epicID))), Epic: string(epicID),
		Lock: filepath.Join(w.Project.Home, "worktree.lock"), Now: w.Now,
		Limits: worktree.Limits{FileBytes: w.Project.Config.Limits.FileSize, CommitBytes: w.Project.Config.Limits.CommitSize},
	})
}

// CloseEpic closes the epic, and takes the default folder of worktrees away when that was the
// last one in it. What cannot be removed it says on standard error, and does not fail for; shown says
// that the events of the journal, which tell it as well, are shown as they come. It fails as closing does.
func (w *Workspace) CloseEpic(ctx context.Context, o *orchestrator.Orchestrator, shown bool) error {
	err := o.Close(ctx)
	for _, l := range o.Left() {
		if !shown {
			w.warnLeft(l.Path, l.What, l.Fix)
		}
	}
	if w.Project.Config.Worktree.Dir != "" {
		return err
	}
	switch rm := syscall.Rmdir(w.Project.Besides()); rm { // which takes neither a link nor a file away
	case nil, syscall.ENOENT, syscall.ENOTDIR, syscall.ENOTEMPTY, syscall.EEXIST:
	default:
		w.warnLeft(w.Project.Besides(), rm.Error(), "")
	}
	return err
}

// warnLeft says of something that nobody needs any more why it is there still.
func (w *Workspace) warnLeft(path, why, fix string) {
	fmt.Fprintf(w.Project.Invocation.Stderr, "left behind: %s: %s\n", path, why)
	if fix != "" {
		fmt.Fprintf(w.Project.Invocation.Stderr, "  fix   %s\n", fix)
	}
}

// Permits are what a person has said of one run.
type Permits struct {
	Withheld  error                    // why the gate may not run; nil where it may
	Protected map[epic.TaskID][]string // globs of protected paths that a task may change
	Hooks     engine.Hooks             // of tasks; nil for none
	Agents    bool                     // are started, so that their sandbox has to be there
	Served    []string                 // variables of an orch that is started for an agent, beside the run's own
}

// Deps is all that an Orchestrator of the epic works with. It fails as Store does, when orch's
// folder cannot be made, and when it cannot be known who this clone is.
func (w *Workspace) Deps(ctx context.Context, epicID epic.TaskID, t orchestrator.Tracker, p Permits) (orchestrator.Deps, error) {
	here := w.Project
	store, err := w.Store(epicID)
	if err != nil {
		return orchestrator.Deps{}, err
	}
	if err := private.MkdirBelow(here.Home, 1); err != nil {
		return orchestrator.Deps{}, fmt.Errorf("making orch's folder: %w", err)
	}
	me, err := w.clone(ctx)
	if err != nil {
		return orchestrator.Deps{}, err
	}
	dir := w.EpicDir(epicID)
	reading := inside.NewReading(t, here.Invocation.Redact.String)
	desk := inside.NewDesk(inside.Options{
		Tracker: reading, Self: here.Invocation.Self, Env: slices.Concat(here.Invocation.Env, p.Served), Dir: here.Root, RuleEnv: here.GateEnv(), Run: here.Proc.Run, Now: w.Now,
	})
	box, err := w.sandbox(ctx, func(v cell.Visit) (func() error, error) {
		return desk.Serve(inside.Attempt{Task: string(v.Stay.ID.Task), Epic: string(v.Stay.ID.Epic), Actor: v.Stay.Actor, Env: v.Stay.Env, Folder: v.Folder, Wrap: v.Wrap})
	})
	level, judging := epic.NoSandbox, command.Runner(here.Proc.RunGuarded)
	switch {
	case err != nil && p.Agents:
		return orchestrator.Deps{}, err
	case err != nil:
		judging = func(context.Context, command.Cmd) (command.Result, error) { return command.Result{ExitCode: -1}, err }
	case box != nil:
		level, judging = box.Level(), box.In(engine.Room{Network: w.GateNetwork()})
	}
	gateSetUp := w.gateSetUp(box, dir)
	if err != nil { // where nothing starts, the setup does not
		gateSetUp = nil
	}
	return orchestrator.Deps{
		Epic: epicID, Dir: dir, Tracker: reading, Repo: here.Repo, Store: store, Marker: here.Marker(),
		Engine: w.engineKind().open(local.Options{
			Dir: dir, Repo: here.Repo, Bench: store, Proc: here.Proc, Harness: w.harness, Env: here.AgentEnv(ctx), RuleEnv: here.GateEnv(),
			Hooks: p.Hooks, SetUp: w.setupPlan(), Sandbox: box, Redact: here.Invocation.Redact, Now: w.Now,
		}),
		Lander: land.NewLander(land.Options{
			Epic: epicID, Dir: dir, Branch: store.EpicBranch(), Repo: here.Repo, Checkouts: store, Run: judging, SetUp: gateSetUp, Bounded: box != nil, Offline: box != nil && sandbox.Level(level).Mounts() && !here.Config.GateOpen(), Env: here.GateEnv(),
			Gate: here.Config.Gate, Before: w.setupPlan().Rules(), Withheld: p.Withheld, Protect: append(all.Protected(), here.Config.Protect...), AllowProtected: p.Protected,
			Redact: here.Invocation.Redact, Now: w.Now,
		}),
		Agents: orchestrator.Agents{
			Client: w.client(), Roles: w.roles(), Gate: here.Config.Gate, Tasks: w.TasksCommand(),
			Limits: engine.Limits{Time: here.Config.Limits.TaskTime, NoProgress: here.Config.Limits.NoProgress, Files: here.Config.Limits.Files},
		},
		Sandbox: level, Recover: func(ctx context.Context) ([]engine.Leftover, error) { return cell.RecoverAll(ctx, here.Repo, dir) },
		Settings: here.Origins.Values(), Limits: w.limits(epicID, me), Former: actor(epicID, me.Former), SessionGone: w.SessionGone(epicID),
		Redact: here.Invocation.Redact, Now: w.Now, Hurry: here.Proc.Hurry,
	}, nil
}

// engineKind is the kind of engine that the settings name.
func (w *Workspace) engineKind() engineKind {
	all := engineKinds()
	for _, e := range all {
		if e.name == w.Project.Config.Run.Engine {
			return e
		}
	}
	return all[0]
}

// actor is the name under which a clone claims in the tracker what is of an epic; "" for no clone.
func actor(epicID epic.TaskID, clone string) string {
	if clone == "" {
		return ""
	}
	return epic.ActorPrefix + string(epicID) + "/" + clone
}

func (w *Workspace) limits(epicID epic.TaskID, me identity) epic.Limits {
	run, cap := w.Project.Config.Run, w.Project.Config.Limits
	byAgent := agentIterations(w.Project.Config.Agents)
	return epic.Limits{
		MaxParallel: run.MaxParallel, Attempts: run.Attempts, Iterations: byAgent[epic.DefaultAgent], ByAgent: byAgent, MaxIterations: run.MaxIterations,
		MaxDuration: run.MaxDuration, MaxFailures: run.MaxConsecutiveFailures,
		Budget: epic.Usage{CostUSD: cap.CostUSD, Tokens: cap.Tokens}, TaskBudget: epic.Usage{CostUSD: cap.TaskCostUSD, Tokens: cap.TaskTokens},
		SurveyEvery: 5 * time.Second, Resumes: w.resumes(), Into: run.Into,
		Actor:       actor(epicID, me.Name),
		PoolBackOff: 30 * time.Second, CrashBackOff: time.Second, BreakerBackOff: 10 * time.Second,
	}
}

// roles are the agents' own texts, and how their turns are judged. The name "" is for agents that
// nothing is known of.
func (w *Workspace) roles() map[string]orchestrator.Role {
	roles := map[string]orchestrator.Role{"": {Iteration: w.iteration("", true)}}
	for name, text := range w.Project.Config.Roles {
		roles[name] = orchestrator.Role{Text: text, Iteration: w.iteration(name, true)}
	}
	for name := range w.Project.Config.Agents {
		roles[name] = orchestrator.Role{Text: w.Project.Config.Roles[name], Iteration: w.iteration(name, true)}
	}
	return roles
}

// agentIterations is how often each agent may go on in one attempt.
func agentIterations(agents map[string]config.Definition) map[string]int {
	out := map[string]int{}
	for name, d := range agents {
		out[name] = d.Iterations()
	}
	return out
}
