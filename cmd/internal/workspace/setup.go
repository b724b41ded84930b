package workspace

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/beadsorch/orch/cmd/internal/config"
	"github.com/beadsorch/orch/orchestrator/command"
	"github.com/beadsorch/orch/orchestrator/engine"
	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/epicdir"
	"github.com/beadsorch/orch/orchestrator/private"
	"github.com/beadsorch/orch/orchestrator/setup"
	"github.com/beadsorch/orch/orchestrator/validation"
)

// setupPlan is what makes a new worktree ready.
func (w *Workspace) setupPlan() setup.Plan {
	return setup.Plan{Commands: w.Project.Config.Setup, Env: w.Project.SetupEnv(), Time: w.Project.Config.Limits.TaskTime}
}

// SetUp makes a worktree ready as that of a new attempt is, in a room of a sandbox whose commands find then what was fetched. printed is what
// its commands have printed, also where one of them fails. It fails as [setup.Plan.Run] does.
func (w *Workspace) SetUp(ctx context.Context, box engine.Sandbox, r engine.Room, tree string) (printed []byte, err error) {
	r.SetUp, r.Network = true, engine.Fetching
	printed, err = w.setupPlan().Run(ctx, box.In(r), tree)
	return w.Project.Invocation.Redact.Bytes(printed), err
}

// GateNetwork is what the gate has of the network.
func (w *Workspace) GateNetwork() engine.Network {
	if w.Project.Config.GateOpen() {
		return engine.AsAgents
	}
	return engine.Loopback
}

// VerifyRoom is what the commands of the gate share where they judge an attempt in its own worktree.
func (w *Workspace) VerifyRoom(epicID, task epic.TaskID, attempt int) engine.Room {
	r := engine.Room{Network: w.GateNetwork()}
	if len(w.Project.Config.Setup) > 0 {
		dir := w.EpicDir(epicID)
		r.Home, r.Fetched = epicdir.Home(dir, task), engine.Fetched(epicdir.Attempt(dir, task, attempt))
	}
	return r
}

// gateSetUp makes the worktree of the gate ready, whose commands run then in the same room, in the sandbox box if there is one: nothing that another
// judgement, or an agent, has written to a cache is in it. What was printed is kept in dir. nil where the settings name no setup.
func (w *Workspace) gateSetUp(box engine.Sandbox, dir string) func(context.Context, string) (command.Runner, func() error, error) {
	plan := w.setupPlan()
	if len(plan.Commands) == 0 {
		return nil
	}
	return func(ctx context.Context, tree string) (run command.Runner, done func() error, err error) {
		fetch, run, done := command.Runner(w.Project.Proc.RunGuarded), command.Runner(w.Project.Proc.RunGuarded), func() error { return nil }
		if box != nil {
			room, err := w.Project.Repo.Scratch("gate-")
			if err != nil {
				return nil, nil, err
			}
			done = func() error { return private.RemoveAll(room) }
			shared := engine.Room{Home: filepath.Join(room, "room"), Fetched: engine.Fetched(room), Network: w.GateNetwork()}
			run = box.In(shared)
			shared.SetUp, shared.Network = true, engine.Fetching
			fetch = box.In(shared)
		}
		printed, err := plan.Run(ctx, fetch, tree)
		if err = errors.Join(err, w.keepSetup(dir, printed)); err != nil {
			return nil, nil, errors.Join(err, done())
		}
		return run, done, nil
	}
}

// keepSetup keeps what the newest setup of the gate has printed in the folder of its epic.
func (w *Workspace) keepSetup(dir string, printed []byte) error {
	files, err := epicdir.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(files.WriteFile(epicdir.Setup(dir), w.Project.Invocation.Redact.Bytes(printed)), files.Close())
}

// GateTrial is one judgement of the gate that nothing depends on.
type GateTrial struct {
	// Dir is the worktree that is judged.
	Dir string
	// Folder is one for what a setup prints, three levels below one that is there.
	Folder string
	// Bounded says that it is judged in the sandbox: in that of the settings, or the strongest where these have it off.
	Bounded bool
}

// TryGate has the gate judge a worktree as the base of an epic is judged. It fails where the setup fails, or a rule cannot be asked, and as [Workspace.Sandbox] does.
func (w *Workspace) TryGate(ctx context.Context, t GateTrial) (v validation.Verdict, err error) {
	var box engine.Sandbox
	run := command.Runner(w.Project.Proc.RunGuarded)
	if t.Bounded {
		level := &w.Project.Config.Sandbox.Level
		if *level == config.SandboxOff {
			*level = config.SandboxAuto
		}
		if box, err = w.Sandbox(ctx); err != nil {
			return v, err
		}
		if box == nil {
			return v, errors.New("this system has no sandbox")
		}
		run = box.In(engine.Room{Network: w.GateNetwork()})
	}
	if setUp := w.gateSetUp(box, t.Folder); setUp != nil {
		ready, done, err := setUp(ctx, t.Dir)
		if err != nil {
			return v, err
		}
		defer func() { err = errors.Join(err, done()) }()
		run = ready
	}
	return validation.Judge(ctx, run, validation.Within(w.Project.Config.Gate, validation.OfTree), validation.Input{Dir: t.Dir, Env: w.Project.GateEnv(), Now: w.Now})
}
