package epic

import (
	"fmt"
	"time"
)

// Promise is the word that a run ends with.
type Promise string

// The promises of a run.
const (
	LoopDone     Promise = "LOOP_DONE"     // every task is closed
	LoopContinue Promise = "LOOP_CONTINUE" // interrupted; the next run goes on
	LoopBlocked  Promise = "LOOP_BLOCKED"  // what is left needs a person, or a limit was reached
	LoopError    Promise = "LOOP_ERROR"    // the tracker or the agent's client is out of reach
)

// Summary is how an epic stands.
type Summary struct {
	Promise Promise       // the word that the run ends with
	Code    Code          // why the run stopped early; "" when it did not
	Reason  string        // one clause
	Counts  Counts        // how many tasks are where
	Took    time.Duration // of the newest run
}

// Counts says how many tasks of the epic are where. Done includes those that a
// person closed.
type Counts struct {
	Total    int `json:"total"`     // tasks that agents are given, in all
	Done     int `json:"done"`      // tasks that landed, or that a person closed
	Landed   int `json:"landed"`    // tasks that orch has landed, in any run
	Running  int `json:"running"`   // tasks that an agent is at
	Landing  int `json:"landing"`   // tasks that are queued or validated
	Ready    int `json:"ready"`     // tasks that wait for nothing but a free place
	Waiting  int `json:"waiting"`   // tasks that wait for others, or for a time
	NeedsYou int `json:"needs_you"` // tasks that are parked or skipped
}

// Count counts the tasks of the epic.
func Count(s State, now time.Time) Counts {
	var c Counts
	for _, t := range s.Tasks {
		if t.Epic || t.External || t.Deleted || t.NotForAgents {
			continue
		}
		c.Total++
		switch {
		case t.Done():
			c.Done++
			if t.State == Landed {
				c.Landed++
			}
		case t.State == Running:
			c.Running++
		case t.State == Queued, t.State == Validating:
			c.Landing++
		case t.State == Parked, t.State == Skipped:
			c.NeedsYou++
		case s.IsReady(t, now):
			c.Ready++
		default:
			c.Waiting++
		}
	}
	return c
}

// vanished counts the tasks that the tracker no longer has.
func (s State) vanished() (n int) {
	for _, t := range s.Tasks {
		if t.Dispatchable() && t.Deleted {
			n++
		}
	}
	return n
}

// Summarize says how the epic stands at the end of a run.
func Summarize(s State, now time.Time) Summary {
	c := Count(s, now)
	sum := Summary{Promise: LoopBlocked, Code: s.Run.Drain, Reason: s.Run.DrainWhy, Counts: c, Took: now.Sub(s.Run.Started)}
	switch {
	case s.trackerGivenUp() && !s.Run.Interrupt:
		sum.Promise, sum.Code, sum.Reason = LoopError, TrackerDown, "the tracker does not answer: "+s.tracker.why
		if s.tracker.code != "" {
			sum.Code, sum.Reason = s.tracker.code, s.tracker.why
		}
	case s.Run.Drain == Machine:
		sum.Promise = LoopError
	case s.Run.Drain == RunActive:
	case s.Moved.Pending():
		if s.Run.Drain == "" {
			sum.Code, sum.Reason = EpicMoved, s.Moved.String()
		}
	case c.Total == 0 && s.vanished() > 0:
		sum.Code = TrackerDrift
		sum.Reason = fmt.Sprintf("the tracker has none of the epic's %d tasks any more", s.vanished())
	case c.Done == c.Total:
		sum.Promise, sum.Code = LoopDone, ""
		sum.Reason = fmt.Sprintf("all %d tasks closed", c.Total)
		if c.Total == 0 {
			sum.Reason = "the epic has no tasks"
		}
	case s.Run.Drain == Interrupted, s.Run.Drain == HandBack:
		sum.Promise = LoopContinue
	case s.Run.Drain == AgentCrashed, s.Run.Drain == Disk:
		sum.Promise = LoopError
	case s.Run.Drain == "":
		sum.Reason = fmt.Sprintf("%d of %d tasks closed; the rest needs a person", c.Done, c.Total)
	}
	return sum
}

// Obstacle says why a task that waits does not run.
type Obstacle struct {
	Code Code     // "" when only time keeps it back
	Why  string   // in a clause
	On   []TaskID // what it waits for
}

// ObstacleOf looks for the root of what keeps a waiting task back. Its Code is
// "" when only time, or work under way, does.
func ObstacleOf(s State, t *Task, now time.Time) Obstacle {
	if why := s.trackerHold(t, at(now)); why != "" {
		return Obstacle{Code: DepExternal, Why: why}
	}
	on := s.blockedBy(t)
	o := Obstacle{On: on}
	seen := map[TaskID]bool{}
	var root func(ids []TaskID) bool
	root = func(ids []TaskID) bool {
		for _, id := range ids {
			b := s.Task(id)
			switch {
			case id == t.ID:
				o.Code, o.Why = DepCycle, "waits for itself in a circle"
				return true
			case b == nil || seen[id]:
				continue
			case b.External:
				o.Code, o.Why = DepExternal, fmt.Sprintf("waits for %s, outside the epic", id)
				return true
			case b.State == Parked || b.State == Skipped:
				o.Code, o.Why = DepFailed, fmt.Sprintf("waits for %s, which needs you", id)
				return true
			}
			seen[id] = true
			if why := s.trackerHold(b, at(now)); why != "" && b.State == Waiting {
				o.Code, o.Why = DepExternal, fmt.Sprintf("waits for %s, %s", id, why)
				return true
			}
			if b.State == Waiting && root(s.blockedBy(b)) {
				return true
			}
		}
		return false
	}
	root(on)
	return o
}

// ETA guesses how long the rest of the epic takes, from what its tasks took so
// far: the longer of the longest remaining path and the remaining work shared
// among the agents. It is 0 while nothing has landed to guess from.
func ETA(s State, now time.Time) time.Duration {
	usual := s.meanMinutes()
	if Count(s, now).Landed == 0 {
		return 0
	}
	longest, work := 0.0, 0.0
	ranks := s.ranks()
	for _, t := range s.Tasks {
		if t.Epic || t.External || t.Done() || t.State == Parked || t.State == Skipped {
			continue
		}
		longest = max(longest, ranks[t.ID])
		work += minutesOf(t, usual)
	}
	share := work / float64(max(1, s.Run.Limits.MaxParallel))
	return time.Duration(max(longest, share) * float64(time.Minute))
}
