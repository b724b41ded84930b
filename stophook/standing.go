package stophook

import (
	"slices"
	"time"

	"github.com/beadsorch/orch/orchestrator/epic"
)

// Standing is how an epic stands for one session.
type Standing struct {
	epic.Work
	epic.Outlook
	// Elsewhere says that nothing is ready, and that all that is in progress is in other hands:
	// those of another session, or of the agents of a run that goes on.
	Elsewhere bool
	// Unread says why the tracker's word is not known; "" where it is.
	Unread string
	// Fingerprint is the same as long as nothing has moved: no task, no landing, no commit and no
	// file of the session's worktrees. A stop with the fingerprint of the stop before has brought
	// nothing.
	Fingerprint string
}

// StandingOf looks an epic over for a session. mine reports whether a task that is in progress is
// the session's, or nobody's.
func StandingOf(s epic.State, now time.Time, mine func(*epic.Task) bool, fingerprint string) Standing {
	out := Standing{Work: epic.WorkOf(s, now), Outlook: epic.PromiseOf(s, now), Unread: s.TrackerLost(), Fingerprint: fingerprint}
	inProgress := func(t *epic.Task) bool {
		return t.State == epic.Running || t.State == epic.Queued || t.State == epic.Validating || t.State == epic.Waiting && !s.Driven()
	}
	out.Elsewhere = out.Ready == 0 && out.InProgress > 0 && !slices.ContainsFunc(s.Tasks, func(t *epic.Task) bool {
		return t.Dispatchable() && inProgress(t) && mine(t)
	})
	return out
}
