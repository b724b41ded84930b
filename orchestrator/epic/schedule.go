package epic

import (
	"fmt"
	"slices"
	"time"

	"github.com/beadsorch/orch/orchestrator/reason"
)

// satisfied reports whether one id of each row of the needs is done. An id that
// the tracker does not have never blocks (bd's own rule).
func (s State) satisfied(needs [][]TaskID) bool { return len(s.unmet(needs)) == 0 }

// unmet lists the ids of the rows of which none is done, in order, once each.
func (s State) unmet(needs [][]TaskID) []TaskID {
	var out []TaskID
	for _, row := range needs {
		if slices.ContainsFunc(row, s.done) {
			continue
		}
		for _, id := range row {
			if !slices.Contains(out, id) {
				out = append(out, id)
			}
		}
	}
	return out
}

func (s State) done(id TaskID) bool {
	t := s.Task(id)
	return t == nil || t.Deleted || t.Done() || t.Epic && !t.External && s.complete(id)
}

// complete reports whether all that agents are given below the epic is done,
// and there is something.
func (s State) complete(epic TaskID) bool {
	some := false
	for _, t := range s.Tasks {
		if t.External || t.Deleted || t.ID == epic || !s.below(t, epic) {
			continue
		}
		if !t.Epic && !t.Done() {
			return false
		}
		some = some || !t.Epic
	}
	return some
}

// below reports whether t is a descendant of epic.
func (s State) below(t *Task, epic TaskID) bool {
	for range 64 { // a parent cycle ends somewhere
		if t.Parent == epic {
			return true
		}
		if t = s.Task(t.Parent); t == nil {
			return false
		}
	}
	return false
}

// blockedBy lists what a waiting task waits for in the tracker.
func (s State) blockedBy(t *Task) []TaskID { return s.unmet(t.Needs) }

// trackerHold says why the tracker, rather than a blocker, keeps a waiting task back;
// "" when it does not.
func (s State) trackerHold(t *Task, now *clock) string {
	switch {
	case t.Deleted:
		return "deleted from the tracker"
	case s.inner(t) != "":
		return s.inner(t)
	case t.Status == statusInProgress && t.Assignee == s.Run.Limits.Actor:
		return ""
	case t.Status == statusInProgress && t.Assignee != "":
		return "in progress in the hands of " + t.Assignee
	case t.Status == statusInProgress:
		return "in progress in the tracker, without an agent"
	case t.Status == t.Written && t.Written == statusBlocked:
		return "" // by us, and released since
	case t.Elsewhere:
		return s.elsewhere(t)
	case t.Status != statusOpen:
		return t.Status + " in the tracker"
	case now.Before(t.DeferTill):
		return "deferred until " + t.DeferTill.Format(time.DateTime)
	}
	return ""
}

// inner says who drives an epic within this one that the task is below; "" where nobody does.
func (s State) inner(t *Task) string {
	for p := s.Task(t.Parent); p != nil && p.ID != s.Epic; p = s.Task(p.Parent) {
		if p.Status == statusInProgress && actorEpic(p.Assignee) == p.ID && p.Assignee != s.Run.Limits.Actor {
			return fmt.Sprintf("a run drives the epic %s, which it is part of", p.ID)
		}
	}
	return ""
}

// IsReady reports whether nothing but a free place, a back-off or a limit keeps
// an agent from the task, or that orch has yet to open it in the tracker.
func (s State) IsReady(t *Task, now time.Time) bool {
	return s.isReady(t, at(now)) || t.State == Waiting && t.Dispatchable() && !t.Deleted && t.Status == statusClosed && t.ClosedByAgent && s.satisfied(t.Needs)
}

func (s State) isReady(t *Task, now *clock) bool {
	return t.State == Waiting && t.Dispatchable() && s.trackerHold(t, now) == "" && s.satisfied(t.Needs)
}

// ready lists the ready tasks, the one with the longest remaining path first,
// then by priority, then by age.
func (s State) ready(now *clock) []*Task {
	var out []*Task
	for _, t := range s.Tasks {
		if s.isReady(t, now) {
			out = append(out, t)
		}
	}
	if len(out) > 1 {
		rank := s.ranks()
		slices.SortStableFunc(out, func(a, b *Task) int { return byRank(rank, a, b) })
	}
	return out
}

func byRank(rank map[TaskID]float64, a, b *Task) int {
	switch {
	case rank[a.ID] != rank[b.ID]:
		if rank[a.ID] > rank[b.ID] {
			return -1
		}
		return 1
	case a.Priority != b.Priority:
		return a.Priority - b.Priority
	case !a.CreatedAt.Equal(b.CreatedAt):
		return a.CreatedAt.Compare(b.CreatedAt)
	}
	return 0 // by id, since the list was
}

// ranks gives for each task that is not done the longest way from its start to
// the end of the epic, in the unit of weight (the upward rank of HEFT on equal
// machines: Topcuoglu, Hariri and Wu, 2002). A cycle counts once.
func (s State) ranks() map[TaskID]float64 {
	next := map[TaskID][]*Task{}
	for _, t := range s.Tasks {
		for _, row := range t.Needs {
			for _, id := range row {
				next[id] = append(next[id], t)
			}
		}
	}
	rank, usual := map[TaskID]float64{}, s.meanMinutes()
	var visit func(t *Task) float64
	visit = func(t *Task) float64 {
		if r, seen := rank[t.ID]; seen {
			return r
		}
		rank[t.ID] = 0 // while under way: an edge of a cycle adds nothing
		longest := 0.0
		for _, n := range next[t.ID] {
			longest = max(longest, visit(n))
		}
		if !t.Done() && !t.Epic {
			longest += minutesOf(t, usual)
		}
		rank[t.ID] = longest
		return longest
	}
	for _, t := range s.Tasks {
		visit(t)
	}
	return rank
}

// minutesOf is how long a task may take, in minutes: the tracker's estimate, else
// what tasks of this epic took.
func minutesOf(t *Task, usual float64) float64 {
	if t.Estimate > 0 {
		return float64(t.Estimate)
	}
	return usual
}

// meanMinutes is the mean time, in minutes, that the landed tasks took; 1 when none has.
func (s State) meanMinutes() float64 {
	var sum time.Duration
	n := 0
	for _, t := range s.Tasks {
		if t.State == Landed && t.Last().Worked > 0 {
			sum += t.Last().Worked
			n++
		}
	}
	if n == 0 {
		return 1
	}
	return sum.Minutes() / float64(n)
}

// iterations starts the agent of an open attempt once more.
func iterations(s State, now *clock) (ds []Decision) {
	if s.Run.Drain != "" || s.Run.Paused || now.Before(s.Cooldown) || s.Run.Mode != ModeRun || !s.epicOurs() {
		return nil
	}
	free := min(s.slots(), s.iterationLimit()-s.Run.Iterations)
	for _, t := range s.Tasks {
		a := t.Last()
		if t.State != Running || a.Phase != BetweenTurns || free <= 0 {
			continue
		}
		free--
		why := "the agent asked to go on"
		if a.Silent > 0 {
			why = "it promised nothing, and is asked whether it is done"
		}
		if n := len(a.Rounds); n > 0 && a.Rounds[n-1].Iteration == a.Iteration && !a.Rounds[n-1].Passed {
			why = "red: " + a.Rounds[n-1].Failure
		}
		if a.Session == "" && s.Run.Limits.Resumes {
			why = "in a fresh session: the context was full"
		}
		if len(a.Files) > 0 {
			why = "conflict in " + FirstOf(a.Files)
		}
		ds = append(ds, Decision{Act: Iterate, Event: Event{Task: t.ID, Attempt: a.Number, Reason: why,
			Fact: IterationStarted{Turn{Iteration: a.Iteration + 1, Base: a.Base, Session: a.Session, Resume: s.Run.Limits.Resumes && a.Session != ""}}}})
	}
	return ds
}

// slots is how many more agents may run.
func (s State) slots() int {
	n := s.Run.Limits.MaxParallel
	if s.Run.Probing {
		n = 1
	}
	limited := s.Run.Limits.Budget != Usage{} // what an agent used is known when its work is
	for _, t := range s.Tasks {
		if a := t.Last(); a.HasAgent() && (limited || a.Phase != Inspecting) {
			n--
		}
	}
	return max(0, n)
}

// starts gives ready tasks to agents.
func starts(s State, now *clock) []Decision {
	if !s.takesUp(now) {
		return nil
	}
	ds := s.startReady(now)
	if len(ds) == 0 {
		return nil
	}
	if _, asked := s.nextWish(0); asked && s.askersUnsure(now) { // nothing is given to who has gone
		if s.looking || s.collecting() {
			return nil
		}
		return decideOne(LookAtSessions, Event{Fact: SessionLookStarted{}})
	}
	if s.tipStale(now) { // what agents begin from is looked at first
		if s.tip.looking || s.Moved.Restoring || s.machineWaits(now) {
			return nil
		}
		return decideOne(LookAtTip, Event{Fact: TipLookStarted{}})
	}
	return ds
}

// takesUp reports whether ready tasks may be begun now, as far as that is a matter of the run, the tracker
// and the epic branch.
func (s State) takesUp(now *clock) bool {
	switch {
	case s.Run.Drain != "", s.Run.Paused, !s.Run.Mode.starts():
		return false
	case s.tracker.read.IsZero(), s.trackerGivenUp():
		return false
	case now.Before(s.Cooldown):
		return false
	case s.Moved.Pending(), s.tip.gone, !s.epicOurs(), !s.passes(), s.seeks():
		return false
	}
	return s.Run.Mode != ModeNext || !s.AtLimit()
}

// startReady starts ready tasks, as many as there are places; those that sessions ask for first.
func (s State) startReady(now *clock) (ds []Decision) {
	free := min(s.slots(), s.iterationLimit()-s.Run.Iterations)
	if free <= 0 {
		return nil
	}
	for _, t := range s.startOrder(now) {
		if free == len(ds) {
			break
		}
		if now.Before(t.NotBefore) || t.Charged >= max(1, s.Run.Limits.Attempts) {
			continue
		}
		d := s.start(t)
		if w, ok := s.nextWish(len(ds)); ok {
			d = d.handTo(w)
		}
		ds = append(ds, d)
	}
	return ds
}

// startOrder is the order of dispatch; a probe of the breaker takes the task
// that has been tried least.
func (s State) startOrder(now *clock) []*Task {
	ready := s.ready(now)
	if s.Run.Probing {
		slices.SortStableFunc(ready, func(a, b *Task) int { return len(a.Attempts) - len(b.Attempts) })
	}
	return ready
}

func (s State) start(t *Task) Decision {
	last := t.Last()
	f := AttemptStarted{Turn: Turn{Iteration: 1, Base: s.Tip}, InSession: s.Run.Mode == ModeNext}
	if f.InSession {
		f.Holder = s.Run.Holder
	}
	if failed, _ := reason.Of(last.Failure); s.Run.Limits.Resumes && last.Session != "" && last.Head != "" && !failed.Anew {
		f.Base, f.Session, f.Resume = last.Head, last.Session, true
	}
	why := "ready"
	if last.Number > 0 {
		why = fmt.Sprintf("attempt %d", last.Number+1)
		if last.Failure != "" {
			why += ", after " + string(last.Failure)
		}
	}
	return Decision{Act: Start, Event: Event{Fact: f, Task: t.ID, Attempt: last.Number + 1, Reason: why}}
}
