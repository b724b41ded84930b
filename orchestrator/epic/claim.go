package epic

import (
	"slices"
	"strings"

	"github.com/beadsorch/orch/orchestrator/tracker"
)

// The epic itself is claimed in the tracker for as long as a run has work to do, so that
// another clone with the same tracker does nothing twice. It is asked for once a run, beside
// the gate's check of the base; agents start when it is answered. While another clone has it,
// this one writes nothing to the tracker, and concludes nothing from what is in progress there.
//
// A closed epic is opened before it is claimed, where something is to be done after all. A tracker
// may open it also when another clone has claimed it a moment ago: so what was opened and claimed
// is read once more before anything rests on it.

// Holder is the orch of another clone that has the epic, as the tracker names it; "" for none.
// A run that was told to take over counts only who takes it later.
func (s State) Holder() string {
	t := s.Task(s.Epic)
	if t == nil || t.Status != statusInProgress || t.Assignee == s.Run.Limits.Actor || !strings.HasPrefix(t.Assignee, ActorPrefix) {
		return ""
	}
	if s.Run.Limits.TakeOver && !s.tracker.claimed {
		return ""
	}
	return t.Assignee
}

// HolderName is a holder in words for a person.
func HolderName(actor string) string {
	name := actor[strings.LastIndex(actor, "/")+1:]
	if host, clone, ok := strings.Cut(name, ":"); ok {
		return "the orch of another clone (" + clone + " on " + host + ")"
	}
	return "the orch of another clone (" + name + ")"
}

// epicOurs reports whether agents may work as far as other clones are concerned: the epic is
// claimed, or is nothing that orch could claim (a person has it).
func (s State) epicOurs() bool {
	t := s.Task(s.Epic)
	switch {
	case t == nil || t.Deleted || s.tracker.refused[refusal{s.Epic, string(tracker.Claim)}] != "":
		return true
	case s.Holder() != "", s.confirming(), s.reopensEpic(t):
		return false
	case t.Status == statusInProgress:
		return !strings.HasPrefix(t.Assignee, ActorPrefix) || t.Assignee == s.Run.Limits.Actor
	}
	return t.Status != statusOpen || t.Assignee != "" && t.Assignee != s.Run.Limits.Actor
}

// reopensEpic reports whether the epic is to be opened again before it can be claimed: it is closed, the tracker does
// not refuse, and nobody closed it while this run had it, which a person may, and has what is under way go on.
func (s State) reopensEpic(t *Task) bool {
	underUs := s.tracker.claimed && t.Written == statusInProgress
	return t.Status == statusClosed && !underUs && s.tracker.refused[refusal{t.ID, string(tracker.Reopen)}] == ""
}

// confirming reports whether the claim of an epic that was opened for it has yet to be read back.
func (s State) confirming() bool { return s.tracker.reopened && s.holdsEpic() && s.Run.Drain == "" }

// holdsEpic reports whether the tracker says that the epic is this clone's. Then the orch of no
// other clone is at a task of it: each would have claimed the epic first.
func (s State) holdsEpic() bool {
	t := s.Task(s.Epic)
	return t != nil && !t.Deleted && t.Status == statusInProgress && t.Assignee == s.Run.Limits.Actor
}

// epicFirst is the change to the epic that comes before all others: nothing is written to the tracker
// of an epic that orch could claim and has not.
func (s State) epicFirst() (tracker.Change, bool) {
	t := s.Task(s.Epic)
	if t == nil || t.Deleted {
		return tracker.Change{}, false
	}
	c, want := s.claiming(t)
	return c, want && s.tracker.refused[refusal{t.ID, string(c.Kind)}] == ""
}

// claiming is the change that makes the epic this clone's, or brings that about; none where it is
// already, or is a person's.
func (s State) claiming(t *Task) (tracker.Change, bool) {
	switch {
	case t.Status == statusInProgress && strings.HasPrefix(t.Assignee, ActorPrefix) && t.Assignee != s.Run.Limits.Actor:
		return openChange(string(t.ID)), true // a person has said so: take over
	case t.Status == statusOpen && (t.Assignee == "" || t.Assignee == s.Run.Limits.Actor):
		return tracker.Change{ID: string(t.ID), Kind: tracker.Claim}, true
	case s.reopensEpic(t):
		return tracker.Change{ID: string(t.ID), Kind: tracker.Reopen}, true
	}
	return tracker.Change{}, false
}

// epicChange is what the tracker has to be told of the epic by now.
func (s State) epicChange(t *Task, now *clock) (tracker.Change, bool) {
	id := string(t.ID)
	switch {
	case s.isFinished(t):
		return closeChange(id, "all tasks landed"), !s.tracker.stale && !slices.ContainsFunc(s.Tasks, (*Task).closesWaived)
	case t.Status == statusClosed && t.Written == statusClosed && s.hasOpenTask(t.ID):
		return openChange(id), true // a task has come up since this clone has closed it
	}
	closedAndIdle := t.Status == statusClosed && !s.workLeft(now) && !s.queueWaits() && !slices.ContainsFunc(s.Tasks, s.leftByAnother)
	if t.ID != s.Epic || s.epicIsOver(now) || closedAndIdle {
		return tracker.Change{}, false
	}
	return s.claiming(t)
}

// isFinished reports whether all below the epic is done, and the tracker is to say so.
func (s State) isFinished(t *Task) bool {
	return t.Status != statusClosed && s.complete(t.ID) && !s.Moved.Pending() && !s.unjudged()
}

// hasOpenTask reports whether a task below the epic, which agents are given, is not done.
func (s State) hasOpenTask(epic TaskID) bool {
	return slices.ContainsFunc(s.Tasks, func(t *Task) bool {
		return t.isLeft() && s.below(t, epic)
	})
}

// epicIsOver reports whether this clone has nothing more to do for the epic for now.
func (s State) epicIsOver(now *clock) bool {
	return s.quiet(now) && !s.inSession() && len(meta(s, now)) == 0 && !slices.ContainsFunc(s.Tasks, s.leftByAnother)
}

// releases lists the change that gives the epic back, for when the tracker knows all else.
func (s State) releases(now *clock) []tracker.Change {
	t := s.Task(s.Epic)
	if t == nil || t.Deleted || t.Status != statusInProgress || t.Assignee != s.Run.Limits.Actor || !s.epicIsOver(now) ||
		s.tracker.refused[refusal{s.Epic, string(tracker.SetStatus)}] != "" {
		return nil
	}
	return []tracker.Change{openChange(string(t.ID))}
}

// inSession reports whether a session works on a task of the epic.
func (s State) inSession() bool {
	for _, t := range s.Tasks {
		if a := t.Last(); a.InSession && a.Open() {
			return true
		}
	}
	return false
}
