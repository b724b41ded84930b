package epic

import (
	"fmt"
	"time"

	"github.com/beadsorch/orch/orchestrator/reason"
)

// Summary is how an epic stands.
type Summary struct {
	Promise Promise       // what the epic needs next, as PromiseOf has it
	Code    reason.Code   // why the newest run took no more work; "" when it did
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
		switch state := s.StateOf(t, now); {
		case t.Done():
			c.Done++
			if state == Landed {
				c.Landed++
			}
		case state == Running:
			c.Running++
		case state == Queued, state == Validating:
			c.Landing++
		case state == Parked, state == Skipped:
			c.NeedsYou++
		case state == Ready:
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

// Summarize says how the epic stands.
func Summarize(s State, now time.Time) Summary {
	c := Count(s, now)
	o := promiseOf(s, c)
	var took time.Duration
	switch {
	case s.Run.Number == 0: // no run has begun, though a session may have worked
	case s.Run.Ended.IsZero():
		took = now.Sub(s.Run.Started)
	default:
		took = s.Run.Ended.Sub(s.Run.Started)
	}
	return Summary{Promise: o.Promise, Code: o.Code, Reason: o.Reason, Counts: c, Took: took}
}

// Obstacle says why a task that waits does not run.
type Obstacle struct {
	Code reason.Code // "" when only time keeps it back
	Why  string      // in a clause
	On   []TaskID    // what it waits for
}

// ObstacleOf looks for the root of what keeps a waiting task back. Its Code is
// "" when only time, or work under way, does.
func ObstacleOf(s State, t *Task, now time.Time) Obstacle {
	if t.Elsewhere {
		return Obstacle{Code: reason.LandedElsewhere, Why: s.Missing(t)}
	}
	if why := s.trackerHold(t, at(now)); why != "" {
		return Obstacle{Code: reason.DepExternal, Why: why}
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
				o.Code, o.Why = reason.DepCycle, "waits for itself in a circle"
				return true
			case b == nil || seen[id]:
				continue
			case b.External:
				o.Code, o.Why = reason.DepExternal, fmt.Sprintf("waits for %s, outside the epic", id)
				return true
			case b.State == Parked || b.State == Skipped || b.Elsewhere:
				o.Code, o.Why = reason.DepFailed, fmt.Sprintf("waits for %s, which needs you", id)
				return true
			}
			seen[id] = true
			if why := s.trackerHold(b, at(now)); why != "" && b.State == Waiting {
				o.Code, o.Why = reason.DepExternal, fmt.Sprintf("waits for %s, %s", id, why)
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
