package epic

import "slices"

// A request comes from another process. Its id is in the event that takes it, and the state knows
// the ids that were taken, so that none counts twice. What somebody waits for is a wish until it
// has been answered.

// Wish is a request whose asker waits for an answer.
type Wish struct {
	ID        string        `json:"id"`                  // of the request
	Kind      Kind          `json:"kind"`                // land_requested, next_requested or task_accepted
	Task      TaskID        `json:"task,omitempty"`      // that is to land, or that was given
	Attempt   int           `json:"attempt,omitempty"`   // at it
	Iteration int           `json:"iteration,omitempty"` // of the attempt when it was asked
	Holder    SessionHolder `json:"holder,omitzero"`     // who asks for a task
	Asker     Process       `json:"asker,omitzero"`      // that waits for it
	AtOnce    bool          `json:"at_once,omitempty"`   // it does not wait for a place
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
	w := Wish{ID: e.Request, Kind: e.Kind(), Task: e.Task}
	switch f := e.Fact.(type) {
	case RequestRefused:
		w.Kind, w.Refused = f.Kind, e.Reason
	case NextRequested:
		w.Holder, w.Asker, w.AtOnce = f.Holder, f.Asker, f.AtOnce
	case LandRequested, TaskAccepted:
		a := s.Task(e.Task).Last()
		w.Attempt, w.Iteration = a.Number, a.Iteration
		if e.Attempt > 0 {
			w.Attempt = e.Attempt // of one that is over nothing is taken
		}
	}
	if !w.Kind.awaited() {
		return s
	}
	s.Wishes = append(slices.Clone(s.Wishes), w)
	return s
}

// awaited reports whether who asks for an event of this kind waits for the answer.
func (k Kind) awaited() bool {
	return slices.ContainsFunc(facts(), func(r factRow) bool { return r.kind == k && r.flags&awaited != 0 })
}

// asks reports whether the wish is for an event with a fact of this type.
func (w Wish) asks(f Fact) bool { return w.Kind == Event{Fact: f}.Kind() }

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
		if w := &s.Wishes[i]; w.ID == e.Request && w.asks(NextRequested{}) {
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
		if w.asks(LandRequested{}) && w.Task == t.ID && w.Refused == "" && s.toCollect(w) {
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
	return t.State == Running && a.HasAgent() && a.InSession && a.Number == w.Attempt && a.Iteration == w.Iteration
}

// settledWish reports whether a wish can be answered.
func (s State) settledWish(w Wish, now *clock) bool {
	t := s.Task(w.Task)
	switch {
	case w.Refused != "":
		return true
	case w.asks(NextRequested{}) && w.Task != "":
		return t == nil || t.Last().Number != w.Attempt || t.Last().Phase != Starting
	case w.asks(NextRequested{}):
		return s.nothingToHand(now) || w.AtOnce && s.nothingNow(now)
	case t == nil || t.Deleted:
		return true
	}
	return t.State != Queued && t.State != Validating && !s.toCollect(w)
}

// nothingToHand reports whether no task will be handed out soon.
func (s State) nothingToHand(now *clock) bool {
	if s.Run.Drain != "" || s.Run.Paused || s.Run.Mode == ModeLand || s.Moved.Pending() || s.trackerGivenUp() {
		return true
	}
	if s.tracker.read.IsZero() || s.Gate == GateUnknown || s.Gate == GateChecking {
		return false // it is being found out
	}
	return !slices.ContainsFunc(s.ready(now), func(t *Task) bool {
		return !now.Before(t.NotBefore) && t.Charged < max(1, s.Run.Limits.Attempts)
	})
}

// nothingNow reports whether no task can be handed out before something else has happened.
func (s State) nothingNow(now *clock) bool {
	return s.slots() == 0 || s.tracker.read.IsZero() || s.Gate == GateUnknown || s.Gate == GateChecking || now.Before(s.Cooldown)
}

// answers answers who waits, one at a time.
func answers(s State, now *clock) []Decision {
	if s.answering != "" {
		return nil
	}
	for _, w := range s.Wishes {
		if s.settledWish(w, now) {
			return decideOne(Reply, Event{Fact: AnswerStarted{}, Request: w.ID})
		}
	}
	return nil
}

// collects looks at the work that sessions want landed.
func collects(s State, _ *clock) (ds []Decision) {
	if s.Run.Interrupt || s.looking {
		return nil
	}
	for _, t := range s.Tasks {
		if w, ok := s.wantsLanding(t); ok && t.Last().Phase == HandedOver {
			ds = append(ds, Decision{Act: Collect, Event: Event{Fact: CollectStarted{}, Task: t.ID, Attempt: w.Attempt}})
		}
	}
	return ds
}

// nextWish is the oldest wish for a task that none was given to; skip have been given one by now.
func (s State) nextWish(skip int) (Wish, bool) {
	for _, w := range s.Wishes {
		if !w.asks(NextRequested{}) || w.Task != "" || w.Refused != "" {
			continue
		}
		if skip == 0 {
			return w, true
		}
		skip--
	}
	return Wish{}, false
}

// handTo gives the attempt that a decision begins to the session that asked for a task.
func (d Decision) handTo(w Wish) Decision {
	f := d.Fact.(AttemptStarted)
	f.InSession, f.Holder, f.Resume, f.Session = true, w.Holder, false, ""
	d.Fact, d.Request = f, w.ID
	return d
}

// collecting reports whether what a session has done is being looked at.
func (s State) collecting() bool {
	return slices.ContainsFunc(s.Tasks, func(t *Task) bool { a := t.Last(); return a.InSession && a.Phase == Inspecting })
}

// ofRequest is embedded by facts that are about a request.
type ofRequest struct{}

func (ofRequest) check(_ State, e Event) error {
	if e.Request == "" {
		return forbid(e, "it names no request")
	}
	return nil
}

// LandRequested is a session's word that what it has done for a task is to land.
type LandRequested struct{ noChange }

func (LandRequested) check(s State, e Event) error {
	if err := (ofRequest{}).check(s, e); err != nil {
		return err
	}
	if err := (ofTask{}).check(s, e); err != nil {
		return err
	}
	t := s.Task(e.Task)
	if a := t.Last(); !a.InSession || a.Phase != HandedOver && a.Phase != Inspecting || t.State != Running {
		return forbid(e, "no session works on %s: it is %s", t.ID, t.whereabouts())
	}
	return nil
}

// whereabouts says in a clause who has a task.
func (t *Task) whereabouts() string {
	switch a := t.Last(); {
	case t.State == Running && !a.InSession:
		return "in the hands of an agent of orch run"
	case t.State == Running:
		return "in the hands of " + a.Holder.String() + ", and its worktree is not ready"
	}
	return string(t.State)
}

// NextRequested is a session's word that it wants a task.
type NextRequested struct {
	ofRequest
	noChange
	Holder SessionHolder `json:"holder,omitzero"`   // that session
	Asker  Process       `json:"asker,omitzero"`    // that waits for the answer
	AtOnce bool          `json:"at_once,omitempty"` // it has something in hand, and does not wait for a place
}

// NextWithdrawn is a session's word that it does not wait any more for the task that it wanted.
type NextWithdrawn struct {
	ofRequest
	Of string `json:"of" text:"plain"` // the request for it
}

func (f NextWithdrawn) apply(s State, _ Event) State {
	s = s.withoutUngranted(f.Of)
	for _, t := range s.Tasks {
		if a := t.Last(); f.Of != "" && a.Request == f.Of && a.Open() && a.InSession {
			return s.edit(t.ID, func(t *Task) { t.last().Unwanted = true })
		}
	}
	return s
}

// NextDropped says that who asked for a task has gone without an answer.
type NextDropped struct{ ofRequest }

func (NextDropped) apply(s State, e Event) State { return s.withoutUngranted(e.Request) }

// withoutUngranted is s without the wish for a task that none was given to; one that is being
// answered is answered.
func (s State) withoutUngranted(id string) State {
	if id == s.answering {
		return s
	}
	s.Wishes = slices.DeleteFunc(slices.Clone(s.Wishes), func(w Wish) bool { return w.ID == id && w.asks(NextRequested{}) && w.Task == "" })
	return s
}

// AnswerStarted is the intent to answer a request.
type AnswerStarted struct{ ofRequest }

func (AnswerStarted) apply(s State, e Event) State {
	s.answering = e.Request
	return s
}

// RequestAnswered says that who asked has been told how it went; with a Reason: that they could
// not be.
type RequestAnswered struct{ ofRequest }

func (RequestAnswered) apply(s State, e Event) State { return s.withoutWish(e.Request) }

// CollectStarted is the intent to look at what a session has done.
type CollectStarted struct{ ofAttempt }

func (CollectStarted) apply(s State, e Event) State { return s.phase(e, Inspecting) }
