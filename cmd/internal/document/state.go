package document

import (
	"cmp"
	"time"

	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/reason"
	"github.com/beadsorch/orch/orchestrator/refname"
)

// What several documents say of the state of an epic is made here, once for all of them.

// standing is how an epic stands.
type standing struct {
	promise epic.Promise
	code    reason.Code
	reason  string
	counts  epic.Counts
}

// standingOf is how an epic stands in each document that has a promise, a reason or counts.
func standingOf(sum epic.Summary) standing {
	return standing{promise: sum.Promise, code: sum.Code, reason: sum.Reason, counts: sum.Counts}
}

// rowOf is a task as it is shown.
func rowOf(s epic.State, t *epic.Task, now time.Time) TaskRow {
	last := t.Last()
	row := TaskRow{TaskProgress: TaskProgress{ID: t.ID, State: s.StateOf(t, now), Reason: t.Reason(), Why: t.Why, Attempts: len(t.Attempts), Iterations: last.Iterations(), Guard: last.Loop.Guard},
		Title: t.Title, Tracker: t.Status, Since: t.Since, Commit: t.Commit}
	for _, r := range last.Rounds {
		row.Scores = append(row.Scores, r.ValidationScore)
	}
	if row.State == epic.Skipped && t.State != epic.Skipped {
		row.Why = cmp.Or(row.Why, "closed in the tracker")
	}
	if t.State == epic.Waiting && s.IsReady(t, now) {
		row.Why = epic.HeldPlaces(s, now)
	}
	if row.State == epic.Waiting {
		o := epic.ObstacleOf(s, t, now)
		row.Reason, row.Why, row.WaitsFor = o.Code, o.Why, o.On
	}
	return row
}

// RunState says whether somebody drives the epic: running (a run does, or sessions work on its tasks),
// ended, cut_off (the run was killed) or none. held says that somebody has the epic.
func RunState(s epic.State, held bool) string {
	switch {
	case held || s.SessionsWork():
		return "running"
	case s.Run.Number == 0:
		return "none"
	case s.Run.CutOff():
		return "cut_off"
	}
	return "ended"
}

// StatusOf is how an epic stands by its state alone; next are the commands that help with a
// parked task.
func StatusOf(s epic.State, sum epic.Summary, now time.Time, next func(*epic.Task) []Command) Status {
	st := standingOf(sum)
	d := Status{Epic: s.Epic, AsOf: now.UTC(), Counts: st.counts, Tasks: []TaskRow{}, ETA: epic.ETA(s, now).Milliseconds(), Branch: refname.Of(string(s.Epic)).ShortBranch(), Tip: s.Tip,
		Run: RunRow{Number: s.Run.Number, State: RunState(s, false), Promise: st.promise, Paused: s.Run.Paused && s.Run.Ended.IsZero(), Code: st.code, Reason: st.reason, Cost: s.Run.CostUSD, Tokens: s.Run.Tokens, Iterations: s.Run.Iterations,
			Elapsed: sum.Took.Milliseconds(), Sandbox: s.Run.Sandbox}}
	for _, t := range s.Tasks {
		if t.Epic || t.External || t.Deleted {
			continue
		}
		row := rowOf(s, t, now)
		if t.State == epic.Parked {
			row.Next = next(t)
		}
		d.Tasks = append(d.Tasks, row)
	}
	return d
}

// Progress is the part of a status that matters to somebody who waits.
func (s Status) Progress() Progress {
	p := Progress{Epic: s.Epic, Branch: s.Branch, Counts: s.Counts, ETA: s.ETA, Held: s.Around != nil && s.Held, Run: s.Run, Tampered: s.Tampered, Tasks: []TaskProgress{}}
	for _, t := range s.Tasks {
		p.Tasks = append(p.Tasks, t.TaskProgress)
	}
	return p
}

// NextOf is what a session has of an epic: tasks, and how the epic stands.
func NextOf(s epic.State, sum epic.Summary, tasks []Handed, trust TrustNeeded) Next {
	st := standingOf(sum)
	return Next{Epic: s.Epic, Tasks: tasks, Done: len(tasks) == 0 && st.counts.Ready+st.counts.Running+st.counts.Landing == 0 && st.promise != epic.LoopContinue, Counts: st.counts, Reason: st.reason, Promise: st.promise, Trust: trust, Sandbox: epic.NoSandbox}
}

// LandOf is what became of a task of an epic; next is what to do now.
func LandOf(s epic.State, p epic.Promise, t *epic.Task, now time.Time, next string) Land {
	at := t.Last()
	return Land{Task: t.ID, Landed: t.State == epic.Landed, Commit: t.Commit, State: s.StateOf(t, now), Reason: WhyNotLanded(t),
		Feedback: at.Feedback, Files: at.Files, Next: next, Promise: p}
}

// WhyNotLanded is the code of why a task did not land, "" where that has none: what a person has skipped meanwhile is that,
// however its attempt has ended.
func WhyNotLanded(t *epic.Task) reason.Code {
	if t.State == epic.Skipped {
		return reason.Skipped
	}
	return cmp.Or(t.Reason(), t.Last().Failure)
}
