package epic

import (
	"fmt"
	"strings"
	"time"

	"github.com/beadsorch/orch/orchestrator/reason"
	"github.com/beadsorch/orch/orchestrator/text"
)

// Process is one process of a machine; the zero value where it is unknown.
type Process struct {
	PID  int    `json:"pid"`
	Born uint64 `json:"born"`              // when it began, as its machine counts
	Here string `json:"here" text:"plain"` // the machine, since it was started, that PID and Born are of
}

// SessionHolder is the session that an attempt was handed to: the session of a client, or a terminal.
type SessionHolder struct {
	Session string `json:"session,omitempty" text:"plain"` // the client's id of it; "" where the client does not tell
	PID     int    `json:"pid,omitempty"`                  // the process that ends with it; 0 unknown
	Born    uint64 `json:"born,omitempty"`                 // when that process began, as its machine counts
	Here    string `json:"here,omitempty" text:"plain"`    // the machine, since it was started, that PID and Born are of
	Name    string `json:"name,omitempty" text:"plain"`    // what a person knows it by where there is no Session
	Below   string `json:"below,omitempty" text:"plain"`   // processes below PID that may be the client itself while they are there, the nearest first: PID.BORN each, with a space between
}

// Below names processes for a [SessionHolder].
func Below(processes []Process) string {
	var words []string
	for _, p := range processes {
		words = append(words, fmt.Sprintf("%d.%d", p.PID, p.Born))
	}
	return strings.Join(words, " ")
}

// Candidates are the processes one of which the session is, the nearest to the command first: the first
// that has not ended counts.
func (h SessionHolder) Candidates() (all []Process) {
	for _, word := range strings.Fields(h.Below) {
		p := Process{Here: h.Here}
		if _, err := fmt.Sscanf(word, "%d.%d", &p.PID, &p.Born); err == nil {
			all = append(all, p)
		}
	}
	if h.PID != 0 {
		all = append(all, Process{PID: h.PID, Born: h.Born, Here: h.Here})
	}
	return all
}

// IsSession reports whether the holder of an attempt is a session.
type IsSession func(SessionHolder) bool

// IsZero reports whether nothing is known of the session.
func (h SessionHolder) IsZero() bool { return h == SessionHolder{} }

// String names the session for a person.
func (h SessionHolder) String() string {
	switch {
	case h.Session != "":
		return "session " + text.Clause(h.Session, 64)
	case h.Name != "":
		return text.Clause(h.Name, 64)
	case h.PID != 0:
		return fmt.Sprintf("process %d", h.PID)
	}
	return "a session"
}

// Same reports whether both are one session, as far as is known.
func (h SessionHolder) Same(o SessionHolder) bool {
	switch {
	case h.Session != "" && o.Session != "":
		return h.Session == o.Session
	case h.PID != 0 && o.PID != 0:
		return h.PID == o.PID && h.Born == o.Born && h.Here == o.Here
	}
	return !h.IsZero() && h == o
}

// HeldBy reports whether the attempt is a session's that goes on, and it is this one, or nothing is
// known of it.
func (a Attempt) HeldBy(is IsSession) bool {
	return a.InSession && a.Open() && (a.Holder.IsZero() || is(a.Holder))
}

// LostBy is the newest attempt at the task that was taken from the session since it was gone; its
// Number is 0 where there is none, or the session has had another attempt since.
func (t *Task) LostBy(is IsSession) Attempt {
	for i := len(t.Attempts) - 1; i >= 0; i-- {
		if a := t.Attempts[i]; a.InSession && !a.Holder.IsZero() && is(a.Holder) {
			if a.Open() || a.Failure != reason.Orphaned {
				return Attempt{}
			}
			return a
		}
	}
	return Attempt{}
}

// sessionLook is how often a run looks whether the sessions that work on its tasks are there.
const sessionLook = 2 * time.Second

// sessions has a run look after the sessions that work on tasks of its epic.
func sessions(s State, now *clock) []Decision {
	_, asked := s.nextWish(0)
	if s.Run.Mode != ModeRun || s.Run.Interrupt || s.looking || s.collecting() || !s.handedOut() && !asked || now.Before(s.looked.Add(sessionLook)) {
		return nil
	}
	return decideOne(LookAtSessions, Event{Fact: SessionLookStarted{}})
}

// askerLook is how long ago who asks for a task may have been looked for when one is given.
const askerLook = time.Second

// askersUnsure reports whether it is not known of this moment that those who ask for a task are
// there still.
func (s State) askersUnsure(now *clock) bool { return !now.Before(s.looked.Add(askerLook)) }

// SessionLookStarted is the intent to look for the sessions that work on tasks, or ask for one.
type SessionLookStarted struct{ anyTime }

func (SessionLookStarted) apply(s State, _ Event) State {
	s.looking = true
	return s
}

// SessionLookEnded says that those that are gone have lost their attempts.
type SessionLookEnded struct{ anyTime }

func (SessionLookEnded) apply(s State, e Event) State {
	s.looking, s.looked = false, e.At
	return s
}

// handedOut reports whether a session has a task.
func (s State) handedOut() bool {
	for _, t := range s.Tasks {
		if a := t.Last(); t.State == Running && a.Phase == HandedOver {
			return true
		}
	}
	return false
}

// currentLoss is the loss of a session's attempt once the state has gone on: what has come to an
// end meanwhile, or is to land, is not lost.
func currentLoss(s State, e Event) Event {
	t := s.Task(e.Task)
	if t == nil || t.State != Running || !t.Last().Open() || t.Last().Number != e.Attempt || s.WantsLanding(t) {
		return Event{Fact: SessionLookEnded{}}
	}
	return e
}
