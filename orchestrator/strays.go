package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/beadsorch/orch/orchestrator/engine"
	"github.com/beadsorch/orch/orchestrator/epic"
)

// clearStrays removes worktrees and branches that nothing will need: those of attempts which the
// journal does not know, having been cut or taken away, and those of tasks that are over, which an
// earlier run could not remove. Their work is made reachable first. What cannot be removed is reported,
// and is no reason not to run.
func (o *Orchestrator) clearStrays(ctx context.Context) ([]epic.Event, error) {
	list, err := o.fx.Store.List(ctx)
	if err != nil {
		return nil, fmt.Errorf("looking for worktrees of earlier runs: %w", err)
	}
	needed := o.neededBranches()
	var events []epic.Event
	for _, e := range list {
		over, known := needed[e.Branch]
		if known && !over {
			continue
		}
		found := epic.Event{Reason: "attempt " + fmt.Sprint(e.Attempt) + " at " + e.Task + ", which the journal does not know, is gone; its work is kept below refs/orch",
			Fact: epic.LeftoverFound{Path: strings.TrimSpace(e.Dir + " " + e.Branch)}}
		if known {
			found.Reason = fmt.Sprintf("attempt %d at %s was over, and is removed now", e.Attempt, e.Task)
		}
		if err := o.fx.Store.RemoveFound(ctx, e); err != nil {
			found.Reason = fmt.Sprintf("%s: attempt %d at %s: %v", Unremoved, e.Attempt, e.Task, err)
			if o.named[leftAt(found)] {
				continue
			}
		}
		events = append(events, found)
	}
	return events, nil
}

// neededBranches are the branches of the attempts that the journal knows, and whether what it knows
// of them is that they have been removed.
func (o *Orchestrator) neededBranches() map[string]bool {
	out := map[string]bool{}
	for _, t := range o.loop.State.Tasks {
		over := (t.State == epic.Landed || t.State == epic.Skipped) && t.Last().Phase == epic.Removed
		for _, a := range t.Attempts {
			out[o.fx.Store.Name(string(t.ID), a.Number).Branch] = over
		}
	}
	return out
}

// Unremoved begins the reason of an event about something that could not be removed.
const Unremoved = "could not be removed"

// leftovers are the events that say what of a killed run was found, but for what an earlier run
// has named already: it could not be removed, and still cannot.
func (o *Orchestrator) leftovers(found []engine.Leftover) (events []epic.Event) {
	for _, l := range found {
		if e := leftoverEvent(l); !o.named[leftAt(e)] {
			events = append(events, e)
		}
	}
	return events
}

// leftAt is what a leftover_found names; "" for other events.
func leftAt(e epic.Event) string {
	f, _ := e.Fact.(epic.LeftoverFound)
	return f.Path
}

func leftoverEvent(l engine.Leftover) epic.Event {
	return epic.Event{Fact: epic.LeftoverFound{Path: strings.TrimSpace(l.Path + " " + l.Ref)}, Reason: l.What + ": " + l.Fix}
}

// IsUnremoved reports whether an event is about what could not be removed.
func IsUnremoved(e epic.Event) bool {
	_, ok := e.Fact.(epic.LeftoverFound)
	return ok && strings.HasPrefix(e.Reason, Unremoved)
}

// closeStore removes the last of the worktrees. What it cannot, it writes down once, and keeps
// for those who ask: nothing is lost by it, and the run is no worse for it.
func (o *Orchestrator) closeStore(ctx context.Context) error {
	err := o.fx.Store.Close(ctx)
	var left *engine.LeftError
	if !errors.As(err, &left) {
		return err
	}
	var events []epic.Event
	for _, l := range left.Left {
		e := epic.Event{Fact: epic.LeftoverFound{Path: l.Path}, At: o.fx.Now().UTC(), Reason: Unremoved + ": " + l.What + ": " + l.Fix}
		if o.named[leftAt(e)] {
			continue
		}
		o.left, events = append(o.left, l), append(events, e)
	}
	if o.journal == nil || !o.loop.State.Driven() || len(events) == 0 {
		return nil
	}
	return o.append(events...)
}

// Left is what closing could not remove and no run has named yet.
func (o *Orchestrator) Left() []engine.Leftover { return o.left }
