package epic

import (
	"slices"
)

// When a run is over. What may still change is asked in this order; a row needs all that it has
// a "no" or a "yes" for.
//
//	question      | working | work left | queue waits | errand under way | tracker settled | machine waits
//	              |         | for timer | to land     |                  |                 |
//	quiet         | no      | no        | no          |                  |                 |
//	last tip look | no      | no        | no          | no               | yes             | no
//	over          | no      | no        | no          | no               | yes             | no, or drained
//
// Quiet: nothing is left but errands and what the tracker is to be told; then the tracker is
// called without delay, and the epic is given back. Over: the run ends.

// quiet reports whether no work is under way or left to this run.
func (s State) quiet(now *clock) bool {
	return !s.working() && !s.workLeft(now) && !s.queueWaits() && !s.seeks()
}

// over reports whether the run has nothing more to do or to wait for.
func (s State) over(now *clock) bool {
	return s.quiet(now) && !s.busy() && s.mirrorSettled(now) && (!s.machineWaits(now) || s.Run.Drain != "")
}

// working reports whether an agent, the gate or a landing is under way. What a session has in
// hand keeps nobody waiting.
func (s State) working() bool {
	return len(s.Stacks) > 0 || s.Gate == GateChecking || s.Into.Busy || slices.ContainsFunc(s.Tasks, func(t *Task) bool {
		a := t.Last()
		return a.HasAgent() && a.Phase != HandedOver
	})
}

// busy reports whether something is under way that will answer with an event: work, or an errand.
func (s State) busy() bool {
	return s.working() || s.tracker.busy || s.tip.looking || s.looking || s.seeking.busy || s.answering != "" || s.Moved.Restoring || slices.ContainsFunc(s.Tasks, removing)
}

// removing reports whether a worktree of t is being removed.
func removing(t *Task) bool { return t.Last().Phase == Removing }

// workLeft reports whether work is left that a timer, not an event, will release.
func (s State) workLeft(now *clock) bool {
	if s.Run.Drain != "" || !s.Run.Mode.starts() || s.trackerGivenUp() {
		return false
	}
	if s.Run.Mode == ModeNext {
		return s.tracker.read.IsZero() || !s.epicOurs() && s.slots() > 0 && len(s.ready(now)) > 0
	}
	return slices.ContainsFunc(s.Tasks, func(t *Task) bool { return s.isReady(t, now) || t.State == Running || s.takenOver(t) })
}

// queueWaits reports whether something waits to land, and this run will land it.
func (s State) queueWaits() bool {
	return len(s.Queue) > 0 && s.Run.Mode != ModeSettle && !s.Run.Interrupt && !s.landingFails() && !s.stuck()
}

// mirrorSettled reports whether nothing is left to say to the tracker, or it does not listen.
func (s State) mirrorSettled(now *clock) bool {
	if s.trackerGivenUp() {
		return true
	}
	return !s.tracker.read.IsZero() && len(s.changes(now)) == 0 && (!s.tracker.stale || s.Run.Drain != "")
}

// trackerGivenUp reports whether the tracker has failed so often that the run ends without it.
func (s State) trackerGivenUp() bool {
	return s.tracker.failures >= maxTrackerFailures || s.Run.Interrupt && s.tracker.failures > 0
}

// finish ends the run.
func finish(s State, now *clock) []Decision {
	if !s.over(now) {
		return nil
	}
	sum := Summarize(s, now.now)
	return decideOne(Finish, Event{Fact: RunEnded{Promise: sum.Promise}, Code: sum.Code, Reason: sum.Reason})
}
