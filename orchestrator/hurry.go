package orchestrator

import (
	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/proc"
)

// hurrying is observe, and has the commands of sys be done soon once the run is to stop at once: one that waits for
// what does not answer, as git on a file system whose server is gone, would hold the run for minutes.
func hurrying(sys *proc.System, observe func(epic.Event, epic.State)) func(epic.Event, epic.State) {
	return func(e epic.Event, s epic.State) {
		if e.Kind == epic.KillStarted && sys != nil {
			sys.Hurry()
		}
		if observe != nil {
			observe(e, s)
		}
	}
}
