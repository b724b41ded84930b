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
// None means: wait for an event. What it gives does not change before wake; a zero wake says
// that only an event can change it.
func Decide(s State, now time.Time) (ds []Decision, wake time.Time) {
	rules := []func(State, *clock) []Decision{
		tipRules, limits, stops, parks, moves, landings, baseCheck, iterations, starts, trackerCalls, cleans, meta, into, lastLook, finish,
	}
	c := at(now)
	for _, rule := range rules {
		if ds := rule(s, c); len(ds) > 0 {
			return ds, c.wake
		}
	}
	return nil, c.wake
}

func one(act Act, e Event) []Decision { return []Decision{{Event: e, Act: act}} }

// limits drains the run when one is reached.
func limits(s State, now *clock) []Decision {
	if s.Run.Drain != "" {
		return nil
	}
	if code, why := reached(s, now); code != "" {
		return one(Nothing, Event{Fact: DrainStarted{}, Code: code, Reason: why})
	}
	if len(s.Run.FastExits) >= breakerExits && !s.Run.Probing {
		why := fmt.Sprintf("%d agents ended at once, the last: %s", breakerExits, s.Run.FastExits[len(s.Run.FastExits)-1].Why)
		return one(Nothing, Event{Fact: BreakerOpened{Until: now.now.Add(s.Run.Limits.BreakerBackOff)}, Code: AgentCrashed, Reason: why})
	}
	return nil
}

func reached(s State, now *clock) (Code, string) {
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
	case l.MaxDuration > 0 && !now.Before(s.Run.Started.Add(l.MaxDuration)):
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
func stops(s State, _ *clock) (ds []Decision) {
	for _, t := range s.Tasks {
		a := t.Last()
		if !a.HasAgent() || a.Phase == Stopping || a.InSession && s.Run.Mode != Headless {
			continue
		}
		if why := s.mustStop(t); why != "" {
			ds = append(ds, Decision{Act: Stop, Event: Event{Fact: AttemptStopped{}, Task: t.ID, Attempt: a.Number, Reason: why}})
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
func parks(s State, _ *clock) (ds []Decision) {
	for _, t := range s.Tasks {
		code, why := s.mustPark(t)
		if code == "" {
			continue
		}
		ds = append(ds, Decision{Event: Event{Fact: TaskParked{}, Task: t.ID, Attempt: t.Last().Number, Code: code, Reason: why}})
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

// moves lets a green stack onto the epic branch, one at a time. One that was built on what is
// not the tip any more, since another has landed, or has failed below it, waits to land anew.
func moves(s State, _ *clock) []Decision {
	if !s.settled() || slices.ContainsFunc(s.Stacks, func(k Stack) bool { return k.Moving }) {
		return nil
	}
	for _, k := range s.Stacks {
		if k.green() && (k.Old == s.Tip || k.Old == "") {
			return one(Move, Event{Fact: MoveStarted{Candidates: k.Candidates}})
		}
	}
	for i, k := range s.Stacks {
		if k.green() && !slices.ContainsFunc(s.Stacks[:i], func(below Stack) bool { return !below.green() || below.top() == k.Old }) {
			return one(Nothing, Event{Fact: LandingLost{Tasks: k.Tasks}, Reason: "the epic branch is not where the candidates were built on"})
		}
	}
	return nil
}

// landings takes from the queue as many candidates as the window lets be gated
// together. The window grows with green stacks and is halved by a red one.
func landings(s State, now *clock) []Decision {
	if s.Run.Kill || !s.settled() || len(s.Stacks) >= maxStacks || len(s.Queue) == 0 || now.Before(s.Landing.NotBefore) || s.landingFails() {
		return nil
	}
	n := min(len(s.Queue), max(1, s.Window))
	return one(Gate, Event{Fact: LandingStarted{Tasks: slices.Clone(s.Queue[:n]), Old: s.Tip}})
}

// landingFails reports whether landing has failed so often, for reasons that no
// agent can mend, that a person must look.
func (s State) landingFails() bool { return s.Landing.Lost >= landingPatience }

// baseCheck has the gate judge the epic branch as it is before an agent is paid, where it is
// not known that it passes: at the beginning, and when others have moved it.
func baseCheck(s State, now *clock) []Decision {
	if s.Gate != GateUnknown || s.Run.Mode == LandOne && !s.Moved.Accepted || s.Moved.Pending() && !s.Moved.Accepted || s.Run.Drain != "" || s.machineWaits(now) {
		return nil
	}
	return one(CheckBase, Event{Fact: BaseCheckStarted{Commit: s.Tip}})
}

// iterations starts the agent of an open attempt once more.
func iterations(s State, now *clock) (ds []Decision) {
	if s.Run.Drain != "" || s.Run.Paused || now.Before(s.Cooldown) || s.Run.Mode != Headless || !s.epicOurs() {
		return nil
	}
	free := min(s.places(), s.iterationLimit()-s.Run.Iterations)
	for _, t := range s.Tasks {
		a := t.Last()
		if t.State != Running || a.Phase != BetweenTurns || free <= 0 {
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
		ds = append(ds, Decision{Act: Iterate, Event: Event{Task: t.ID, Attempt: a.Number, Reason: why,
			Fact: IterationStarted{Turn{Iteration: a.Iteration + 1, Base: a.Base, Session: a.Session, Resume: s.Run.Limits.Resumes && a.Session != ""}}}})
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
		if a := t.Last(); a.HasAgent() && (limited || a.Phase != Inspecting) {
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
func starts(s State, now *clock) (ds []Decision) {
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
		ds = append(ds, s.start(t))
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
	f := AttemptStarted{Turn: Turn{Iteration: 1, Base: s.Tip}, InSession: s.Run.Mode == Hand}
	if s.Run.Limits.Resumes && last.Session != "" && last.Head != "" && last.Failure != MergeConflict && last.Failure != AgentCrashed && last.Failure != TooLarge {
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

// cleans removes the worktrees of landed and skipped tasks, one at a time: what
// runs meanwhile needs the machine more.
func cleans(s State, _ *clock) []Decision {
	if slices.ContainsFunc(s.Tasks, removing) {
		return nil
	}
	for _, t := range s.Tasks {
		a := t.Last()
		if (t.State == Landed || t.State == Skipped) && a.Phase == Ended && a.Unremoved != s.Run.Number {
			return one(Clean, Event{Fact: CleanStarted{}, Task: t.ID, Attempt: a.Number})
		}
	}
	return nil
}

// meta has an issue filed that tells of repeated failures.
func meta(s State, _ *clock) []Decision {
	if s.Run.Drain == CircuitBreaker && s.Meta == "" {
		return one(Nothing, Event{Fact: MetaWanted{}, Code: CircuitBreaker, Reason: s.Run.DrainWhy})
	}
	return nil
}

// into lands the finished epic where it was asked for.
func into(s State, _ *clock) []Decision {
	there := s.Into.Done == s.Tip && s.Into.Branch == s.Run.Limits.Into
	if s.Run.Limits.Into == "" || there || s.Into.Why != "" || s.busy() || s.Run.Drain != "" || !s.complete(s.Epic) {
		return nil
	}
	return one(Into, Event{Fact: IntoStarted{Branch: s.Run.Limits.Into, Tip: s.Tip}, Reason: s.Run.Limits.Into})
}
