package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/beadsorch/orch/orchestrator/command"
	"github.com/beadsorch/orch/orchestrator/engine"
	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/fault"
	"github.com/beadsorch/orch/orchestrator/git"
	"github.com/beadsorch/orch/orchestrator/land"
	"github.com/beadsorch/orch/orchestrator/proc"
	"github.com/beadsorch/orch/orchestrator/reason"
)

// How long processes of a killed run may take to end by themselves: git and bd
// are not killed young, since a killed git leaves locks and half-made
// worktrees.
const (
	orphanWait  = 5 * time.Second
	orphanGrace = 3 * time.Second
)

// reapSurvivors ends what a killed run left running, and reports what would not end.
func reapSurvivors(ctx context.Context, marker string) ([]epic.Event, error) {
	alive, err := proc.Reap(ctx, marker, orphanWait, orphanGrace)
	if err != nil {
		return nil, fmt.Errorf("ending what a killed run left running: %w", err)
	}
	var events []epic.Event
	for _, pid := range alive {
		events = append(events, epic.Event{Fact: epic.LeftoverFound{}, Code: reason.Orphaned, Reason: fmt.Sprintf("process %d of a killed run does not end", pid)})
	}
	return events, nil
}

// reconcileAttempts settles, by what git shows, every attempt that the journal
// leaves open: nothing is assumed done, and nothing is done twice.
func (o *Orchestrator) reconcileAttempts(ctx context.Context, mode epic.Mode) error {
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
		if e.Fact == nil {
			continue
		}
		if err := o.loop.record(e); err != nil {
			return err
		}
	}
	return nil
}

// finishLanding settles the landings that were under way: each either moved the branch or did
// not. The tip reference decides, which moves in the same transaction; where there is none, the
// branch.
func (o *Orchestrator) finishLanding(ctx context.Context) error {
	for _, k := range o.loop.State.GreenStacks() {
		on, err := o.isOn(ctx, k.Commits[len(k.Commits)-1])
		if err != nil {
			return fmt.Errorf("asking whether a landing was finished: %w", err)
		}
		if !on {
			continue
		}
		if err := o.loop.record(epic.Event{Fact: epic.TaskLanded{Candidates: k.Candidates}, Reason: "found on the epic branch"}); err != nil {
			return err
		}
	}
	if len(o.loop.State.Stacks) == 0 {
		return nil
	}
	return o.loop.record(epic.Event{Fact: epic.LandingLost{}, Reason: "orch was stopped while it landed"})
}

// isOn reports whether the epic branch, as this run found it, has a commit.
func (o *Orchestrator) isOn(ctx context.Context, c epic.Commit) (bool, error) {
	at := o.pinned
	if at == "" {
		var err error
		if at, err = o.fx.branch().at(ctx, o.fx.Store.EpicBranch()); err != nil {
			return false, err
		}
	}
	if at == "" || at == c {
		return at == c, nil
	}
	on, err := o.fx.Repo.IsAncestor(ctx, c, at)
	if errors.Is(err, git.ErrNoSuchRef) {
		return false, nil
	}
	return on, err
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
	if _, err := fx.Repo.Tree(ctx, epic.Commit(at)); errors.Is(err, git.ErrNoSuchRef) {
		return nil // collected, after all was done: the journal alone knows
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
		if err := o.loop.record(epic.Event{Fact: epic.TaskFound{Commit: commit}, Task: id, Reason: "its commit is on the epic branch already"}); err != nil {
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

// settle decides what became of an open attempt. An event without a fact means
// that it goes on as it is.
func (o *Orchestrator) settle(ctx context.Context, t *epic.Task, mode epic.Mode) (epic.Event, error) {
	a, fx := t.Last(), o.fx
	id := fx.attempt(t.ID, a.Number)
	there, gone := fx.Engine.Has(ctx, id), o.gone(t, mode)
	if there && (!a.HasAgent() || a.Phase == epic.HandedOver && gone == "") {
		return epic.Event{}, nil
	}
	if a.HasAgent() && !a.InSession {
		w, err := fx.Engine.Attach(ctx, id, func(engine.Progress) {})
		if !errors.Is(err, engine.ErrGone) {
			return endEvent(t.ID, a.Number, a.Iteration, completeWork(w, err)), nil
		}
	}
	why := "orch was stopped while the agent worked"
	if a.InSession && gone != "" {
		why = gone
	}
	if !there {
		return lostEvent(t, epic.AttemptLost{Head: a.Head}, why+"; its worktree is gone"), nil
	}
	return fx.salvage(ctx, t, why)
}

// lostEvent is the event for the loss of a task's newest attempt.
func lostEvent(t *epic.Task, f epic.AttemptLost, why string) epic.Event {
	return epic.Event{Fact: f, Task: t.ID, Attempt: t.Last().Number, Code: reason.Orphaned, Reason: why}
}

// salvage makes what a lost attempt has left reachable, and gives the event of its loss.
func (x *dispatch) salvage(ctx context.Context, t *epic.Task, why string) (epic.Event, error) {
	a := t.Last()
	w, err := x.Engine.Collect(ctx, engine.Job{AttemptID: x.attempt(t.ID, a.Number), Turn: a.Iteration, Base: a.Base, Abandon: true})
	if isUnreadable(err) && ctx.Err() == nil { // one attempt's damage is not the end of the epic
		return lostEvent(t, epic.AttemptLost{Head: a.Head}, why+"; its work on "+strings.TrimPrefix(x.Store.Name(string(t.ID), a.Number).Branch, "refs/heads/")+" cannot be read, and stays as it is: "+err.Error()), nil
	}
	if err != nil && w.Head == "" {
		return epic.Event{}, err
	}
	if w.Reason != "" {
		why += "; " + w.Reason
	}
	return lostEvent(t, epic.AttemptLost{Head: w.Head, Salvaged: w.Salvaged}, why), nil
}

// isUnreadable reports whether git itself says that something cannot be read, and no fault of the machine is why.
func isUnreadable(err error) bool {
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
