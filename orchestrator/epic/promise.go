package epic

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/beadsorch/orch/orchestrator/reason"
)

// Promise is the word that says what an epic needs next.
type Promise string

// The promises. Every command and document has them from [PromiseOf].
const (
	LoopDone     Promise = "LOOP_DONE"     // every task is closed
	LoopContinue Promise = "LOOP_CONTINUE" // something runs, waits to land, or is ready
	LoopBlocked  Promise = "LOOP_BLOCKED"  // what is left needs a person, or a limit was reached
	LoopError    Promise = "LOOP_ERROR"    // the tracker, the machine or the agent's client is out of reach
)

// Outlook is what an epic needs next, and why.
type Outlook struct {
	Promise Promise
	Code    reason.Code // why the newest run took no more work; "" when it did
	Reason  string      // one clause
}

// PromiseOf says what the epic needs next. It is a function of the state alone, so that all who
// ask at the same moment get the same answer, whether a run goes on or not.
func PromiseOf(s State, now time.Time) Outlook { return promiseOf(s, Count(s, now)) }

func promiseOf(s State, c Counts) Outlook {
	o := stopped(s, c)
	switch {
	case o.Promise == LoopDone && s.untaken > 0:
		o = Outlook{Promise: LoopContinue, Reason: o.Reason + "; what was asked for is not taken yet"}
	case o.Promise == LoopDone:
	case c.Running+c.Landing > 0 && !s.holdsLandings(o, c):
		o.Promise = LoopContinue // whatever keeps new work from being begun
		if o.Code == "" {
			o.Reason = c.progress()
		}
	case o.Promise == "" && (c.Ready > 0 || s.claimed(c)):
		o.Promise = LoopContinue
		if o.Code == "" {
			o.Reason = c.progress()
		}
	case o.Promise == "":
		o.Promise = LoopBlocked
		if o.Code == "" {
			o.Reason = fmt.Sprintf("%d of %d tasks closed; the rest needs a person", c.Done, c.Total)
			if n := len(s.Sought()); n > 0 {
				o.Code, o.Reason = reason.LandedElsewhere, fmt.Sprintf("%d of %d tasks closed; %s has closed %d, and the epic branch here does not have that work", c.Done, c.Total, s.closers(), n)
			}
		}
	}
	return o
}

// holdsLandings reports whether only a person can have what waits to land go on: the run has ended
// for the epic branch, or is to, and no agent is at work.
func (s State) holdsLandings(o Outlook, c Counts) bool {
	if o.Promise != LoopBlocked || c.Running > 0 {
		return false
	}
	switch o.Code {
	case reason.CheckedOut, reason.EpicMoved:
		return true
	case reason.BaseRed:
		return !s.settled() || !s.Run.Ended.IsZero()
	}
	return false
}

// stopped says what nothing that is ready can change: that all is done, or that no agent may
// start. Its Promise is "" where the tasks decide.
func stopped(s State, c Counts) Outlook {
	o := s.stopped(c)
	if s.tip.barred && o.Promise != LoopError && (o.Promise != LoopDone || s.untaken > 0) {
		return Outlook{LoopBlocked, reason.CheckedOut, s.heldText()}
	}
	return o
}

func (s State) stopped(c Counts) Outlook {
	for _, stop := range []func(State, Counts) Outlook{stoppedByTracker, stoppedFromOutside, stoppedAtEnd, stoppedByRun} {
		if o := stop(s, c); o.Promise != "" {
			return o
		}
	}
	return s.drained("")
}

// drained is the outlook for what the run takes no more work for.
func (s State) drained(p Promise) Outlook {
	return Outlook{Promise: p, Code: s.Run.Drain, Reason: s.Run.DrainWhy}
}

// stoppedByTracker tells of a tracker that does not answer, or does not have the epic.
func stoppedByTracker(s State, _ Counts) Outlook {
	lost := s.tracker.lost
	switch {
	case lost.Code != "":
		return Outlook{LoopError, lost.Code, lost.Reason}
	case s.trackerGivenUp() && (!s.Run.Interrupt || s.noneLeft()):
		return Outlook{LoopError, cmp.Or(s.tracker.code, reason.TrackerDown), s.tracker.why}
	case Promise(s.Run.Promise) == LoopError && s.Run.Drain == "" && !s.tracker.read.After(s.Run.Ended):
		return Outlook{LoopError, cmp.Or(s.tracker.code, reason.TrackerDown), fmt.Sprintf("the tracker did not answer, and run %d ended for it", s.Run.Number)}
	case Promise(s.Run.Promise) == LoopError && (s.untold() || s.closesEpic()):
		return Outlook{LoopError, cmp.Or(s.tracker.code, reason.TrackerDown), fmt.Sprintf("the tracker has yet to be told what has landed: run %d could not write to it", s.Run.Number)}
	}
	return Outlook{}
}

// stoppedFromOutside tells of what has to be mended or settled first, even where all is done: the machine,
// the clone that has the epic, the epic branch.
func stoppedFromOutside(s State, c Counts) Outlook {
	drain := s.Run.Drain
	switch {
	case drain == reason.Machine:
		return s.drained(LoopError)
	case s.Holder() != "" && c.Total > 0 && c.Done == c.Total: // what it has begun may be in no record of a task yet
		return Outlook{LoopBlocked, reason.RunActive, HolderName(s.Holder()) + " drives this epic; all tasks are closed, and what it lands is not here before you fetch it"}
	case drain == reason.RunActive:
		return s.drained(LoopBlocked)
	case s.Moved.Pending() && (drain == reason.EpicMoved || drain == reason.CheckedOut):
		return s.drained(LoopBlocked)
	case s.Moved.Pending() && !s.Moved.Accepted: // whatever else has ended the run: no other can go on before it is settled
		return Outlook{LoopBlocked, reason.EpicMoved, s.Moved.String()}
	}
	return Outlook{}
}

// stoppedAtEnd tells of an epic in which no task is left to do.
func stoppedAtEnd(s State, c Counts) Outlook {
	gone := s.vanished()
	switch {
	case c.Done != c.Total:
		return Outlook{}
	case c.Total == 0 && gone > 0:
		return Outlook{LoopBlocked, reason.TrackerDrift, fmt.Sprintf("the tracker has none of the epic's %d tasks any more", gone)}
	case s.untaken == 0 && s.untold():
		return Outlook{LoopContinue, "", fmt.Sprintf("all %d tasks closed; the tracker has yet to be told", c.Total)}
	case c.Total == 0:
		return Outlook{LoopDone, "", "the epic has no tasks"}
	case s.unjudged() && s.Run.Drain == reason.BaseRed:
		return s.drained(LoopBlocked)
	case s.unjudged() && !s.tip.gone && !s.Ended():
		return Outlook{LoopContinue, "", fmt.Sprintf("all %d tasks closed; the gate has yet to judge the epic branch as it is", c.Total)}
	}
	return Outlook{LoopDone, "", fmt.Sprintf("all %d tasks closed", c.Total)}
}

// stoppedByRun tells why the newest run takes no more work, where the next one would not either.
func stoppedByRun(s State, _ Counts) Outlook {
	switch s.Run.Drain {
	case "":
		if s.Run.Paused && s.Run.Ended.IsZero() {
			return Outlook{LoopBlocked, "", "paused; orch continue " + s.Epic.String()}
		}
		return Outlook{}
	case reason.Interrupted, reason.HandBack:
		return Outlook{}
	case reason.AgentCrashed, reason.Disk:
		return s.drained(LoopError)
	}
	return s.drained(LoopBlocked) // at a limit, or for what every task would meet
}

// claimed reports whether somebody is at a task of an epic that orch has not run yet: then
// nobody but the tracker knows who works on what.
func (s State) claimed(c Counts) bool {
	return !s.Driven() && c.Waiting > 0 && slices.ContainsFunc(s.Tasks, s.claimedOutside)
}

// claimedOutside reports whether the tracker alone says that somebody is at the task.
func (s State) claimedOutside(t *Task) bool {
	return !s.Driven() && t.State == Waiting && t.Status == statusInProgress && t.Dispatchable() && !t.Deleted
}

// progress tells what moves, in a clause.
func (c Counts) progress() string {
	moves := countsText([]count{{c.Running, "running"}, {c.Landing, "waiting to land"}, {c.Ready, "ready"}})
	if moves == "" {
		moves = "others are in progress"
	}
	return fmt.Sprintf("%d of %d tasks closed; %s", c.Done, c.Total, moves)
}

// count is how many of something there are.
type count struct {
	n    int
	what string
}

// countsText names what there is any of.
func countsText(counts []count) string {
	var parts []string
	for _, p := range counts {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.what))
		}
	}
	return strings.Join(parts, ", ")
}

// Work counts what is left of an epic, by who is to move it on.
type Work struct {
	Done       int `json:"done"`        // landed, or closed by a person
	Ready      int `json:"ready"`       // may be begun
	InProgress int `json:"in_progress"` // an agent or a session is at it, or it waits to land
	Waiting    int `json:"waiting"`     // gets its turn when what is ready or in progress is done
	Blocked    int `json:"blocked"`     // parked, or behind what is: only a person can move it
}

// Left is how many tasks are not done.
func (w Work) Left() int { return w.Ready + w.InProgress + w.Waiting + w.Blocked }

// String tells what is left, in a clause.
func (w Work) String() string {
	left := countsText([]count{{w.Ready, "ready"}, {w.InProgress, "in progress"}, {w.Waiting, "waiting"}, {w.Blocked, "blocked"}})
	if left == "" {
		return "nothing left"
	}
	return left
}

// WorkOf counts what is left of the epic, by who is to move it on.
func WorkOf(s State, now time.Time) Work {
	var w Work
	moving := map[TaskID]bool{} // ready, in progress, or waiting for only such
	var waiting []*Task
	for _, t := range s.Tasks {
		if !t.Dispatchable() || t.Deleted {
			continue
		}
		switch {
		case t.Done():
			w.Done++
		case t.State == Running, t.State == Queued, t.State == Validating, s.claimedOutside(t):
			w.InProgress++
			moving[t.ID] = true
		case s.IsReady(t, now):
			w.Ready++
			moving[t.ID] = true
		case t.State == Waiting && s.trackerHold(t, at(now)) == "":
			waiting = append(waiting, t)
		default:
			w.Blocked++
		}
	}
	for again := true; again; {
		again = false
		for _, t := range waiting {
			if !moving[t.ID] && s.freed(t, moving) {
				moving[t.ID], again = true, true
				w.Waiting++
			}
		}
	}
	w.Blocked += len(waiting) - w.Waiting
	return w
}

// freed reports whether all that a task waits for is done when what moves is.
func (s State) freed(t *Task, moving map[TaskID]bool) bool {
	for _, row := range t.Needs {
		if !slices.ContainsFunc(row, func(id TaskID) bool { return s.done(id) || moving[id] || s.epicMoves(id, moving) }) {
			return false
		}
	}
	return true
}

// epicMoves reports whether id is an epic all of whose tasks are done or move.
func (s State) epicMoves(id TaskID, moving map[TaskID]bool) bool {
	e := s.Task(id)
	if e == nil || !e.Epic || e.External {
		return false
	}
	some := false
	for _, t := range s.Tasks {
		if !t.Dispatchable() || t.Deleted || !s.below(t, id) {
			continue
		}
		if !t.Done() && !moving[t.ID] {
			return false
		}
		some = true
	}
	return some
}
