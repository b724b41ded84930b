package epic

import (
	"time"

	"github.com/beadsorch/orch/orchestrator/reason"
)

// A command that only reads an epic sees more than its journal: whether a process holds it, what was asked
// for and nobody has taken, the tracker, the epic branch. Each is a step from one state to the
// next here, so that all who look answer from the same one.

// Seen is the state for somebody who only looks: held says whether somebody holds the epic, asked are
// the requests that nobody has taken yet, oldest first. Those count that will be taken: of an epic
// that nobody holds, what was asked of a task; its newest run is over, as [State.WithoutRun].
func (s State) Seen(held bool, asked []Event, now time.Time) State {
	s = s.Looked()
	if !held {
		s = s.WithoutRun(now)
	}
	for _, e := range asked {
		_, next := e.Fact.(NextRequested) // who wants a task asks again
		if !held && (e.Task == "" || next) || s.Took(e.Request) || Check(s, e) != nil {
			continue
		}
		if e.At.IsZero() {
			e.At = now
		}
		s = Apply(s, e)
		s.untaken++
	}
	return s
}

// WithoutRun is s where no run goes on: the newest is over, also where it was killed, and is not paused;
// nobody is at work on what its agents had in hand, which wait for the next run. Their attempts stay open,
// since only that run knows what became of the work.
func (s State) WithoutRun(now time.Time) State {
	s.Run.Paused = false
	if s.Run.Number > 0 && s.Run.Ended.IsZero() {
		s.Run.Ended = now
	}
	for _, t := range s.Tasks {
		if a := t.Last(); t.State == Running && a.Open() && !a.InSession {
			s = s.edit(t.ID, func(t *Task) {
				t.State = Waiting
				t.abandon(now)
			})
		}
	}
	return s
}

// WithoutTracker is s where the tracker's word is not known: it does not answer, with
// [reason.TrackerDown], is damaged, with [reason.TrackerDamaged], or has the epic no more, with [reason.TrackerDrift]. A later reading ends that.
func (s State) WithoutTracker(code reason.Code, why string) State {
	if code == reason.TrackerDown {
		why = "the tracker does not answer: " + why
	}
	s.tracker.lost = Outlook{Code: code, Reason: why}
	return s
}

// TrackerLost says why the tracker's word is not known; "" where it is.
func (s State) TrackerLost() string { return s.tracker.lost.Reason }

// WithBranch is s where the epic branch was found elsewhere. A move that holds all landed work needs
// nobody: the next run takes it as it is, and has the gate judge it, whatever that said of the branch before.
func (s State) WithBranch(m TipMove) State {
	switch {
	case m.From == "":
		return s
	case !m.holds():
		s.Moved = Moved{TipMove: m}
		return s
	}
	s.Tip, s.taken, s.Gate = m.To, s.takeMove(m), GateUnknown
	if s.Run.Drain == reason.BaseRed {
		s.Run.Drain, s.Run.DrainWhy = "", ""
	}
	return s
}

// WithElsewhere is s with what was found, and not found, of the work that other clones have landed. What a
// run has not seen on the branch, its gate has not judged there.
func (s State) WithElsewhere(events []Event, now time.Time) State {
	for _, e := range events {
		e.At = now
		if _, found := e.Fact.(TaskFound); found {
			s.Gate = GateUnknown
		}
		s = Apply(s, e)
	}
	return s
}

// Left is s where nobody holds the epic, for who looks for what other clones have landed: an attempt that was
// cut off is over where another clone has closed its task, as the next run will find.
func (s State) Left(now time.Time) State {
	for _, t := range s.Tasks {
		if a := t.Last(); t.Elsewhere && t.State == Running && a.Open() && !a.InSession {
			s = s.edit(t.ID, func(t *Task) { t.end(reason.Orphaned, "", now) })
		}
	}
	return s
}

// Driven reports whether orch has ever driven the epic, or handed tasks of it out.
func (s State) Driven() bool { return s.Run.Number > 0 || s.Run.Mode != "" }

// AtLimit reports whether the newest run ended at a limit that was set: only a person has the epic go on.
// A short command is no run, and goes by the one before it.
func (s State) AtLimit() bool {
	run := s.Run
	if s.before != nil {
		run = *s.before
	}
	return !run.Ended.IsZero() && atLimit(run.Drain)
}

// atLimit reports whether a run that ends for the code has reached a limit.
func atLimit(c reason.Code) bool {
	r, _ := reason.Of(c)
	return r.Exit == reason.ExitLimit
}

// SessionsWork reports whether a task is in the hands of a session.
func (s State) SessionsWork() bool {
	for _, t := range s.Tasks {
		if a := t.Last(); t.State == Running && a.InSession && a.Open() {
			return true
		}
	}
	return false
}

// StateOf is where a task is as it is shown and counted: one that a person has closed is theirs, though
// an attempt of it has not ended yet.
func (s State) StateOf(t *Task, now time.Time) TaskState {
	switch {
	case t.Done() && t.State != Landed:
		return Skipped
	case s.IsReady(t, now):
		return Ready
	}
	return t.State
}
