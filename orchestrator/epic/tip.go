package epic

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/beadsorch/orch/orchestrator/reason"
)

// The epic branch belongs to others too: a person who rewinds it, an agent that commits on it.
// State.Tip is where the last landing, or a person's word, left it. Whoever finds it elsewhere
// says so with an event, and what is decided then is here.

// TipMove is how the epic branch was found elsewhere than it was left.
type TipMove struct {
	From    Commit   `json:"from"`                        // where it was left
	To      Commit   `json:"to,omitempty"`                // where it is; "" where it is gone
	Forward bool     `json:"forward,omitempty"`           // To has From among its ancestors
	Foreign []string `json:"foreign,omitempty"`           // commits that orch did not land, newest first, each "id subject"; the first few
	Lost    []TaskID `json:"lost,omitempty"`              // that have landed, and whose work To does not hold
	Kept    string   `json:"kept,omitempty" text:"plain"` // the reference that keeps what is no longer on the branch
}

// Current is e as it is once the state has gone on since its worker began: a branch that was
// found elsewhere meanwhile is where it belongs when a landing of orch's own has moved it there,
// or when that was settled.
func Current(s State, e Event) Event {
	if _, lost := e.Fact.(AttemptLost); lost {
		return currentLoss(s, e)
	}
	if f, ended := e.Fact.(AgentEnded); ended {
		return currentEnd(s, e, f)
	}
	switch e.Fact.(type) {
	case TaskFound:
		return currentSeek(s, e)
	case TaskParked:
		if e.Code == reason.LandedElsewhere {
			return currentSeek(s, e)
		}
	}
	f, moved := e.Fact.(BranchMoved)
	if !moved {
		return e
	}
	ours := slices.ContainsFunc(s.Stacks, func(k Stack) bool { return k.Moving && f.To == k.top() })
	switch {
	case s.Moved.Pending() && f.To == s.Moved.To, // as is known
		f.Since.Before(s.tip.seen) && !f.Since.IsZero(): // it was put back, or moved by orch, since the look began
		return Event{Fact: TipLookEnded{Held: f.Held, Busy: f.Busy}}
	case ours, f.To == s.Tip, f.From != s.Tip:
		return Event{Fact: TipSeen{Held: f.Held, Busy: f.Busy}}
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
		return fmt.Sprintf("the epic branch is at %.12s, not at %.12s, without the work of %s", m.To, m.From, listText(m.Lost))
	case m.Forward && n == 1:
		return fmt.Sprintf("the epic branch has a commit that orch did not land: %s", m.Foreign[0])
	case m.Forward && n > 1:
		return fmt.Sprintf("the epic branch has %d commits that orch did not land, the newest: %s", n, m.Foreign[0])
	}
	return fmt.Sprintf("the epic branch was rewritten from %.12s to %.12s, with all landed work", m.From, m.To)
}

// listText names the first few tasks.
func listText(ids []TaskID) string {
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

// Foreign is what others did to the epic branch since orch or a person left it at From, and which was
// taken as it is; nothing has landed on it since. The zero TipMove says that there is nothing.
func (s State) Foreign() TipMove { return s.taken }

// takeMove adds a move of the branch to those that were taken as they are. One that loses work is none to go
// back from: its tasks are open again.
func (s State) takeMove(m TipMove) TipMove {
	was := s.taken
	switch {
	case len(m.Lost) > 0 || m.From == "":
		return TipMove{}
	case was.From == "":
		return TipMove{From: m.From, To: m.To, Forward: m.Forward, Foreign: m.Foreign, Kept: m.Kept}
	}
	return TipMove{From: was.From, To: m.To, Forward: was.Forward && m.Forward, Foreign: slices.Concat(m.Foreign, was.Foreign), Kept: was.Kept}
}

// gateRed is why an epic branch whose gate is red takes no agent, with what others did to it.
func (s State) gateRed() string {
	if s.taken.From != "" {
		return "the gate is red: " + s.taken.String()
	}
	why := "the gate is red on the epic branch before any agent has touched it"
	if s.red != "" {
		why += ": " + s.red
	}
	return why
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

// Ended reports whether all work is done and a run has recorded so: what becomes of the epic
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
	doubted bool      // a person was at work since: it is looked at before an agent begins
	looking bool
	looked  time.Time // when the newest look ended, whatever it found
	held    string    // the work tree that has it checked out; "" none
	busy    string    // what goes on there; "" nothing
	barred  bool      // it was so before the run: nothing begins
	since   time.Time // that it is held
}

// TipSeenAt is when the epic branch was last seen where it belongs, in this run.
func (s State) TipSeenAt() time.Time { return s.tip.seen }

// tipStale reports whether somebody other than an agent may have moved the epic branch since it was
// last seen: no agent has worked since, and that is a while ago.
func (s State) tipStale(now *clock) bool {
	return !s.tip.gone && len(s.unguarded()) == 0 && (s.tip.doubted || !now.Before(s.tip.seen.Add(idleLook)))
}

// BranchGone reports whether there is no epic branch, and none was needed.
func (s State) BranchGone() bool { return s.tip.gone }

// Held says which work tree has the epic branch checked out, so that nothing lands; "" for none.
func (s State) Held() string { return s.tip.held }

// HeldBusy says in a clause what goes on in the work tree that has the epic branch checked out; "" for nothing.
func (s State) HeldBusy() string { return s.tip.busy }

// WithCheckout is s where a work tree was found to have the epic branch checked out, while nobody drives
// the epic: no run and no short command can begin. An empty dir says that there is none.
func (s State) WithCheckout(dir, busy string) State {
	s.tip.held, s.tip.busy, s.tip.barred = dir, busy, dir != ""
	if code := s.Run.Drain; code == reason.CheckedOut && dir == "" {
		s.Run.Drain, s.Run.DrainWhy = "", ""
	}
	return s
}

// heldText says where the epic branch is checked out.
func (s State) heldText() string {
	why := "the epic branch is checked out in " + s.tip.held
	if s.tip.busy != "" {
		why += ", which " + s.tip.busy
	}
	return why
}

// TipLookStarted is the intent to look at the epic branch.
type TipLookStarted struct{ anyTime }

func (TipLookStarted) apply(s State, _ Event) State {
	s.tip.looking = true
	return s
}

// TipLookEnded says that nothing was found of where the epic branch is that was not known.
type TipLookEnded struct {
	anyTime
	Held string `json:"held,omitempty"` // the work tree that has it checked out; "" none
	Busy string `json:"busy,omitempty"` // what goes on there; "" nothing
}

func (f TipLookEnded) apply(s State, e Event) State {
	s.tip.looking, s.tip.doubted, s.tip.fresh = false, false, false
	return s.hold(f.Held, f.Busy, e.At)
}

// TipSeen says that the epic branch is where it belongs.
type TipSeen struct {
	anyTime
	Held string `json:"held,omitempty"` // the work tree that has it checked out; "" none
	Busy string `json:"busy,omitempty"` // what goes on there; "" nothing
	Gone bool   `json:"gone,omitempty"` // there is none, and none is needed
}

func (f TipSeen) apply(s State, e Event) State {
	s.tip.looking, s.tip.doubted, s.tip.fresh, s.tip.seen, s.tip.gone = false, false, true, e.At, f.Gone
	if !s.Moved.Accepted {
		s.Moved = Moved{}
	}
	return s.hold(f.Held, f.Busy, e.At)
}

// BranchHeld says that a work tree has the epic branch checked out: nothing lands.
type BranchHeld struct {
	anyTime
	Dir  string `json:"dir,omitempty"`  // the work tree
	Busy string `json:"busy,omitempty"` // what goes on there; "" nothing
}

func (f BranchHeld) apply(s State, e Event) State {
	s = s.hold(f.Dir, f.Busy, e.At)
	s.Moved.Restoring = false
	return s.requeueAll(e.At)
}

// hold notes what a look at the branch, which ended at a time, has found of its checkout.
func (s State) hold(dir, busy string, at time.Time) State {
	s.tip.looked, s.tip.busy = at, busy
	if dir != s.tip.held {
		s.tip.held, s.tip.since, s.tip.barred = dir, at, false
	}
	return s
}

// BranchMoved says that the epic branch is not where it was left.
type BranchMoved struct {
	anyTime
	TipMove
	Since time.Time `json:"since,omitzero"` // when it had last been seen where it belongs, as the look began
	Held  string    `json:"held,omitempty"` // the work tree that has it checked out; "" none
	Busy  string    `json:"busy,omitempty"` // what goes on there; "" nothing
}

func (f BranchMoved) apply(s State, e Event) State {
	s.Moved = Moved{TipMove: f.TipMove, During: s.unguarded(), Gate: s.Gate}
	s.tip.looking, s.tip.doubted, s.tip.gone, s.tip.fresh = false, false, false, false
	return s.hold(f.Held, f.Busy, e.At)
}

// BranchAccepted says that the epic branch is taken as it is.
type BranchAccepted struct{ TipMove }

func (f BranchAccepted) check(_ State, e Event) error {
	if f.To == "" {
		return forbid(e, "it names no commit")
	}
	return nil
}

// apply opens landed tasks again whose work the branch does not hold.
func (f BranchAccepted) apply(s State, e Event) State {
	s.Tip, s.taken = f.To, s.takeMove(f.TipMove)
	s.before = s.before.withoutDrain(reason.BaseRed)
	s.Moved = Moved{TipMove: f.TipMove, Accepted: true, During: s.Moved.During, Gate: s.Gate}
	if f.From == "" || len(s.Landings()) == 0 && s.Base == f.From {
		s.Base = f.To
	}
	if s.Run.Mode == ModeSettle { // the next run has the gate judge it
		s.Moved = Moved{}
	}
	s.Gate, s.tip = GateUnknown, tipState{seen: e.At, looked: s.tip.looked, held: s.tip.held, busy: s.tip.busy, since: s.tip.since}
	s.Into = IntoState{}
	for _, id := range f.Lost {
		if t := s.Task(id); t == nil || t.State != Landed {
			continue
		}
		s = s.edit(id, func(t *Task) {
			t.Commit = ""
			t.ClosedByAgent = t.Status == statusClosed // the tracker is to have it open
			t.resetForRetry(e.At)
		})
	}
	return s
}

// RestoreStarted is the intent to put the epic branch back, for the event's Code.
type RestoreStarted struct {
	anyTime
	TipMove
}

func (RestoreStarted) apply(s State, _ Event) State {
	s.Moved.Restoring = true
	return s
}

// BranchRestored says that the epic branch is where it was left again.
type BranchRestored struct{ TipMove }

func (f BranchRestored) check(_ State, e Event) error {
	if f.From == "" {
		return forbid(e, "it names no commit")
	}
	return nil
}

func (f BranchRestored) apply(s State, e Event) State {
	if s.Base == s.taken.To && len(s.Landings()) == 0 {
		s.Base = f.From
	}
	switch {
	case s.taken.From == f.From: // further back than it was found
		s.Gate = GateUnknown
	case s.Moved.Pending():
		s.Gate = s.Moved.Gate
	}
	if s.taken.From == f.From {
		s.taken = TipMove{}
	}
	s.Tip, s.before = f.From, s.before.withoutDrain(reason.BaseRed)
	s.Moved = Moved{}
	s.tip = tipState{seen: e.At}
	return s
}

// tipRules settles where the epic branch is before anything rests on it.
func tipRules(s State, now *clock) []Decision {
	waits := slices.IndexFunc(s.Stacks, func(k Stack) bool { return k.green() && !k.Moving })
	switch {
	case s.Moved.Restoring || s.tip.looking || s.machineWaits(now):
		return nil
	case s.tip.held != "" && !now.Before(s.tip.looked.Add(heldLook)):
		return decideOne(LookAtTip, Event{Fact: TipLookStarted{}})
	case s.landingFails():
		return nil
	case s.moving(): // it may land yet, and then the tip is another
		return nil
	case !s.settled() && waits >= 0:
		return decideOne(Nothing, Event{Fact: LandingLost{Tasks: s.Stacks[waits].Tasks}, Reason: "the epic branch is not where the candidates were built on"})
	case s.Moved.Pending():
		return s.Moved.settle(s.Gate, s.tip.held != "")
	case s.tip.gone && s.Run.Drain == "" && len(s.ready(now)) > 0:
		return decideOne(LookAtTip, Event{Fact: TipLookStarted{}})
	}
	return nil
}

// settle takes the epic branch as it is where all landed work is on it, and puts it back where agents worked
// while it moved: at once if work is missing, else when the gate is red on it, and not while it is held, checked
// out. Whatever else is so is left to the gate, or to a person.
func (m Moved) settle(gate GateState, held bool) []Decision {
	switch {
	case !m.Accepted && m.holds():
		return decideOne(PinTip, Event{Fact: BranchAccepted{TipMove: m.TipMove}, Reason: m.String()})
	case !held && len(m.During) > 0 && (!m.Accepted || gate == GateRed):
		return decideOne(RestoreTip, Event{Fact: RestoreStarted{TipMove: m.TipMove}, Code: reason.Tampered})
	}
	return nil
}

// heldLook is how often a run looks whether the epic branch is still checked out, heldPatience how
// long it waits for that when there is nothing else to do, and idleLook how long a look at the
// branch counts while no agent works.
const (
	idleLook     = 2 * time.Second
	heldLook     = 2 * time.Second
	heldPatience = 30 * time.Second
)

// lastLook looks at the epic branch once more before the run ends.
func lastLook(s State, now *clock) []Decision {
	if s.tip.fresh || s.tip.looking || s.machineWaits(now) || s.Run.Drain == reason.Machine || s.Moved.Pending() || !s.over(now) {
		return nil
	}
	return decideOne(LookAtTip, Event{Fact: TipLookStarted{}})
}

// tipStops says why the epic branch ends the run; "" where it does not.
func tipStops(s State, now *clock) (reason.Code, string) {
	m := s.Moved
	switch {
	case s.moving():
		return "", ""
	case m.Pending() && !m.Accepted && !m.holds() && len(m.During) == 0:
		return reason.EpicMoved, m.String()
	case m.Pending() && m.Accepted && s.Gate == GateRed && len(m.During) == 0 && !s.Run.Limits.AllowRedBase:
		return reason.BaseRed, s.gateRed()
	case s.tip.barred && !s.tracker.read.IsZero() && !s.noneLeft():
		return reason.CheckedOut, s.heldText()
	case s.tip.held != "" && !now.Before(s.tip.since.Add(heldPatience)) && !s.working() && (!s.workLeft(now) || s.Moved.Pending()): // nothing begins on a branch that is not settled
		return reason.CheckedOut, s.heldText()
	}
	return "", ""
}

// settled reports whether work may land: the branch is where it was left, nobody has it
// checked out, and no other clone drives the epic.
func (s State) settled() bool {
	return !s.Moved.Pending() && s.tip.held == "" && s.Holder() == ""
}

// stuck reports whether what waits to land has to wait for a person.
func (s State) stuck() bool { return (!s.settled() || s.unjudgedForeign()) && s.Run.Drain != "" }
