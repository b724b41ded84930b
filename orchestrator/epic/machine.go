package epic

import "time"

// A fault of the machine (no memory, no disk, no process) is nobody's: it charges no attempt.
// What it kept from being done is tried again, a few times ever later; then the run ends with
// MACHINE, and the next one goes on.

const (
	machineFaults  = 5 // in a row, before the run ends
	machineBackOff = time.Second
)

// MachineFailed says that the machine kept something from being done, which is tried again later.
type MachineFailed struct {
	anyTime
	Lasting bool `json:"lasting,omitempty"` // it does not pass by itself, so that the run ends
}

func (f MachineFailed) apply(s State, e Event) State {
	s = s.machineFails(e)
	if f.Lasting {
		s.Run.Faults = max(s.Run.Faults, machineFaults)
	}
	return s
}

func (s State) machineFails(e Event) State {
	s.Run.Faults++
	s.Run.FaultWhy, s.Run.FaultUntil = e.Reason, e.At.Add(machineBackOff<<min(s.Run.Faults-1, 4))
	if s.Gate == GateChecking {
		s.Gate = GateUnknown
	}
	if s.tip.looking {
		s.tip.looking, s.tip.looked = false, e.At
	}
	s.Moved.Restoring, s.seeking.busy = false, false
	return s
}

// machineWorks forgets faults once something has gone well.
func (s State) machineWorks() State {
	s.Run.Faults, s.Run.FaultWhy, s.Run.FaultUntil = 0, "", time.Time{}
	return s
}

// machineWaits reports whether the newest fault of the machine is too young to try again.
func (s State) machineWaits(now *clock) bool { return now.Before(s.Run.FaultUntil) }
