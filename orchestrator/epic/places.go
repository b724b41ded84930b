package epic

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// What a session has in hand takes a place, as an agent of the run's own does: max_parallel bounds
// all that work on the epic at the same time.

// HeldPlaces says in a clause which sessions have the places that ready tasks of a run wait for; ""
// where none waits, or agents of the run's own have them.
func HeldPlaces(s State, now time.Time) string {
	if s.Run.Mode != ModeRun || !s.Run.Ended.IsZero() || s.Run.Drain != "" || s.Run.Paused || s.slots() > 0 || len(s.ready(at(now))) == 0 {
		return ""
	}
	var who []string
	for _, t := range s.Tasks {
		switch a := t.Last(); {
		case a.HasAgent() && !a.InSession:
			return "" // it ends by itself
		case a.HasAgent():
			who = append(who, a.Holder.String())
		}
	}
	if len(who) == 0 {
		return ""
	}
	n := len(who)
	slices.Sort(who)
	return fmt.Sprintf("%d in the hands of %s, and max_parallel is %d: a place is free when one has landed, or its session ends", n, strings.Join(slices.Compact(who), ", "), s.Run.Limits.MaxParallel)
}
