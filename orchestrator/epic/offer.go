package epic

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/beadsorch/orch/orchestrator/reason"
)

// Asker is a session that may ask for a task, and of whom it would.
type Asker struct {
	// Is reports whether the holder of an attempt is the session, as far as is known.
	Is IsSession
	// Gone reports whether the session that is at work on a task is gone: who hands out next makes
	// the task free first.
	Gone func(*Task) bool
	// Held says that some orch has the epic, and Driven that it is a run, which hands out.
	Held, Driven bool
	// MaxParallel is how many tasks may be under way where no run drives the epic, which has a
	// limit of its own.
	MaxParallel int
}

// Offer is what a session would get now that asked for a task.
type Offer struct {
	InHand int         // tasks that it is at work on, or that wait for it to go on
	Code   reason.Code // why it would be handed no other one; "" where it would be
	Why    string      // the same in a clause

	// Despite is for what the newest run ended, whose own agents cannot work, where the session would be handed a task
	// all the same, now or after a back-off; else "".
	Despite reason.Code

	// Settles says that asking brings the epic on though there is no task to hand out yet: nobody has it, and who hands
	// out has the gate judge the epic branch, takes what was asked for, tells the tracker, and finds or opens again what
	// only an agent's word has closed there.
	Settles bool
}

// Hopeless reports whether the session can do nothing for the epic until others, or a person, have:
// it is at work on nothing, and would be handed nothing. What waits for a time alone is no reason:
// nobody else brings it on.
func (o Offer) Hopeless() bool {
	return o.InHand == 0 && o.Code != "" && o.Code != reason.BackOff && !o.Settles
}

// OfferTo says what a session would get now that asked for a task. The stop hook and next both go
// by it, so that no session is sent back to work for which there is none.
func OfferTo(s State, who Asker, now time.Time) (o Offer) {
	left, promised := WorkOf(s, now), PromiseOf(s, now).Promise
	despite := s.Run.Drain
	if who.Driven || !ofRunsAgents(despite) {
		despite = ""
	} else {
		s.Run.Drain, s.Run.DrainWhy, s.Run.Promise = "", "", ""
	}
	s = s.askedBy(who, now)
	for _, t := range s.Tasks {
		if t.Dispatchable() && !t.Deleted && s.inHandOf(t, who) {
			o.InHand++
		}
	}
	o.Code, o.Why = s.withheld(who.Driven, at(now))
	if o.Code == "" || o.Code == reason.BackOff {
		o.Despite = despite
	}
	o.Settles = !who.Held && promised == LoopContinue && (left.Left() == 0 || left.Ready > 0 && o.Code == reason.NothingReady)
	return o
}

// ofRunsAgents reports whether a run that ended for the code could not go on with the agents that it starts, which
// is no matter of a session, whose own client does the work.
func ofRunsAgents(c reason.Code) bool { return c == reason.AgentCrashed || c == reason.AgentAuth }

// askedBy is s as who hands out to a session finds it: what nobody is at work on any more is free,
// and where no run drives the epic, what holds only while one does is over.
func (s State) askedBy(who Asker, now time.Time) State {
	if !who.Driven {
		s.Run.Limits.MaxParallel, s.Run.Probing, s.Run.Paused, s.Cooldown = who.MaxParallel, false, false, time.Time{}
	}
	for _, t := range s.Tasks {
		a := t.Last()
		left := t.State == Running && a.InSession && (a.Unwanted || who.Gone(t)) || !a.InSession && !who.Held && (t.State == Running || t.State == Waiting)
		if a.Open() && left {
			s = s.edit(t.ID, func(t *Task) { t.end(reason.Orphaned, "", now) })
		}
	}
	return s
}

// inHandOf reports whether a task that is under way is to be moved on by the session: its own, one
// that waits to land while nobody has the epic, and one of an epic that orch has not driven yet, since
// nobody but the tracker knows who is at work on that.
func (s State) inHandOf(t *Task, who Asker) bool {
	a := t.Last()
	switch {
	case s.claimedOutside(t):
		return true
	case !s.underWay(t):
		return false
	case a.InSession && (a.Holder.IsZero() || who.Is(a.Holder)):
		return true
	}
	return t.State != Running && !who.Held
}

// withheld says why a session that asks is handed no task now; the code is "" where it is handed one.
func (s State) withheld(driven bool, now *clock) (reason.Code, string) {
	stop := stopped(s, Count(s, now.now))
	ready := s.ready(now)
	open := slices.DeleteFunc(slices.Clone(ready), func(t *Task) bool {
		return now.Before(t.NotBefore) || t.Charged >= max(1, s.Run.Limits.Attempts)
	})
	switch {
	case stop.Promise == LoopDone:
		return reason.NothingReady, stop.Reason
	case driven && s.Run.Paused && s.Run.Drain == "":
		return reason.Paused, "a person has paused the run"
	case stop.Promise != "" && stop.Code != "":
		return stop.Code, stop.Reason
	case driven && s.Run.Drain != "":
		return s.Run.Drain, "the run takes no more work: " + s.Run.DrainWhy
	case s.Holder() != "":
		return reason.RunActive, HolderName(s.Holder()) + " drives this epic"
	case len(ready) == 0:
		return reason.NothingReady, s.nothingReady()
	case len(open) == 0:
		return reason.BackOff, fmt.Sprintf("%s is tried again at %s", ready[0].ID, earliest(ready).UTC().Format(time.TimeOnly))
	case s.slots() == 0:
		return reason.PlacesTaken, fmt.Sprintf("%d ready, and all places are taken: %s; max_parallel is %d", len(ready), s.placesOf(), s.Run.Limits.MaxParallel)
	case now.Before(s.Cooldown):
		return reason.BackOff, fmt.Sprintf("no agent starts before %s: %s", s.Cooldown.UTC().Format(time.TimeOnly), s.Cooling)
	}
	return "", ""
}

// nothingReady says in a clause who has what is left, where no task is ready.
func (s State) nothingReady() string {
	if who := s.placesOf(); who != "" {
		return "nothing is ready: " + who
	}
	return "nothing is ready, and nothing that is under way will change that"
}

// earliest is when the first of the tasks may be tried again.
func earliest(tasks []*Task) time.Time {
	return slices.MinFunc(tasks, func(a, b *Task) int { return a.NotBefore.Compare(b.NotBefore) }).NotBefore
}

// placesOf says in a clause who is at work on how many tasks; "" where nobody is.
func (s State) placesOf() string {
	agents, landing := 0, 0
	var sessions []string
	for _, t := range s.Tasks {
		switch a := t.Last(); {
		case t.State == Queued, t.State == Validating:
			landing++
		case t.State != Running, !a.Open():
		case a.InSession:
			sessions = append(sessions, a.Holder.String())
		default:
			agents++
		}
	}
	var parts []string
	if len(sessions) > 0 {
		n := len(sessions)
		slices.Sort(sessions)
		parts = append(parts, fmt.Sprintf("%d in the hands of %s", n, strings.Join(slices.Compact(sessions), ", ")))
	}
	if agents > 0 {
		parts = append(parts, fmt.Sprintf("%d in the hands of the run's agents", agents))
	}
	if landing > 0 {
		parts = append(parts, fmt.Sprintf("%d waiting to land", landing))
	}
	return strings.Join(parts, ", ")
}
