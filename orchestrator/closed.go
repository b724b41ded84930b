package orchestrator

import (
	"cmp"
	"path/filepath"
	"slices"

	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/fault"
	"github.com/beadsorch/orch/orchestrator/reason"
)

// checkWritable fails with a [*fault.ClosedError] where orch could not write what a run writes: its own folders and
// the epic's, the folder of worktrees, and those of the epic's references. Else each attempt would find out anew.
func (x *dispatch) checkWritable() error {
	if x.Repo == nil {
		return nil
	}
	common := x.Repo.CommonDir()
	of := x.Store.Name("any", 1)
	dirs := []string{x.Dir, filepath.Join(common, "orch", "tmp"), filepath.Join(common, "worktrees")}
	for _, ref := range []string{filepath.Dir(filepath.Dir(of.Branch)), filepath.Dir(x.Store.EpicBranch()), filepath.Dir(filepath.Clean(x.Store.AtticPrefix()))} {
		dirs = append(dirs, filepath.Join(common, ref), filepath.Join(common, "logs", ref))
	}
	if err := fault.ClosedBelow(dirs...); err != nil {
		return err
	}
	if err := fault.Closed(filepath.Dir(of.Dir)); err != nil { // what is below it is the agents'
		return err
	}
	return fault.ClosedObjects(filepath.Join(common, "objects"))
}

// endAtOnce adds to events that tell of a fault of the machine that it does not pass by itself, where a folder is why that
// stays closed until somebody opens it, or that is a link to elsewhere. What stands in the way of a reference may be an
// agent's, and is put aside when that ends.
func (x *dispatch) endAtOnce(events []epic.Event) []epic.Event {
	if x.Repo == nil || !slices.ContainsFunc(events, ofMachine) {
		return events
	}
	if err := cmp.Or(x.checkWritable(), x.Store.CheckFolder()); err != nil {
		return append(events, epic.Event{Fact: epic.MachineFailed{Lasting: true}, Code: reason.Machine, Reason: err.Error()})
	}
	return events
}

// ofMachine reports whether an event tells of a fault of the machine, or may.
func ofMachine(e epic.Event) bool {
	switch f := e.Fact.(type) {
	case epic.MachineFailed, epic.LandingLost:
		return true
	case epic.AgentEnded:
		return f.End == epic.EndedMachine
	}
	return false
}
