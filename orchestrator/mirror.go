package orchestrator

import (
	"fmt"
	"time"

	"github.com/beadsorch/orch/beads"
)

// The tracker is a mirror: what it should say follows from the state, so what
// it must be told is the difference, found anew each time. While one call is
// under way the differences gather, and the next call takes them all together.

// changes lists what the tracker has to be told.
func (s State) changes() []beads.Change {
	var out []beads.Change
	for _, t := range s.Tasks {
		if t.Outside || t.Deleted {
			continue
		}
		if c, want := s.change(t); want && s.tracker.refused[refusal{t.ID, string(c.Kind)}] == "" {
			out = append(out, c)
		}
	}
	if s.Meta == "wanted" {
		out = append(out, s.metaIssue())
	}
	return out
}

func (s State) change(t *Task) (beads.Change, bool) {
	id := string(t.ID)
	switch ours := t.Status == statusInProgress && t.Assignee == s.Run.Limits.Actor; {
	case t.Epic:
		return closing(id, "all tasks landed"), t.Status != statusClosed && s.complete(t.ID)
	case t.State == Landed:
		return closing(id, fmt.Sprintf("landed in %.12s", t.Commit)), t.Status != statusClosed
	case t.State == Running, t.State == Queued, t.State == Validating:
		if t.Status == statusBlocked && t.Told == statusBlocked {
			return opening(id), true // a retried task; the claim follows
		}
		return beads.Change{ID: id, Kind: beads.Claim}, t.Status == statusOpen
	case t.State == Parked && ownReason(t.Code):
		return blocking(id, fmt.Sprintf("[%s] %s", t.Code, t.Why)), t.Status == statusOpen || t.Status == statusInProgress
	case t.State == Skipped && t.Give == giveClosed:
		return closing(id, t.Why), t.Status != statusClosed
	case t.State == Skipped && t.Give == giveBlocked:
		return blocking(id, t.Why), t.Status == statusOpen || t.Status == statusInProgress
	case t.State == Waiting:
		release := ours && s.Run.Drain != "" || t.Status == statusBlocked && t.Told == statusBlocked
		return opening(id), release
	}
	return beads.Change{}, false
}

// What a person who skips a task wants the tracker to say.
const (
	giveClosed  = "closed"
	giveBlocked = "blocked"
)

// ownReason reports whether orch itself parked the task; what a person did in
// the tracker is left as the person wants it.
func ownReason(c Code) bool { return c != TrackerDrift && c != DepExternal }

func closing(id, reason string) beads.Change {
	return beads.Change{ID: id, Kind: beads.Close, Reason: reason}
}

func opening(id string) beads.Change {
	return beads.Change{ID: id, Kind: beads.SetStatus, Status: beads.StatusOpen}
}

func blocking(id, note string) beads.Change {
	return beads.Change{ID: id, Kind: beads.SetStatus, Status: beads.StatusBlocked, Note: note}
}

// metaIssue is the issue that tells a person of repeated failures. It is not
// below the epic, so no agent is given it.
func (s State) metaIssue() beads.Change {
	text := s.Run.DrainWhy + ".\n\n"
	for _, t := range s.Tasks {
		if t.State == Parked {
			text += fmt.Sprintf("- %s %s: [%s] %s\n", t.ID, t.Title, t.Code, t.Why)
		}
	}
	return beads.Change{Kind: beads.Create, Issue: &beads.Issue{
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

// trackerCalls makes the next call to the tracker, one at a time.
func trackerCalls(s State, now time.Time) []Decision {
	if s.tracker.busy || now.Before(s.tracker.notYet) {
		return nil
	}
	idle := s.idle(now)
	if s.gaveUp() && idle {
		return nil
	}
	changes := s.changes()
	switch {
	case s.tracker.read.IsZero(), !now.Before(s.surveyDue()) && s.Run.Drain == "":
		return one(Survey, Event{Kind: TrackerBusy})
	case len(changes) > 0 && (idle || !now.Before(s.tracker.wrote.Add(writePause))):
		return []Decision{{Event: Event{Kind: TrackerBusy}, Act: Write, Changes: changes}}
	case len(changes) == 0 && idle && s.tracker.stale && s.Run.Drain == "":
		return one(Survey, Event{Kind: TrackerBusy}) // nothing is over before the tracker says so
	}
	return nil
}

// gaveUp reports whether the tracker has failed so often that the run ends without it.
func (s State) gaveUp() bool {
	return s.tracker.failures >= trackerPatience || s.Run.Kill && s.tracker.failures > 0
}

// told reports whether nothing is left to say to the tracker, or nobody listens.
func (s State) told() bool {
	if s.gaveUp() {
		return true
	}
	return !s.tracker.read.IsZero() && len(s.changes()) == 0 && (!s.tracker.stale || s.Run.Drain != "")
}
