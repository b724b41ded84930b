package epic

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/beadsorch/orch/orchestrator/text"
	"github.com/beadsorch/orch/orchestrator/tracker"
)

// Decision is what to do next: a value, never a closure. Its Event is written
// into the journal, then it is done.
type Decision struct {
	Event                    // the intent, as the journal has it
	Act     Act              // what the Executor does about it; Nothing when the event is all
	Changes []tracker.Change // Write
}

// Act is something that is done outside the state.
type Act string

// The acts. Each but Nothing, Stop, PinTip and Finish is answered with events.
const (
	Nothing    Act = ""
	Survey     Act = "survey"     // read the tracker
	Write      Act = "write"      // tell the tracker
	CheckBase  Act = "check_base" // gate on the untouched base
	Start      Act = "start"      // worktree, brief, agent
	Iterate    Act = "iterate"    // the agent once more, in the same worktree
	Stop       Act = "stop"       // interrupt the agent
	Gate       Act = "gate"       // stack candidates, gate on the last one's tree
	Move       Act = "move"       // the epic branch, to judged candidates
	Clean      Act = "clean"      // worktree and branch of a landed task
	Into       Act = "into"       // land the epic branch elsewhere
	LookAtTip  Act = "look"       // see whether the epic branch is where it was left
	PinTip     Act = "pin"        // have a reference keep the tip
	RestoreTip Act = "restore"    // put the epic branch back
	Finish     Act = "finish"     // the run is over

	Collect        Act = "collect"  // look at what a session has done for a task
	Reply          Act = "answer"   // tell who asked how it went
	LookAtSessions Act = "sessions" // find those that are gone, and salvage what they have done
)

// Limits of the breaker and of a tracker that does not answer.
const (
	breakerExits    = 5 // fast exits within fastExitWindow
	trackerBackOff  = 2 * time.Second
	trackerPatience = 5  // failures in a row before the run goes on, or ends, without it
	landingPatience = 8  // lost landings in a row
	surveyShare     = 20 // a survey may take one part in so many of the time
	writePause      = 500 * time.Millisecond
	claimDelay      = 2 * time.Second
)

// Decide gives what to do next in s, in order: the decisions of the first rule
// that has any, so that none of them rests on a state that another changes.
// None means: wait for an event, or until NextWake.
func Decide(s State, now time.Time) []Decision {
	rules := []func(State, time.Time) []Decision{
		answers, tipRules, limits, stops, parks, collects, sessions, moves, landings, baseCheck, iterations, starts, trackerCalls, cleans, meta, into, lastLook, finish,
	}
	for _, rule := range rules {
		if ds := rule(s, now); len(ds) > 0 {
			return ds
		}
	}
	return nil
}

func one(act Act, e Event) []Decision { return []Decision{{Event: e, Act: act}} }

// limits drains the run when one is reached.
func limits(s State, now time.Time) []Decision {
	if s.Run.Drain != "" {
		return nil
	}
	if code, why := reached(s, now); code != "" {
		return one(Nothing, Event{Kind: DrainStarted, Code: code, Reason: why})
	}
	if len(s.Run.FastExits) >= breakerExits && !s.Run.Probing {
		why := fmt.Sprintf("%d agents ended at once, the last: %s", breakerExits, s.Run.FastExits[len(s.Run.FastExits)-1].Why)
		return one(Nothing, Event{Kind: BreakerOpened, Code: AgentCrashed, Reason: why, Until: now.Add(s.Run.Limits.BreakerBackOff)})
	}
	return nil
}

func reached(s State, now time.Time) (Code, string) {
	if code, why := tipStops(s, now); code != "" {
		return code, why
	}
	if by := s.Holder(); by != "" && !s.tracker.read.IsZero() {
		return RunActive, HolderName(by) + " drives this epic"
	}
	l := s.Run.Limits
	switch {
	case s.Gate == GateRed && !l.AllowRedBase && s.Run.Mode != LandOne && !s.Moved.Restoring:
		return BaseRed, "the gate is red on the epic branch before any agent has touched it"
	case l.MaxDuration > 0 && now.Sub(s.Run.Started) >= l.MaxDuration:
		return TimeUp, fmt.Sprintf("max_duration (%s) reached", l.MaxDuration)
	case s.Run.over(l.Budget) != "":
		return Budget, s.Run.over(l.Budget) + " for one run"
	case s.Run.Iterations >= s.iterationLimit():
		return MaxIterations, fmt.Sprintf("max_iterations (%d) reached", s.iterationLimit())
	case l.MaxFailures > 0 && s.Run.Failures >= l.MaxFailures:
		return CircuitBreaker, fmt.Sprintf("%d tasks in a row needed a person", s.Run.Failures)
	case s.landingFails():
		return Machine, "landing does not work: " + s.Landing.Why
	case s.Run.Faults >= machineFaults:
		return Machine, s.Run.FaultWhy
	case s.Run.Probing && len(s.Run.FastExits) > breakerExits:
		return AgentCrashed, "the agent does not start: " + s.Run.FastExits[len(s.Run.FastExits)-1].Why
	}
	for _, t := range s.Tasks {
		if a := t.Last(); t.State == Waiting && !a.Ended.Before(s.Run.Started) && (a.Failure == AgentAuth || a.Failure == Disk) {
			return a.Failure, Why(a.Failure)
		}
	}
	return "", ""
}

// iterationLimit is how often a run may start an agent, each iteration of an attempt being
// one start. Where the settings name no number it is 100, or what all attempts at all tasks
// may come to when that is more.
func (s State) iterationLimit() int {
	if n := s.Run.Limits.MaxIterations; n > 0 {
		return n
	}
	starts := 0
	for _, t := range s.Tasks {
		if t.Dispatchable() {
			starts += max(1, s.Run.Limits.Attempts) * (s.Run.Limits.iterations(t) + 1) // a conflict may cost one more
		}
	}
	return max(100, starts)
}

// stops interrupts agents: all of them in a kill, and those whose task a person
// took, closed or blocked in the tracker.
func stops(s State, _ time.Time) (ds []Decision) {
	for _, t := range s.Tasks {
		a := t.Last()
		if !a.Agent || a.Stopping || a.InSession {
			continue
		}
		if why := s.mustStop(t); why != "" {
			ds = append(ds, Decision{Act: Stop, Event: Event{Kind: AttemptStopped, Task: t.ID, Attempt: a.Number, Reason: why}})
		}
	}
	return ds
}

func (s State) mustStop(t *Task) string {
	switch {
	case s.Run.Kill:
		return "interrupted"
	case s.Run.Drain == RunActive:
		return s.Run.DrainWhy
	case t.State == Skipped:
		return "skipped"
	case t.Deleted:
		return ""
	case t.Status == statusInProgress && t.Assignee != "" && t.Assignee != s.Run.Limits.Actor:
		return "claimed by " + t.Assignee
	case t.Status == t.Told, t.Doubted:
		return ""
	case t.Status != statusOpen && t.Status != statusInProgress:
		return t.Status + " in the tracker by a person"
	}
	return ""
}

// parks sets aside what has no attempt left, what asks, and what a person has
// taken out of orch's hands.
func parks(s State, _ time.Time) (ds []Decision) {
	for _, t := range s.Tasks {
		code, why := s.mustPark(t)
		if code == "" {
			continue
		}
		ds = append(ds, Decision{Event: Event{Kind: TaskParked, Task: t.ID, Attempt: t.Last().Number, Code: code, Reason: why}})
	}
	return ds
}

func (s State) mustPark(t *Task) (Code, string) {
	a := t.Last()
	unseen := t.State == Waiting && a.Number > 0 && !t.Since.After(a.Ended) // failed, and nothing has been decided since
	switch {
	case t.State == Queued && t.Deleted:
		return TrackerDrift, "deleted from the tracker while orch worked on it; its commits are kept"
	case t.State == Queued && s.mustStop(t) != "":
		return TrackerDrift, s.mustStop(t) + " while orch worked on it; its commits are kept"
	case unseen && a.Failure == Question:
		return Question, text.FirstLine(a.Feedback, "the agent asked for a person and gave no reason")
	case unseen && a.Failure == Protected:
		return Protected, a.Why
	case unseen && (a.Failure == CircuitBreaker || a.Failure == Regression || a.Failure == Looping):
		return a.Failure, a.Why
	case unseen && a.Failure == MaxIterations:
		return MaxIterations, wanted(a)
	case t.State == Waiting && a.Number > 0 && t.over(s.Run.Limits.TaskBudget) != "":
		return Budget, t.over(s.Run.Limits.TaskBudget) + " for one task"
	case t.State == Waiting && t.Charged >= max(1, s.Run.Limits.Attempts):
		return a.Failure, attemptsUsed(t)
	case t.State == Waiting && a.Number == 0 && t.Dispatchable() && s.abandoned(t):
		return Orphaned, exitedWithoutCompleting
	}
	return "", ""
}

// wanted says why an attempt would have gone on after its last iteration.
func wanted(a Attempt) string {
	if n := len(a.Rounds); n > 0 && a.Rounds[n-1].Iteration == a.Iteration && !a.Rounds[n-1].Passed {
		return fmt.Sprintf("still red after %d iterations: %s", a.Iteration, a.Rounds[n-1].Failure)
	}
	return fmt.Sprintf("the agent wanted to go on after %d iterations", a.Iteration)
}

// exitedWithoutCompleting is the note on a task that is in progress in the
// tracker while no worktree, no process and no attempt of it exists.
const exitedWithoutCompleting = "Agent exited without completing"

// abandoned reports whether the tracker says in progress while nobody is at it:
// no assignee, or an orch that is not this one, which the lock proves gone.
func (s State) abandoned(t *Task) bool {
	return t.Status == statusInProgress && t.Assignee != s.Run.Limits.Actor &&
		(t.Assignee == "" || strings.HasPrefix(t.Assignee, ActorPrefix))
}

// ActorPrefix begins the name under which any orch claims tasks.
const ActorPrefix = "orch/"

func attemptsUsed(t *Task) string {
	a := t.Last()
	tries := fmt.Sprintf("after %d attempts", t.Charged)
	if t.Charged == 1 {
		tries = "after 1 attempt"
	}
	switch a.Failure {
	case MergeConflict:
		return fmt.Sprintf("conflict in %s %s", FirstOf(a.Files), tries)
	case NoChange:
		return "the agent ended without changing anything, " + tries
	case GateFailed:
		return fmt.Sprintf("gate red %s: %s", tries, text.FirstLine(a.Why, "no output"))
	}
	return fmt.Sprintf("%s, %s", text.FirstLine(a.Why, Why(a.Failure)), tries)
}

// moves lets judged candidates onto the epic branch.
func moves(s State, _ time.Time) []Decision {
	l := s.Landing
	if len(l.Commits) == 0 || l.Moving || !s.settled() {
		return nil
	}
	return one(Move, Event{Kind: MoveStarted, Land: &Land{Tasks: l.Tasks, Commits: l.Commits, Old: l.Old}})
}

// landings takes from the queue as many candidates as the window lets be gated
// together. The window grows with green stacks and is halved by a red one.
func landings(s State, now time.Time) []Decision {
	if s.Run.Kill || !s.settled() || len(s.Landing.Tasks) > 0 || len(s.Queue) == 0 || now.Before(s.Landing.NotBefore) || s.landingFails() {
		return nil
	}
	n := min(len(s.Queue), max(1, s.Window))
	return one(Gate, Event{Kind: LandingStarted, Land: &Land{Tasks: slices.Clone(s.Queue[:n]), Old: s.Tip}})
}

// landingFails reports whether landing has failed so often, for reasons that no
// agent can mend, that a person must look.
func (s State) landingFails() bool { return s.Landing.Lost >= landingPatience }

// baseCheck has the gate judge the epic branch as it is before an agent is paid, where it is
// not known that it passes: at the beginning, and when others have moved it.
func baseCheck(s State, now time.Time) []Decision {
	if s.Gate != GateUnknown || s.Run.Mode == LandOne && !s.Moved.Accepted || s.Moved.Pending() && !s.Moved.Accepted || s.Run.Drain != "" || s.machineWaits(now) {
		return nil
	}
	return one(CheckBase, Event{Kind: BaseCheckStarted, Land: &Land{Commits: []Commit{s.Tip}}})
}

// iterations starts the agent of an open attempt once more.
func iterations(s State, now time.Time) (ds []Decision) {
	if s.Run.Drain != "" || s.Run.Paused || now.Before(s.Cooldown) || s.Run.Mode != Headless || !s.epicOurs() {
		return nil
	}
	free := min(s.places(), s.iterationLimit()-s.Run.Iterations)
	for _, t := range s.Tasks {
		a := t.Last()
		if t.State != Running || !a.Open() || a.Agent || free <= 0 {
			continue
		}
		free--
		why := "the agent asked to go on"
		if a.Feedback == askFeedback {
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
		ds = append(ds, Decision{Act: Iterate, Event: Event{Kind: IterationStarted, Task: t.ID, Attempt: a.Number, Reason: why,
			Agent: &Agent{Iteration: a.Iteration + 1, Base: a.Base, Session: a.Session, Resume: s.Run.Limits.Resumes && a.Session != ""}}})
	}
	return ds
}

// places is how many more agents may run.
func (s State) places() int {
	n := s.Run.Limits.MaxParallel
	if s.Run.Probing {
		n = 1
	}
	limited := s.Run.Limits.Budget != Usage{} // what an agent used is known when its work is
	for _, t := range s.Tasks {
		if t.Last().Agent && (limited || !s.exited[t.ID]) {
			n--
		}
	}
	return max(0, n)
}

// passes reports whether the gate is known to pass on the epic branch, or need not.
func (s State) passes() bool {
	return s.Gate == GateGreen || s.Gate == GateRed && s.Run.Limits.AllowRedBase
}

// starts gives ready tasks to agents.
func starts(s State, now time.Time) (ds []Decision) {
	if s.Run.Drain != "" || s.Run.Paused || s.Run.Mode == LandOne || s.tracker.read.IsZero() || s.tracker.failures >= trackerPatience ||
		now.Before(s.Cooldown) || s.Moved.Pending() || s.tip.gone || !s.epicOurs() || !s.passes() {
		return nil
	}
	free := min(s.places(), s.iterationLimit()-s.Run.Iterations)
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
			d.Request, d.Agent.InSession, d.Agent.Holder, d.Agent.Resume, d.Agent.Session = w.ID, true, w.Holder, false, ""
		}
		ds = append(ds, d)
	}
	return ds
}

// startOrder is the order of dispatch; a probe of the breaker takes the task
// that has been tried least.
func (s State) startOrder(now time.Time) []*Task {
	ready := s.ready(now)
	if s.Run.Probing {
		slices.SortStableFunc(ready, func(a, b *Task) int { return len(a.Attempts) - len(b.Attempts) })
	}
	return ready
}

func (s State) start(t *Task) Decision {
	last := t.Last()
	a := &Agent{Iteration: 1, Base: s.Tip, InSession: s.Run.Mode == Hand}
	if a.InSession {
		a.Holder = s.Run.Holder
	}
	if s.Run.Limits.Resumes && last.Session != "" && last.Head != "" && last.Failure != MergeConflict && last.Failure != AgentCrashed && last.Failure != TooLarge {
		a.Base, a.Session, a.Resume = last.Head, last.Session, true
	}
	why := "ready"
	if last.Number > 0 {
		why = fmt.Sprintf("attempt %d", last.Number+1)
		if last.Failure != "" {
			why += ", after " + string(last.Failure)
		}
	}
	return Decision{Act: Start, Event: Event{Kind: AttemptStarted, Task: t.ID, Attempt: last.Number + 1, Reason: why, Agent: a}}
}

// cleans removes the worktrees of landed and skipped tasks, one at a time: what
// runs meanwhile needs the machine more.
func cleans(s State, _ time.Time) []Decision {
	if slices.ContainsFunc(s.Tasks, s.cleaning) {
		return nil
	}
	for _, t := range s.Tasks {
		a := t.Last()
		if (t.State == Landed || t.State == Skipped) && a.Number > 0 && !a.Open() && !a.Cleaned && !s.cleans[t.ID] {
			return one(Clean, Event{Kind: CleanStarted, Task: t.ID, Attempt: a.Number})
		}
	}
	return nil
}

// meta has an issue filed that tells of repeated failures.
func meta(s State, _ time.Time) []Decision {
	if s.Run.Drain == CircuitBreaker && s.Meta == "" {
		return one(Nothing, Event{Kind: MetaWanted, Code: CircuitBreaker, Reason: s.Run.DrainWhy})
	}
	return nil
}

// into lands the finished epic where it was asked for.
func into(s State, _ time.Time) []Decision {
	there := s.Into.Done == s.Tip && s.Into.Branch == s.Run.Limits.Into
	if s.Run.Limits.Into == "" || there || s.Into.Why != "" || s.busy() || s.Run.Drain != "" || !s.complete(s.Epic) {
		return nil
	}
	return one(Into, Event{Kind: IntoStarted, Land: &Land{Commits: []Commit{s.Tip}}, Reason: s.Run.Limits.Into})
}

// busy reports whether something is under way that will answer with an event.
func (s State) busy() bool {
	return s.working() || s.tracker.busy || s.tip.looking || s.looking || s.answering != "" || len(s.collecting) > 0 || s.Moved.Restoring || slices.ContainsFunc(s.Tasks, s.cleaning)
}

// working reports whether an agent, the gate or a landing is under way.
func (s State) working() bool {
	return len(s.Landing.Tasks) > 0 || s.Gate == GateChecking || s.Into.Busy || slices.ContainsFunc(s.Tasks, func(t *Task) bool {
		a := t.Last()
		return a.Agent && !a.Handed
	})
}

// cleaning reports whether a worktree of t is being removed.
func (s State) cleaning(t *Task) bool { return s.cleans[t.ID] && !s.unclean[t.ID] && !t.Last().Cleaned }

// pending reports whether work is left that a timer, not an event, will release.
func (s State) pending(now time.Time) bool {
	if s.Run.Drain != "" || s.Run.Mode == LandOne || s.gaveUp() {
		return false
	}
	if s.Run.Mode == Hand {
		return s.tracker.read.IsZero() || !s.epicOurs() && s.places() > 0 && len(s.ready(now)) > 0
	}
	for _, t := range s.Tasks {
		if s.IsReady(t, now) || t.State == Running {
			return true
		}
	}
	return false
}

// quiet reports whether no work is under way or left to this run, but perhaps
// tidying up and telling the tracker.
func (s State) quiet(now time.Time) bool {
	return !s.working() && !s.pending(now) && (len(s.Queue) == 0 || s.Run.Kill || s.landingFails() || s.stuck())
}

// finish ends the run when nothing runs, nothing is ready and the tracker has
// been told all of it.
func finish(s State, now time.Time) []Decision {
	if !s.quiet(now) || s.busy() || !s.told(now) || s.machineWaits(now) && s.Run.Drain == "" {
		return nil
	}
	sum := Summarize(s, now)
	return one(Finish, Event{Kind: RunEnded, Code: sum.Code, Reason: sum.Reason, Text: string(sum.Promise)})
}

// NextWake is when Decide may say something new although nothing happened;
// zero when only an event can change its mind.
func (s State) NextWake(now time.Time) time.Time {
	var at time.Time
	soonest := func(t time.Time) {
		if t.After(now) && (at.IsZero() || t.Before(at)) {
			at = t
		}
	}
	soonest(s.Cooldown)
	soonest(s.Run.FaultUntil)
	if s.tip.held != "" {
		soonest(s.tip.seen.Add(heldLook))
		soonest(s.tip.since.Add(heldPatience))
	}
	soonest(s.Landing.NotBefore)
	soonest(s.tracker.notYet)
	if s.Run.Mode == Headless && s.handedOut() {
		soonest(s.looked.Add(sessionLook))
	}
	soonest(s.surveyDue())
	soonest(s.writeDue())
	if s.Run.Limits.MaxDuration > 0 {
		soonest(s.Run.Started.Add(s.Run.Limits.MaxDuration))
	}
	for _, t := range s.Tasks {
		if t.State == Waiting {
			soonest(t.NotBefore)
			soonest(t.DeferTill)
		} else if t.Last().Open() && t.Status == statusOpen {
			soonest(s.claimDue(t))
		}
	}
	return at
}
