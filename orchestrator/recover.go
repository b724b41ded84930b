package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/beadsorch/orch/orchestrator/command"
	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/fault"
	"github.com/beadsorch/orch/orchestrator/git"
	"github.com/beadsorch/orch/orchestrator/land"
	"github.com/beadsorch/orch/orchestrator/proc"
)

// How long processes of a killed run may take to end by themselves: git and bd
// are not killed young, since a killed git leaves locks and half-made
// worktrees.
const (
	orphanWait  = 5 * time.Second
	orphanGrace = 3 * time.Second
)

// reap ends what a killed run left running, and reports what would not end.
func reap(ctx context.Context, marker string) ([]epic.Event, error) {
	alive, err := proc.Reap(ctx, marker, orphanWait, orphanGrace)
	if err != nil {
		return nil, fmt.Errorf("ending what a killed run left running: %w", err)
	}
	var events []epic.Event
	for _, pid := range alive {
		events = append(events, epic.Event{Kind: epic.LeftoverFound, Code: epic.Orphaned, Reason: fmt.Sprintf("process %d of a killed run does not end", pid)})
	}
	return events, nil
}

// lookAtTheWorld settles, by what git shows, every attempt that the journal
// leaves open: nothing is assumed done, and nothing is done twice.
func (o *Orchestrator) lookAtTheWorld(ctx context.Context, mode epic.Mode) error {
	if err := o.finishLanding(ctx); err != nil {
		return err
	}
	if err := o.checkTip(ctx); err != nil {
		return err
	}
	if err := o.findLanded(ctx); err != nil {
		return err
	}
	for _, t := range o.loop.State.Tasks {
		if !t.Last().Open() || t.State != epic.Running {
			continue
		}
		e, err := o.settle(ctx, t, mode)
		if err != nil {
			return fmt.Errorf("looking at attempt %d of %s: %w", t.Last().Number, t.ID, err)
		}
		if e.Kind == "" {
			continue
		}
		if err := o.loop.record(e); err != nil {
			return err
		}
	}
	return nil
}

// finishLanding settles a landing that was under way: it either moved the branch or did not.
// The tip reference tells, which moves in the same transaction; where there is none, the branch.
func (o *Orchestrator) finishLanding(ctx context.Context) error {
	fx, l := o.fx, o.loop.State.Landing
	if len(l.Tasks) == 0 {
		return nil
	}
	if len(l.Commits) > 0 {
		top, at := l.Commits[len(l.Commits)-1], o.pinned
		if at == "" {
			var err error
			if at, err = fx.tip(ctx, fx.Store.EpicBranch()); err != nil {
				return fmt.Errorf("asking whether a landing was finished: %w", err)
			}
		}
		on, err := at == top, error(nil)
		if at != "" && !on {
			on, err = fx.Repo.IsAncestor(ctx, top, at)
		}
		if err != nil && !errors.Is(err, git.ErrNoSuchRef) {
			return fmt.Errorf("asking whether a landing was finished: %w", err)
		}
		if on {
			return o.loop.record(epic.Event{Kind: epic.TaskLanded, Reason: "found on the epic branch", Land: &epic.Land{Tasks: l.Tasks, Commits: l.Commits, Old: l.Old}})
		}
	}
	return o.loop.record(epic.Event{Kind: epic.LandingLost, Reason: "orch was stopped while it landed"})
}

// findLanded asks the epic branch, by its trailers, for landings that the journal does not
// know, as when it was lost or cut. Anybody can write trailers: one counts when the tip
// reference has it, it merges something and changes something; and nothing rests on it before
// the gate has passed on the branch.
func (o *Orchestrator) findLanded(ctx context.Context) error {
	fx, s := o.fx, o.loop.State
	fx.found = map[epic.TaskID]epic.Commit{}
	if s.Moved.Pending() && s.Moved.To == "" {
		return nil
	}
	at := string(o.pinned)
	if at == "" {
		at = string(s.Tip)
	}
	landed, err := land.LandedAll(ctx, fx.Repo, at, o.since(ctx))
	if err != nil {
		return fmt.Errorf("reading what has landed: %w", err)
	}
	for key, commit := range landed {
		id, n := attemptOf(key)
		t := s.Task(id)
		if t != nil && (t.State == epic.Landed || n < t.Last().Number || n == t.Last().Number && !t.Last().Open()) {
			continue // the journal knows what became of it
		}
		if real, err := land.Genuine(ctx, fx.Repo, commit); err != nil || !real {
			continue
		}
		if t == nil {
			fx.found[id] = commit // when the tracker names it
			continue
		}
		if err := o.loop.record(epic.Event{Kind: epic.TaskFound, Task: id, Reason: "its commit is on the epic branch already", Land: &epic.Land{Commits: []epic.Commit{commit}}}); err != nil {
			return err
		}
	}
	return nil
}

// since is where the epic branch left the person's own history, "" when it
// cannot be told.
func (o *Orchestrator) since(ctx context.Context) epic.Commit {
	if o.base == "" {
		return o.loop.State.Base
	}
	base, err := o.fx.Repo.Out(ctx, "merge-base", string(o.base), string(o.loop.State.Tip))
	if err != nil {
		return o.loop.State.Base
	}
	return epic.Commit(base)
}

// settle decides what became of an open attempt. An event without a kind means
// that it goes on as it is.
func (o *Orchestrator) settle(ctx context.Context, t *epic.Task, mode epic.Mode) (epic.Event, error) {
	a, fx := t.Last(), o.fx
	exists := fx.Store.Exists(string(t.ID), a.Number)
	if exists && (!a.Agent || a.Handed && mode != epic.Headless) {
		return epic.Event{}, nil
	}
	lost := epic.Event{Kind: epic.AttemptLost, Task: t.ID, Attempt: a.Number, Code: epic.Orphaned, Agent: &epic.Agent{Head: a.Head},
		Reason: "orch was stopped while the agent worked"}
	if a.InSession {
		lost.Reason = "it was a session's; orch run takes over"
	}
	if !exists {
		lost.Reason += "; its worktree is gone"
		return lost, nil
	}
	d := epic.Decision{Event: epic.Event{Task: t.ID, Attempt: a.Number}}
	w, err := fx.Store.Harvest(ctx, string(t.ID), a.Number, a.Base, salvageMessage(t, d))
	if ofObjects(err) && ctx.Err() == nil { // one attempt's damage is not the end of the epic
		lost.Reason += "; its work on " + shortBranch(fx.Store.Name(string(t.ID), a.Number).Branch) + " cannot be read, and stays as it is: " + err.Error()
		return lost, nil
	}
	if err != nil {
		return epic.Event{}, err
	}
	lost.Agent.Head, lost.Agent.Salvaged = w.Head, w.Salvaged
	if why := unreadable(w, fx.Store.Name(string(t.ID), a.Number).Branch); why != "" {
		lost.Reason += "; " + why
	}
	if w.Head != a.Base {
		err = fx.Store.Attic(ctx, string(t.ID), a.Number, w.Head)
	}
	return lost, err
}

// ofObjects reports whether git itself says that something cannot be read, and no fault of the machine is why.
func ofObjects(err error) bool {
	if _, machine := fault.Machine(err); machine {
		return false
	}
	var exit *command.ExitError
	return errors.Is(err, git.ErrNoSuchRef) || errors.As(err, &exit) && exit.Signal == ""
}

// attemptOf takes the value of an Orch-Attempt trailer apart.
func attemptOf(key string) (task epic.TaskID, n int) {
	i := strings.LastIndexByte(key, '/')
	if i < 0 {
		return epic.TaskID(key), 0
	}
	n, err := strconv.Atoi(key[i+1:])
	if err != nil {
		return epic.TaskID(key), 0
	}
	return epic.TaskID(key[:i]), n
}
