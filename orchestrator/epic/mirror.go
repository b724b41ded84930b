package epic

import (
	"fmt"
	"slices"
	"time"

	"github.com/beadsorch/orch/orchestrator/reason"
	"github.com/beadsorch/orch/orchestrator/tracker"
)

// The tracker is a mirror: what it should say follows from the state, so what
// it must be told is the difference, found anew each time. While one call is
// under way the differences gather, and the next call takes them all together.

// changes lists what the tracker has to be told by now.
func (s State) changes(now *clock) []tracker.Change {
	if s.Holder() != "" || s.confirming() {
		return nil // what the tracker says of the epic is another clone's to say
	}
	var out []tracker.Change
	for _, t := range s.Tasks {
		if t.External || t.Deleted {
			continue
		}
		if c, want := s.change(t, now); want && s.tracker.refused[refusal{t.ID, string(c.Kind)}] == "" {
			out = append(out, c)
		}
	}
	if s.FailureReport == "wanted" {
		out = append(out, s.metaIssue())
	}
	if len(out) == 0 {
		return s.releases(now)
	}
	if first, want := s.epicFirst(); want {
		return []tracker.Change{first}
	}
	return out
}

// change is what the tracker is to be told of a task, and whether it is to be told so now.
func (s State) change(t *Task, now *clock) (c tracker.Change, want bool) {
	if t.Epic {
		return s.epicChange(t, now)
	}
	id, inWork := string(t.ID), t.Status == statusOpen || t.Status == statusInProgress
	switch t.State {
	case Landed:
		return closeChange(id, closedByLanding(t.Commit)), s.closesLanded(t)
	case Running, Queued, Validating:
		if t.heldBlocked() || s.taking(t) && !now.Before(s.Cooldown) {
			return openChange(id), true // a retried task, or one that is taken over; the claim follows
		}
		return tracker.Change{ID: id, Kind: tracker.Claim}, t.Status == statusOpen && !now.Before(s.claimDue(t))
	case Parked:
		return blockChange(id, parkedNote(t.Code, t.Why)), blocksParked(t.Code) && (inWork || t.ClosedByAgent)
	case Skipped:
		if t.SkipStatus == giveClosed {
			return closeChange(id, t.Why), t.closesWaived()
		}
		return blockChange(id, t.Why), t.SkipStatus == giveBlocked && inWork
	case Waiting:
		return openChange(id), s.letsGo(t, now)
	}
	return tracker.Change{}, false
}

// heldBlocked reports whether the task is blocked in the tracker because orch had it blocked.
func (t *Task) heldBlocked() bool { return t.Status == statusBlocked && t.Written == statusBlocked }

// letsGo reports whether a waiting task is to be open in the tracker again: only an agent's word has closed it,
// the run takes no more work, it was at a clone that is gone, or a person has released it.
func (s State) letsGo(t *Task, now *clock) bool {
	ours := t.Status == statusInProgress && t.Assignee == s.Run.Limits.Actor
	return t.ClosedByAgent || ours && s.Run.Drain != "" || s.takenOver(t) && !now.Before(s.Cooldown) || t.heldBlocked()
}

// claimDue is when the tracker is told who works on t. A task that has landed by
// then is closed at once, which spares the tracker a call; in a session, whose
// runs are short, it is told right away.
func (s State) claimDue(t *Task) time.Time {
	if s.Run.Mode != ModeRun {
		return time.Time{}
	}
	return t.Last().Started.Add(claimDelay)
}

// What a person who skips a task wants the tracker to say.
const (
	giveClosed  = "closed"
	giveBlocked = "blocked"
)

// blocksParked reports whether the tracker is told that a task which orch has parked for a code is
// blocked; what a person did in the tracker is left as the person wants it.
func blocksParked(c reason.Code) bool {
	r, _ := reason.Of(c)
	return r.Blocks
}

func closeChange(id, reason string) tracker.Change {
	return tracker.Change{ID: id, Kind: tracker.Close, Reason: reason}
}

func openChange(id string) tracker.Change {
	return tracker.Change{ID: id, Kind: tracker.SetStatus, Status: tracker.StatusOpen}
}

func blockChange(id, note string) tracker.Change {
	return tracker.Change{ID: id, Kind: tracker.SetStatus, Status: tracker.StatusBlocked, Note: note}
}

// metaIssue is the issue that tells a person of repeated failures. It is not
// below the epic, so no agent is given it.
func (s State) metaIssue() tracker.Change {
	text := s.Run.DrainWhy + ".\n\n"
	for _, t := range s.Tasks {
		if t.State == Parked {
			text += fmt.Sprintf("- %s %s: [%s] %s\n", t.ID, t.Title, t.Code, t.Why)
		}
	}
	return tracker.Change{Kind: tracker.Create, Issue: &tracker.Issue{
		Title:       fmt.Sprintf("orch: repeated failures in epic %s", s.Epic),
		Description: text, Type: "bug", Priority: 1, Labels: []string{"orch-meta"},
	}}
}

// surveyDue is when the tracker is read again: soon, but never so often that
// reading it takes more than one part in surveyShare of the time.
func (s State) surveyDue() time.Time {
	if s.tracker.read.IsZero() {
		return s.Run.Started
	}
	return s.tracker.read.Add(max(s.Run.Limits.SurveyEvery, surveyShare*s.tracker.cost))
}

// writeDue is when the tracker may be written to again; what comes up until then
// goes along in one call. A run that is about to end waits only after a write that has failed.
func (s State) writeDue(ending bool) time.Time {
	if due := s.tracker.wrote.Add(minWriteInterval); !ending && due.After(s.tracker.writeAgain) {
		return due
	}
	return s.tracker.writeAgain
}

// trackerCalls makes the next call to the tracker, one at a time.
func trackerCalls(s State, now *clock) []Decision {
	if s.tracker.busy || now.Before(s.tracker.notYet) {
		return nil
	}
	quiet := s.quiet(now)
	if s.trackerGivenUp() && quiet {
		return nil
	}
	changes := s.changes(now)
	switch {
	case s.tracker.read.IsZero(), s.confirming(), !now.Before(s.surveyDue()) && s.Run.Drain == "":
		return decideOne(Survey, Event{Fact: TrackerBusy{}})
	case quiet && s.mustRead() && (len(changes) == 0 || s.closesEpic()):
		return decideOne(Survey, Event{Fact: TrackerBusy{}}) // nothing is over before the tracker says so
	case len(changes) > 0 && !now.Before(s.writeDue(quiet)):
		return []Decision{{Event: Event{Fact: TrackerBusy{}}, Act: Write, Changes: changes}}
	}
	return nil
}

// mustRead reports whether the tracker is to be read once more before the run ends, since something has happened
// after it was: somebody may have added a task. A run that takes no more work, and leaves some, is not done whatever
// the tracker says.
func (s State) mustRead() bool {
	return s.tracker.stale && (s.Run.Drain == "" || s.noneLeft() || s.closesEpic())
}

// noneLeft reports whether all tasks that agents are given are done.
func (s State) noneLeft() bool {
	return !slices.ContainsFunc(s.Tasks, (*Task).isLeft)
}

// closesEpic reports whether an epic is to be closed in the tracker, as soon as a reading has found nothing new.
func (s State) closesEpic() bool {
	return slices.ContainsFunc(s.Tasks, func(t *Task) bool { return t.Epic && !t.External && !t.Deleted && s.isFinished(t) })
}

// untold reports whether the tracker has yet to be told of work that has landed, or of a task that a person wants closed.
func (s State) untold() bool {
	return slices.ContainsFunc(s.Tasks, func(t *Task) bool {
		return t.Dispatchable() && !t.Deleted && (s.closesLanded(t) || t.closesWaived()) && s.tracker.refused[refusal{t.ID, string(tracker.Close)}] == ""
	})
}

// closesWaived reports whether the tracker is to be told that a person wants the task closed.
func (t *Task) closesWaived() bool { return t.waived() && t.Status != statusClosed }

// closesLanded reports whether the task has landed, and the tracker is to be told so.
func (s State) closesLanded(t *Task) bool {
	return t.State == Landed && (t.Status != statusClosed || t.ClosedByAgent) && !s.Moved.Pending() && s.passes()
}
