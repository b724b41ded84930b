package orchestrator

import (
	"github.com/beadsorch/orch/orchestrator/epic"
)

// withHurry is observe, and has short commands be given up soon once the run is to stop at once: one that waits for
// what does not answer, as git on a file system whose server is gone, would hold the run for minutes.
func withHurry(hurry func(), observe func(epic.Event, epic.State)) func(epic.Event, epic.State) {
	return func(e epic.Event, s epic.State) {
		if _, is := e.Fact.(epic.InterruptStarted); is && hurry != nil {
			hurry()
		}
		if observe != nil {
			observe(e, s)
		}
	}
}
