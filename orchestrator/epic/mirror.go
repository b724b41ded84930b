package epic

import (
	"fmt"
	"time"

	"github.com/beadsorch/orch/orchestrator/reason"
	"github.com/beadsorch/orch/orchestrator/tracker"
)

// The tracker is a mirror: what it should say follows from the state, so what
// it must be told is the difference, found anew each time. While one call is
// under way the differences gather, and the next call takes them all together.

// changes lists what the tracker has to be told by now.
func (s State) changes(now *clock) []tracker.Change {
	if s.Holder() != "" {
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

func (s State) change(t *Task, now *clock) (tracker.Change, bool) {
	id := string(t.ID)
	switch ours := t.Status == statusInProgress && t.Assignee == s.Run.Limits.Actor; {
	case t.Epic:
		return s.epicChange(t, now)
	case t.State == Landed:
		return closeChange(id, closedByLanding(t.Commit)), (t.Status != statusClosed || t.ClosedByAgent) && !s.Moved.Pending() && s.passes()
	case t.State == Running, t.State == Queued, t.State == Validating:
		if t.Status == statusBlocked && t.Written == statusBlocked || s.taking(t) && !now.Before(s.Cooldown) {
			return openChange(id), true // a retried task, or one that is taken over; the claim follows
		}
		return tracker.Change{ID: id, Kind: tracker.Claim}, t.Status == statusOpen && !now.Before(s.claimDue(t))
	case t.State == Parked && blocksParked(t.Code):
		return blockChange(id, fmt.Sprintf("[%s] %s", t.Code, t.Why)), t.Status == statusOpen || t.Status == statusInProgress || t.ClosedByAgent
	case t.State == Skipped && t.SkipStatus == giveClosed:
		return closeChange(id, t.Why), t.Status != statusClosed
	case t.State == Skipped && t.SkipStatus == giveBlocked:
		return blockChange(id, t.Why), t.Status == statusOpen || t.Status == statusInProgress
	case t.State == Waiting:
		release := t.ClosedByAgent || ours && s.Run.Drain != "" || s.takenOver(t) && !now.Before(s.Cooldown) || t.Status == statusBlocked && t.Written == statusBlocked
		return openChange(id), release
	}
	return tracker.Change{}, false
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
// goes along in one call.
func (s State) writeDue() time.Time { return s.tracker.wrote.Add(minWriteInterval) }

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
	case s.tracker.read.IsZero(), !now.Before(s.surveyDue()) && s.Run.Drain == "":
		return decideOne(Survey, Event{Fact: TrackerBusy{}})
	case len(changes) > 0 && (quiet || !now.Before(s.writeDue())):
		return []Decision{{Event: Event{Fact: TrackerBusy{}}, Act: Write, Changes: changes}}
	case len(changes) == 0 && quiet && s.tracker.stale && s.Run.Drain == "":
		return decideOne(Survey, Event{Fact: TrackerBusy{}}) // nothing is over before the tracker says so
	}
	return nil
}
