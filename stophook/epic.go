package stophook

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/beadsorch/orch/orchestrator/tracker"
)

// Work is what the tracker says of an epic's tasks, the epic itself and those of
// epics below it left out.
type Work struct {
	Done       int // closed, or counted as such
	Ready      int // may be begun
	InProgress int // somebody is at it
	Waiting    int // for ready tasks, or those in progress
	Blocked    int // blocked, or behind what is: only a person can go on
	// Print is the same for the same states: a stop with the Print of the stop before
	// has brought nothing.
	Print string
}

// Left is how many tasks are not done.
func (w Work) Left() int { return w.Ready + w.InProgress + w.Waiting + w.Blocked }

// String tells what is left, in a clause.
func (w Work) String() string {
	var parts []string
	for _, p := range []struct {
		n    int
		what string
	}{{w.Ready, "ready"}, {w.InProgress, "in progress"}, {w.Waiting, "waiting"}, {w.Blocked, "blocked"}} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.what))
		}
	}
	if len(parts) == 0 {
		return "nothing left"
	}
	return strings.Join(parts, ", ")
}

// WorkOf looks an epic over. tip is the epic branch's newest commit, which makes a
// landing progress even before the tracker knows of it.
func WorkOf(issues []tracker.Issue, epic, tip string, now time.Time) Work {
	x := tracker.NewIndex(issues)
	ready := map[string]bool{}
	for _, i := range x.Ready(tracker.Filter{Parent: epic}, now) {
		ready[i.ID] = true
	}
	var w Work
	states := []string{tip}
	moving := map[string]bool{} // ready, in progress, or waiting for only such
	var waiting []tracker.Issue
	for _, id := range x.Descendants(epic) {
		i, ok := x.Issue(id)
		if !ok || i.Type == tracker.TypeEpic || !tracker.Workable(i) {
			continue
		}
		states = append(states, id+"\x00"+string(i.Status))
		switch {
		case i.Status.Done():
			w.Done++
		case i.Status == tracker.StatusInProgress:
			w.InProgress++
			moving[id] = true
		case ready[id]:
			w.Ready++
			moving[id] = true
		case i.Status == tracker.StatusOpen:
			waiting = append(waiting, i)
		default:
			w.Blocked++
		}
	}
	w.Waiting = reach(x, waiting, moving)
	w.Blocked += len(waiting) - w.Waiting
	slices.Sort(states)
	sum := sha256.Sum256([]byte(strings.Join(states, "\n")))
	w.Print = hex.EncodeToString(sum[:12])
	return w
}

// reach counts the waiting issues that get their turn when what moves is done.
func reach(x *tracker.Index, waiting []tracker.Issue, moving map[string]bool) (n int) {
	for again := true; again; {
		again = false
		for _, i := range waiting {
			if !moving[i.ID] && freed(x, i, moving) {
				moving[i.ID] = true
				again = true
				n++
			}
		}
	}
	return n
}

// freed reports whether each blocker of an issue is done, or moves.
func freed(x *tracker.Index, i tracker.Issue, moving map[string]bool) bool {
	rows := x.Blockers(i.ID)
	for _, row := range rows {
		if !slices.ContainsFunc(row, func(id string) bool {
			b, ok := x.Issue(id)
			return !ok || b.Status.Done() || moving[id]
		}) {
			return false
		}
	}
	return len(rows) > 0 // without a blocker, something else holds it: a date, a gate
}
