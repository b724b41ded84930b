package local

import (
	"context"
	"errors"
	"fmt"

	"github.com/beadsorch/orch/orchestrator/command"
	"github.com/beadsorch/orch/orchestrator/engine"
	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/epicdir"
	"github.com/beadsorch/orch/orchestrator/fault"
	"github.com/beadsorch/orch/orchestrator/private"
	"github.com/beadsorch/orch/orchestrator/setup"
	"github.com/beadsorch/orch/orchestrator/validation"
)

// setUp makes the worktree of a new attempt ready, but where a session works in it, and keeps what was printed. Where it fails the returned Work says how; nothing of an agent is to
// blame for that.
func (t *turn) setUp(ctx context.Context) (engine.Work, error) {
	if t.Turn != 1 || t.HandOver || len(t.e.SetUp.Commands) == 0 {
		return engine.Work{}, nil
	}
	if err := t.files.MkdirAll(t.dir); err != nil {
		return noWorktree("making the worktree ready", private.Refused(err))
	}
	run := command.Runner(t.e.Proc.RunGuarded)
	if t.e.Sandbox != nil {
		run = t.e.Sandbox.In(engine.Room{Home: epicdir.Home(t.e.Dir, t.Task), Fetched: engine.Fetched(t.dir), SetUp: true, Network: engine.Fetching})
	}
	printed, err := t.e.SetUp.Run(ctx, run, t.names.Dir)
	log := epicdir.Setup(t.dir)
	if kept := t.files.WriteFile(log, t.e.Redact.Bytes(printed)); kept != nil {
		err = errors.Join(err, private.Refused(kept))
	}
	var failed *setup.Error
	switch {
	case err == nil:
		return engine.Work{}, nil
	case ctx.Err() != nil:
		return engine.Work{End: epic.EndedStopped, Reason: "stopped"}, err
	case !errors.As(err, &failed):
		return noWorktree("making the worktree ready", err)
	}
	w := engine.Work{End: epic.EndedSetup, Reason: failed.Error()}
	if t.e.Sandbox != nil {
		w.Reason = joinClauses(w.Reason, validation.BoundsHint(failed.Check.Output))
	}
	w.Reason = joinClauses(w.Reason, "all of it is in "+log)
	if why, ok := fault.NoRoom(t.e.SetUp.Env, t.names.Dir, t.e.Repo.CommonDir()); ok {
		w.End, w.Reason = epic.EndedMachine, joinClauses(w.Reason, why)
	}
	return w, fmt.Errorf("making the worktree ready: %w", err)
}
