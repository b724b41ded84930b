package epic

import (
	"time"

	"github.com/beadsorch/orch/orchestrator/iteration"
)

// Verdict is the gate's word on a tree.
type Verdict struct {
	Tree   string                  `json:"tree,omitempty" text:"plain"` // that it judged
	Passed bool                    `json:"passed,omitempty"`            // it was green
	Score  int                     `json:"score,omitempty"`             // 0 to 100
	Rules  []iteration.RuleOutcome `json:"rules,omitempty"`             // each with its outcome
	Log    string                  `json:"log,omitempty" text:"plain"`  // file with its output
	Took   time.Duration           `json:"took,omitempty"`              // to build and judge
}

// BaseCheckStarted is the intent to have the gate judge the epic branch as it is.
type BaseCheckStarted struct {
	anyTime
	Commit Commit `json:"commit,omitempty"` // that is judged
}

func (BaseCheckStarted) apply(s State, _ Event) State {
	s.Gate = GateChecking
	return s
}

// BaseChecked is the gate's word on the epic branch before any agent has touched it.
type BaseChecked struct {
	anyTime
	Commit Commit `json:"commit,omitempty"` // that was judged
	Verdict
	Stopped bool   `json:"stopped,omitempty"`            // with its run, before it had judged
	Output  string `json:"output,omitempty" text:"long"` // of what failed
}

func (f BaseChecked) apply(s State, e Event) State {
	switch {
	case f.Stopped:
		s.Gate = GateUnknown
		return s
	case f.Passed:
		s.Gate = GateGreen
	default:
		s.Gate, s.red = GateRed, e.Reason
	}
	if s.Moved.Accepted && (f.Passed || s.Run.Limits.AllowRedBase) {
		s.Moved = Moved{}
	}
	return s
}

// GateState is what is known of the gate on the untouched base.
type GateState string

// What the gate said of the untouched base.
const (
	GateUnknown  GateState = ""
	GateChecking GateState = "checking"
	GateGreen    GateState = "green"
	GateRed      GateState = "red"
)

// baseCheck has the gate judge the epic branch as it is before an agent is paid, where it is
// not known that it passes: at the beginning, and when others have moved it.
func baseCheck(s State, now *clock) []Decision {
	if s.Gate != GateUnknown || !s.Run.Mode.starts() && !s.Moved.Accepted && !s.unjudgedForeign() || s.Run.Mode == ModeSettle || s.Moved.Pending() && !s.Moved.Accepted || s.Run.Drain != "" || s.machineWaits(now) {
		return nil
	}
	return decideOne(CheckBase, Event{Fact: BaseCheckStarted{Commit: s.Tip}})
}

// unjudged reports whether the epic branch has landed work as the gate has not passed it: others
// have put something on it, or its gate was red.
func (s State) unjudged() bool { return s.Driven() && !s.passes() && len(s.Landings()) > 0 }

// unjudgedForeign reports whether others have put something on the epic branch that the gate has not passed: work is
// not judged on top of that, since it would be charged for what others did.
func (s State) unjudgedForeign() bool { return s.taken.From != "" && !s.passes() }

// passes reports whether the gate is known to pass on the epic branch, or need not.
func (s State) passes() bool {
	return s.Gate == GateGreen || s.Gate == GateRed && s.Run.Limits.AllowRedBase
}
