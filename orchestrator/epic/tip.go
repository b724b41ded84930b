package epic

import (
	"fmt"
	"strings"
	"time"
)

// The epic branch belongs to others too: a person who rewinds it, an agent that commits on it.
// State.Tip is where the last landing, or a person's word, left it. Whoever finds it elsewhere
// says so with an event, and what is decided then is here.

// TipMove is how the epic branch was found elsewhere than it was left.
type TipMove struct {
	From    Commit   `json:"from"`              // where it was left
	To      Commit   `json:"to,omitempty"`      // where it is; "" where it is gone
	Forward bool     `json:"forward,omitempty"` // To has From among its ancestors
	Foreign []string `json:"foreign,omitempty"` // commits that orch did not land, newest first, each "id subject"; the first few
	Lost    []TaskID `json:"lost,omitempty"`    // that have landed, and whose work To does not hold
	Kept    string   `json:"kept,omitempty"`    // the reference that keeps what is no longer on the branch
}

// Current is e as it is once the state has gone on since its worker began: a branch that was
// found elsewhere meanwhile is where it belongs when a landing of orch's own has moved it there,
// or when that was settled.
func Current(s State, e Event) Event {
	if e.Kind == AttemptLost {
		return currentLoss(s, e)
	}
	if e.Kind != BranchMoved || e.Tip == nil {
		return e
	}
	l := s.Landing
	ours := l.Moving && len(l.Commits) > 0 && e.Tip.To == l.Commits[len(l.Commits)-1]
	switch {
	case s.Moved.Pending() && e.Tip.To == s.Moved.To:
		return Event{Kind: TipLookEnded} // as is known
	case ours, e.Tip.To == s.Tip, e.Tip.From != s.Tip:
		return Event{Kind: TipSeen, Reason: s.tip.held}
	}
	return e
}

// holds reports whether the branch has all work that has landed.
func (m TipMove) holds() bool { return m.To != "" && len(m.Lost) == 0 }

// String says in a clause what became of the branch.
func (m TipMove) String() string {
	switch n := len(m.Foreign); {
	case m.To == "":
		return fmt.Sprintf("the epic branch is gone; it was at %.12s", m.From)
	case len(m.Lost) > 0:
		return fmt.Sprintf("the epic branch is at %.12s, not at %.12s, without the work of %s", m.To, m.From, listed(m.Lost))
	case m.Forward && n == 1:
		return fmt.Sprintf("the epic branch has a commit that orch did not land: %s", m.Foreign[0])
	case m.Forward && n > 1:
		return fmt.Sprintf("the epic branch has %d commits that orch did not land, the newest: %s", n, m.Foreign[0])
	}
	return fmt.Sprintf("the epic branch was rewritten from %.12s to %.12s, with all landed work", m.From, m.To)
}

// listed names the first few tasks.
func listed(ids []TaskID) string {
	const most = 5
	var names []string
	for _, id := range ids[:min(len(ids), most)] {
		names = append(names, id.String())
	}
	text := strings.Join(names, ", ")
	if more := len(ids) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// Moved is a move of the epic branch that is not settled.
type Moved struct {
	TipMove
	Accepted  bool      `json:"accepted,omitempty"`  // taken as it is, and not yet judged by the gate
	During    []TaskID  `json:"during,omitempty"`    // whose agents worked, free to move references, when it moved
	Gate      GateState `json:"gate,omitempty"`      // what was known of From
	Restoring bool      `json:"restoring,omitempty"` // From is being put back
}

// Pending reports whether there is a move at all.
func (m Moved) Pending() bool { return m.From != "" || m.To != "" }

// Landings are the tasks that have landed, with their commits.
func (s State) Landings() map[TaskID]Commit {
	out := map[TaskID]Commit{}
	for _, t := range s.Tasks {
		if t.State == Landed && t.Commit != "" {
			out[t.ID] = t.Commit
		}
	}
	return out
}

// Ended reports whether all work is done and was told so by a run: what becomes of the epic
// branch then is the person's.
func (s State) Ended() bool { return s.Done != "" && s.Done == s.Tip && s.complete(s.Epic) }

// unguarded lists the tasks whose agents worked since the branch was last seen where it
// belongs: they could have moved it.
func (s State) unguarded() (out []TaskID) {
	for _, t := range s.Tasks {
		a := t.Last()
		if a.Number > 0 && !a.InSession && !a.Started.Before(s.Run.Started) && (a.Open() || a.Ended.After(s.tip.seen)) {
			out = append(out, t.ID)
		}
	}
	return out
}

// tipState is what a run knows of the epic branch; it is not journaled, since a new run looks
// anew.
type tipState struct {
	seen    time.Time // when it was last seen where it belongs
	gone    bool      // there is none, and none was needed so far
	fresh   bool      // nothing that could move it has happened since
	looking bool
	held    string    // the work tree that has it checked out; "" none
	since   time.Time // that it is held
}

// BranchGone reports whether there is no epic branch, and none was needed.
func (s State) BranchGone() bool { return s.tip.gone }

// Held says which work tree has the epic branch checked out, so that nothing lands; "" for none.
func (s State) Held() string { return s.tip.held }

func applyTip(s State, e Event) State {
	switch e.Kind {
	case TipLookStarted, TipLookEnded:
		s.tip.looking = e.Kind == TipLookStarted
	case TipSeen:
		s.tip.looking, s.tip.fresh, s.tip.seen, s.tip.gone = false, true, e.At, e.Code == EpicMoved
		if !s.Moved.Accepted {
			s.Moved = Moved{}
		}
		s = s.hold(e)
	case BranchHeld:
		s = s.hold(e)
		s.Moved.Restoring = false
		s = s.requeue(e.At)
	case BranchMoved:
		s.Moved = Moved{TipMove: *e.Tip, During: s.unguarded(), Gate: s.Gate}
		s.tip.looking, s.tip.gone, s.tip.fresh = false, false, false
	case BranchAccepted:
		s = acceptTip(s, e)
	case RestoreStarted:
		s.Moved.Restoring = true
	case BranchRestored:
		s.Tip = e.Tip.From
		if s.Moved.Pending() {
			s.Gate = s.Moved.Gate
		}
		s.Moved = Moved{}
		s.tip = tipState{seen: e.At}
	}
	return s
}

func (s State) hold(e Event) State {
	if e.Reason != s.tip.held {
		s.tip.held, s.tip.since = e.Reason, e.At
	}
	return s
}

// acceptTip takes the branch as it is. Landed tasks whose work it does not hold are open again.
func acceptTip(s State, e Event) State {
	s.Tip = e.Tip.To
	s.Moved = Moved{TipMove: *e.Tip, Accepted: true, During: s.Moved.During, Gate: s.Gate}
	if e.Tip.From == "" || len(s.Landings()) == 0 && s.Base == e.Tip.From {
		s.Base = e.Tip.To
	}
	s.Gate, s.tip = GateUnknown, tipState{seen: e.At}
	s.Into = IntoState{}
	for _, id := range e.Tip.Lost {
		if t := s.Task(id); t == nil || t.State != Landed {
			continue
		}
		s = s.edit(id, func(t *Task) {
			t.Commit = ""
			t.Doubted = t.Status == statusClosed // the tracker is told that it is open
			t.release(e.At)
		})
	}
	return s
}

// tipRules settles where the epic branch is before anything rests on it.
func tipRules(s State, now time.Time) []Decision {
	m := s.Moved
	switch {
	case s.tip.held != "" && !s.tip.looking && now.Sub(s.tip.seen) >= heldLook:
		return one(LookAtTip, Event{Kind: TipLookStarted})
	case s.tip.held != "" || m.Restoring || s.tip.looking || s.machineWaits(now) || s.landingFails():
		return nil
	case !s.settled() && len(s.Landing.Commits) > 0 && !s.Landing.Moving:
		return one(Nothing, Event{Kind: LandingLost, Reason: "the epic branch is not where the candidates were built on"})
	case m.Pending() && !m.Accepted && m.holds():
		tip := m.TipMove
		return one(PinTip, Event{Kind: BranchAccepted, Tip: &tip, Reason: tip.String()})
	case m.Pending() && !m.Accepted && len(m.During) > 0,
		m.Pending() && m.Accepted && len(m.During) > 0 && s.Gate == GateRed:
		tip := m.TipMove
		return one(RestoreTip, Event{Kind: RestoreStarted, Code: Tampered, Tip: &tip})
	case s.tip.gone && !m.Pending() && s.Run.Drain == "" && len(s.ready(now)) > 0:
		return one(LookAtTip, Event{Kind: TipLookStarted})
	}
	return nil
}

// heldLook is how often a run looks whether the epic branch is still checked out, and
// heldPatience how long it waits for that when there is nothing else to do.
const (
	heldLook     = 2 * time.Second
	heldPatience = 30 * time.Second
)

// lastLook looks at the epic branch once more before the run ends.
func lastLook(s State, now time.Time) []Decision {
	if s.tip.fresh || s.tip.looking || s.machineWaits(now) || s.Run.Drain == Machine || s.Moved.Pending() || !s.quiet(now) || s.busy() || !s.told(now) {
		return nil
	}
	return one(LookAtTip, Event{Kind: TipLookStarted})
}

// tipStops says why the epic branch ends the run; "" where it does not.
func tipStops(s State, now time.Time) (Code, string) {
	m := s.Moved
	switch {
	case m.Pending() && !m.Accepted && !m.holds() && len(m.During) == 0:
		return EpicMoved, m.String()
	case m.Pending() && m.Accepted && s.Gate == GateRed && len(m.During) == 0 && !s.Run.Limits.AllowRedBase:
		return BaseRed, "the gate is red: " + m.String()
	case s.tip.held != "" && now.Sub(s.tip.since) >= heldPatience && !s.working() && !s.pending(now):
		return CheckedOut, "the epic branch is checked out in " + s.tip.held
	}
	return "", ""
}

// settled reports whether work may land: the branch is where it was left, nobody has it
// checked out, and no other clone drives the epic.
func (s State) settled() bool {
	return !s.Moved.Pending() && s.tip.held == "" && s.Holder() == ""
}

// stuck reports whether what waits to land has to wait for a person.
func (s State) stuck() bool { return !s.settled() && s.Run.Drain != "" }

// checkTip says whether an event about the epic branch may follow s.
func checkTip(s State, e Event) error {
	switch e.Kind {
	case BranchMoved, BranchAccepted, BranchRestored:
		if e.Tip == nil {
			return forbid(e, "it does not say from where to where")
		}
		if e.Kind == BranchAccepted && e.Tip.To == "" || e.Kind == BranchRestored && e.Tip.From == "" {
			return forbid(e, "it names no commit")
		}
	}
	return nil
}
