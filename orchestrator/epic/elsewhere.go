package epic

import (
	"fmt"
	"slices"
	"strings"

	"github.com/beadsorch/orch/orchestrator/reason"
)

// Another clone with the same tracker lands on an epic branch of its own. What it has closed is done
// here only once this epic branch has that work. Until then the task waits for a person, and what
// depends on it does not begin, since it would begin without what it depends on.

// landedIn is the prefix of the close reason of a task that has landed; the commit follows.
const landedIn = "landed in "

// waived is the prefix of the close reason of a task that a person has skipped; their own reason may follow.
const waived = "skipped by a person"

// closedByLanding says with what words a task that landed in c is closed in the tracker.
func closedByLanding(c Commit) string { return fmt.Sprintf(landedIn+"%.*s", shortCommit, c) }

// shortCommit is how many digits of a commit's id the tracker is told.
const shortCommit = 12

// SkipReason says, for journal and tracker, that a person has skipped a task, and why; why may be "".
func SkipReason(why string) string {
	if why == "" {
		return waived
	}
	return waived + ": " + why
}

// landingIn is the commit that a close names as the one which has landed, shortened; "" for none.
func landingIn(closeReason string) Commit {
	id, ok := strings.CutPrefix(closeReason, landedIn)
	if !ok || len(id) < shortCommit || len(id) > 64 || strings.Trim(id, "0123456789abcdef") != "" {
		return ""
	}
	return Commit(id)
}

// isClone reports whether a name is that of the orch of a clone other than the one that actor names.
func isClone(name, actor string) bool {
	return strings.HasPrefix(name, ActorPrefix) && strings.Contains(name, ":") && name != actor
}

// closedElsewhere reports whether the orch of another clone has closed the task, or one that the
// tracker does not name has, and not because a person told it to.
func (t *Task) closedElsewhere(actor string) bool {
	return t.Status == statusClosed && !t.Waived && (isClone(t.ClosedBy, actor) || t.LandedIn != "" && t.ClosedBy == "")
}

// actorEpic is the epic under whose name an actor claims tasks; "" where it is no orch's.
func actorEpic(actor string) TaskID {
	rest, ok := strings.CutPrefix(actor, ActorPrefix)
	if i := strings.LastIndex(rest, "/"); ok && i >= 0 && strings.Contains(rest[i:], ":") {
		rest = rest[:i]
	}
	if !ok {
		return ""
	}
	return TaskID(rest)
}

// LandedBy is where the work of a task is that a run elsewhere has closed: on the branch of an epic, which is this
// one's where the tracker does not tell; here says that it is one of this clone.
func (s State) LandedBy(t *Task) (epic TaskID, here bool) {
	if epic = actorEpic(t.ClosedBy); epic == "" {
		epic = s.Epic
	}
	own := strings.TrimPrefix(s.Run.Limits.Actor, ActorPrefix+string(actorEpic(s.Run.Limits.Actor))+"/")
	return epic, strings.Contains(own, ":") && t.ClosedBy == ActorPrefix+string(epic)+"/"+own
}

// elsewhere says for a person what is known of the work of a task that another clone has closed, or the run of another
// epic.
func (s State) elsewhere(t *Task) string {
	by := "the orch of another clone"
	switch epic, here := s.LandedBy(t); {
	case here:
		by = fmt.Sprintf("the run of the epic %s in this clone", epic)
	case t.ClosedBy != "" && epic != s.Epic:
		by = fmt.Sprintf("the run of the epic %s, %s", epic, t.ClosedBy[strings.LastIndex(t.ClosedBy, "/")+1:])
	case t.ClosedBy != "":
		by = HolderName(t.ClosedBy)
	}
	if t.LandedIn == "" {
		return by + " has closed it and names no commit: whether its work has landed there is not known here"
	}
	return fmt.Sprintf("landed in %.12s by %s", t.LandedIn, by)
}

// Missing says of a task that another clone has closed, or the run of another epic, that its work is not here, and how that is known.
func (s State) Missing(t *Task) string {
	if t.LandedIn == "" {
		return s.elsewhere(t)
	}
	return s.elsewhere(t) + ", and the epic branch here does not have that work"
}

// closers says who has closed what is sought.
func (s State) closers() string {
	if slices.ContainsFunc(s.Sought(), func(t *Task) bool { epic, _ := s.LandedBy(t); return epic == s.Epic }) {
		return "another clone"
	}
	return "the run of another epic"
}

// Sought lists the tasks that the orch of another clone has closed, and whose work was not found here.
func (s State) Sought() (out []*Task) {
	for _, t := range s.Tasks {
		if t.Elsewhere && !t.Deleted && (t.State == Waiting || t.State == Parked || t.State == Skipped) {
			out = append(out, t)
		}
	}
	return out
}

// seeking is how the look for work of other clones stands; it is not journaled, since a new run looks anew.
type seeking struct {
	busy bool
	at   map[TaskID]Commit // the tip of the epic branch on which each was looked for last
}

// LandingSeekStarted is the intent to look on the epic branch for what other clones have landed.
type LandingSeekStarted struct{ anyTime }

func (LandingSeekStarted) apply(s State, _ Event) State {
	s.seeking.busy = true
	return s
}

// LandingSeekEnded says which tasks of other clones were looked for, and where; what was found, and what
// was not, the events before it say.
type LandingSeekEnded struct {
	anyTime
	Tip   Commit   `json:"tip,omitempty"`   // of the epic branch
	Tasks []TaskID `json:"tasks,omitempty"` // that were looked for
}

func (f LandingSeekEnded) apply(s State, _ Event) State {
	at := map[TaskID]Commit{}
	for _, id := range f.Tasks {
		at[id] = f.Tip
	}
	s.seeking = seeking{at: at}
	return s
}

// currentSeek is an answer to the look as it is by now: a person may have settled the task meanwhile.
func currentSeek(s State, e Event) Event {
	if t := s.Task(e.Task); t != nil && !slices.Contains(s.Sought(), t) {
		return Event{Fact: LandingSeekEnded{}}
	}
	return e
}

// unsought reports whether something is to be looked for on the epic branch as it is.
func (s State) unsought() bool {
	if s.Holder() != "" || s.tracker.read.IsZero() || s.Tip == "" || s.Run.Interrupt || s.Run.Drain == reason.Machine || s.Moved.Pending() && !s.Moved.Accepted {
		return false
	}
	return slices.ContainsFunc(s.Sought(), func(t *Task) bool { return s.seeking.at[t.ID] != s.Tip })
}

// seeks reports whether work of other clones is being looked for, or is to be.
func (s State) seeks() bool { return s.seeking.busy || s.unsought() }

// seek looks on the epic branch for what other clones have landed.
func seek(s State, now *clock) []Decision {
	if s.seeking.busy || s.machineWaits(now) || s.moving() || !s.unsought() {
		return nil
	}
	return decideOne(SeekLandings, Event{Fact: LandingSeekStarted{}})
}
