package local

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/beadsorch/orch/orchestrator/command"
	"github.com/beadsorch/orch/orchestrator/engine"
	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/epicdir"
)

// left is what an agent ran in, and has to be left before its work is looked at.
type left interface {
	Leave(ctx context.Context) (engine.Left, error)
}

// abandoned is what an attempt ran in whose process has ended without leaving it, if there is any.
type abandoned struct {
	e      *Engine
	folder string // of the attempt
}

// Leave takes back what was committed there.
func (a abandoned) Leave(ctx context.Context) (engine.Left, error) {
	if a.e.Sandbox == nil {
		return engine.Left{}, nil
	}
	return a.e.Sandbox.Recover(ctx, a.folder)
}

// enter has the agent's command run within the bounds of the sandbox, if there is one. It fails as that does.
func (t *turn) enter(ctx context.Context, c command.Cmd, brief string) (command.Cmd, error) {
	if t.e.Sandbox == nil {
		return c, nil
	}
	cell, err := t.e.Sandbox.Enter(ctx, engine.Stay{
		ID: t.AttemptID, Actor: t.Actor,
		Dir: t.names.Dir, Branch: t.names.Branch, Folder: t.dir, Home: epicdir.Home(t.e.Dir, t.Task), Client: t.Client.Harness, Command: c.Argv, Env: c.Env, Read: []string{brief},
	})
	if err != nil {
		return c, err
	}
	t.cell = cell
	return cell.Wrap(c)
}

// leave takes back what the agent has committed in its sandbox, and says in a clause what was not. It fails as that does.
func (t *turn) leave(ctx context.Context, w *engine.Work) error {
	if t.cell == nil {
		return nil
	}
	l, err := t.cell.Leave(context.WithoutCancel(ctx))
	if err != nil {
		return fmt.Errorf("taking back what was committed in the sandbox: %w", err)
	}
	t.cell = nil
	w.Refused = l.Refused
	for what, names := range map[string][]string{"not taken back from the sandbox, since only the branch is: ": l.Dropped, "moved aside, since it was not for the agent to put there: ": l.Planted} {
		if len(names) > 0 {
			w.Reason = joinClauses(w.Reason, what+strings.Join(names[:min(len(names), 5)], ", "))
		}
	}
	return nil
}

// judging runs the commands that judge a turn.
func (t *turn) judging() command.Runner {
	switch {
	case t.e.Sandbox == nil:
		return t.e.Proc.RunGuarded
	case len(t.e.SetUp.Commands) == 0:
		return t.e.Sandbox.In(engine.Room{})
	}
	return t.e.Sandbox.In(engine.Room{Home: epicdir.Home(t.e.Dir, t.Task), Fetched: engine.Fetched(t.dir)})
}

// level is what bounds agents here.
func (e *Engine) level() string {
	if e.Sandbox == nil {
		return epic.NoSandbox
	}
	return e.Sandbox.Level()
}

// removeHome removes the home of a task's agents, with the conversations in it, and what the setup of the attempt has fetched.
func (e *Engine) removeHome(id engine.AttemptID) error {
	files, err := epicdir.Open(e.Dir)
	if err != nil {
		return err
	}
	return errors.Join(files.RemoveAll(epicdir.Home(e.Dir, id.Task)), files.RemoveAll(engine.Fetched(epicdir.Attempt(e.Dir, id.Task, id.Number))), files.Close())
}
