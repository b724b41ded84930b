package stophook

import (
	"time"

	"github.com/beadsorch/orch/orchestrator/epic"
)

// Standing is how an epic stands for one session.
type Standing struct {
	epic.Work
	epic.Outlook
	// Offer is what the session would get that asked for a task.
	Offer epic.Offer
	// Unread says why the tracker's word is not known; "" where it is.
	Unread string
	// Fingerprint is the same as long as nothing has moved: no task, no landing, no commit and no
	// file of the session's worktrees. A stop with the fingerprint of the stop before has brought
	// nothing.
	Fingerprint string
}

// StandingOf looks an epic over for a session.
func StandingOf(s epic.State, now time.Time, who epic.Asker, fingerprint string) Standing {
	return Standing{Work: epic.WorkOf(s, now), Outlook: epic.PromiseOf(s, now), Offer: epic.OfferTo(s, who, now), Unread: s.TrackerLost(), Fingerprint: fingerprint}
}
