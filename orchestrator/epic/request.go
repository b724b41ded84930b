package epic

import (
	"slices"
	"time"
)

// A request comes from another process. Its id is in the event that takes it, and the state knows
// the ids that were taken, so that none counts twice. What somebody waits for is a wish until it
// has been answered.

// Wish is a request whose asker waits for an answer.
type Wish struct {
	ID        string        `json:"id"`                  // of the request
	Kind      EventKind     `json:"kind"`                // land_requested, next_requested or task_accepted
	Task      TaskID        `json:"task,omitempty"`      // that is to land, or that was given
	Attempt   int           `json:"attempt,omitempty"`   // at it
	Iteration int           `json:"iteration,omitempty"` // of the attempt when it was asked
	Holder    SessionHolder `json:"holder,omitzero"`     // who asks for a task
	Refused   string        `json:"refused,omitempty"`   // why it is not possible
}

// maxTaken is how many ids of requests are remembered. A request that was taken is removed at
// once, or by the next run, so that only the newest can come again.
const maxTaken = 1024

// Took reports whether a request of this id was taken.
func (s State) Took(id string) bool { return id != "" && slices.Contains(s.Taken, id) }

// take remembers the id of a request, and what its asker waits for.
func (s State) take(e Event) State {
	if s.Took(e.Request) {
		return s
	}
	s.Taken = append(slices.Clone(s.Taken[max(0, len(s.Taken)+1-maxTaken):]), e.Request)
	w := Wish{ID: e.Request, Kind: e.Kind, Task: e.Task}
	switch e.Kind {
	case RequestRefused:
		if w.Kind = EventKind(e.Text); !w.Kind.awaited() {
			return s
		}
		w.Refused = e.Reason
	case NextRequested:
		w.Holder = e.Agent.Holder
	case LandRequested, TaskAccepted:
		a := s.Task(e.Task).Last()
		w.Attempt, w.Iteration = a.Number, a.Iteration
	default:
		return s
	}
	s.Wishes = append(slices.Clone(s.Wishes), w)
	return s
}

// awaited reports whether who asks for an event of this kind waits for the answer.
func (k EventKind) awaited() bool {
	return k == LandRequested || k == NextRequested || k == TaskAccepted
}

// withoutWish is s after a wish was answered.
func (s State) withoutWish(id string) State {
	s.Wishes = slices.DeleteFunc(slices.Clone(s.Wishes), func(w Wish) bool { return w.ID == id })
	s.answering = ""
	return s
}

// granted is s after an attempt was begun for who asked for a task.
func (s State) granted(e Event) State {
	s.Wishes = slices.Clone(s.Wishes)
	for i := range s.Wishes {
		if w := &s.Wishes[i]; w.ID == e.Request && w.Kind == NextRequested {
			w.Task, w.Attempt = e.Task, e.Attempt
		}
	}
	return s
}

// Wish returns the wish of this id; ok is false when there is none, or none any more.
func (s State) Wish(id string) (w Wish, ok bool) {
	i := slices.IndexFunc(s.Wishes, func(w Wish) bool { return w.ID == id })
	if i < 0 {
		return Wish{}, false
	}
	return s.Wishes[i], true
}

// wantsLanding reports whether somebody waits for the task to be landed, and its work has still to
// be looked at.
func (s State) wantsLanding(t *Task) (w Wish, ok bool) {
	for _, w := range s.Wishes {
		if w.Kind == LandRequested && w.Task == t.ID && w.Refused == "" && s.toCollect(w) {
			return w, true
		}
	}
	return Wish{}, false
}

// WantsLanding reports whether somebody waits for the task to be landed, and its work has still to
// be looked at.
func (s State) WantsLanding(t *Task) bool { _, ok := s.wantsLanding(t); return ok }

// toCollect reports whether the work that a wish is about is still in the hands of its session.
func (s State) toCollect(w Wish) bool {
	t := s.Task(w.Task)
	if t == nil {
		return false
	}
	a := t.Last()
	return t.State == Running && a.Open() && a.Agent && a.InSession && a.Number == w.Attempt && a.Iteration == w.Iteration
}

// settledWish reports whether a wish can be answered.
func (s State) settledWish(w Wish, now time.Time) bool {
	t := s.Task(w.Task)
	switch {
	case w.Refused != "":
		return true
	case w.Kind == NextRequested && w.Task != "":
		return t == nil || t.Last().Number != w.Attempt || !t.Last().Open() || t.Last().Handed
	case w.Kind == NextRequested:
		return s.nothingToHand(now)
	case t == nil || t.Deleted:
		return true
	}
	return t.State != Queued && t.State != Validating && !s.toCollect(w)
}

// nothingToHand reports whether no task will be handed out soon.
func (s State) nothingToHand(now time.Time) bool {
	if s.Run.Drain != "" || s.Run.Paused || s.Run.Mode == LandOne || s.Moved.Pending() || s.gaveUp() {
		return true
	}
	if s.tracker.read.IsZero() || s.Gate == GateUnknown || s.Gate == GateChecking {
		return false // it is being found out
	}
	return !slices.ContainsFunc(s.ready(now), func(t *Task) bool {
		return !now.Before(t.NotBefore) && t.Charged < max(1, s.Run.Limits.Attempts)
	})
}

// answers answers who waits, one at a time.
func answers(s State, now time.Time) []Decision {
	if s.answering != "" {
		return nil
	}
	for _, w := range s.Wishes {
		if s.settledWish(w, now) {
			return one(Reply, Event{Kind: AnswerStarted, Request: w.ID})
		}
	}
	return nil
}

// collects looks at the work that sessions want landed.
func collects(s State, _ time.Time) (ds []Decision) {
	if s.Run.Kill || s.looking {
		return nil
	}
	for _, t := range s.Tasks {
		if w, ok := s.wantsLanding(t); ok && !s.collecting[t.ID] {
			ds = append(ds, Decision{Act: Collect, Event: Event{Kind: CollectStarted, Task: t.ID, Attempt: w.Attempt, Agent: &Agent{Iteration: w.Iteration}}})
		}
	}
	return ds
}

// nextWish is the oldest wish for a task that none was given to; skip have been given one by now.
func (s State) nextWish(skip int) (Wish, bool) {
	for _, w := range s.Wishes {
		if w.Kind != NextRequested || w.Task != "" || w.Refused != "" {
			continue
		}
		if skip == 0 {
			return w, true
		}
		skip--
	}
	return Wish{}, false
}

func applyRequest(s State, e Event) State {
	switch e.Kind {
	case RequestAnswered:
		return s.withoutWish(e.Request)
	case AnswerStarted:
		s.answering = e.Request
	case CollectStarted:
		s.collecting = with(s.collecting, e.Task)
	case SessionLookStarted:
		s.looking = true
	case SessionLookEnded:
		s.looking, s.looked = false, e.At
	}
	return s
}
