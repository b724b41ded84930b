package epic

// IntoState is how far the finished epic has come on the branch that was asked for.
type IntoState struct {
	Busy   bool   `json:"busy,omitempty"`   // it is under way
	Done   Commit `json:"done,omitempty"`   // the tip of the epic branch that is on Branch
	Branch string `json:"branch,omitempty"` // that Done is on
	Why    string `json:"why,omitempty"`    // why it is not
}

// IntoStarted is the intent to land the finished epic on a branch.
type IntoStarted struct {
	anyTime
	Branch string `json:"branch" text:"plain"` // that was asked for
	Tip    Commit `json:"tip"`                 // of the epic branch
}

func (IntoStarted) apply(s State, _ Event) State {
	s.Into = IntoState{Busy: true}
	return s
}

// EpicLandedInto says that the epic is on a branch.
type EpicLandedInto struct {
	Branch string `json:"branch" text:"plain"` // that has it
	Tip    Commit `json:"tip"`                 // of the epic branch
	Commit Commit `json:"commit,omitempty"`    // where Branch is now
}

func (f EpicLandedInto) check(_ State, e Event) error {
	if f.Tip == "" {
		return forbid(e, "it names no commit")
	}
	return nil
}

func (f EpicLandedInto) apply(s State, _ Event) State {
	s.Into = IntoState{Done: f.Tip, Branch: f.Branch}
	if f.Commit != "" && f.Tip == s.Tip {
		s.merged = merged{at: f.Commit, tasks: s.Landings()}
	}
	return s
}

// merged is what of the landed work a branch of the person's had, and with which commit. It counts also
// when the commits that landed have been collected, as after a squash.
type merged struct {
	at    Commit
	tasks map[TaskID]Commit // what had landed, by what commit
}

// MergedAt is the commit of the person's that has the landed work of a task; "" where none is known.
func (s State) MergedAt(id TaskID) Commit {
	t := s.Task(id)
	if t == nil || t.State != Landed || t.Commit == "" || s.merged.tasks[id] != t.Commit {
		return ""
	}
	return s.merged.at
}

// EpicNotLanded says that the branch that was asked for could not be given the epic.
type EpicNotLanded struct{ anyTime }

func (EpicNotLanded) apply(s State, e Event) State {
	s.Into = IntoState{Why: e.Reason}
	return s
}

// into lands the finished epic where it was asked for.
func into(s State, _ *clock) []Decision {
	there := s.Into.Done == s.Tip && s.Into.Branch == s.Run.Limits.Into
	if s.Run.Limits.Into == "" || there || s.Into.Why != "" || s.busy() || s.Run.Drain != "" || s.Run.Mode == ModeSettle || !s.complete(s.Epic) {
		return nil
	}
	return decideOne(Into, Event{Fact: IntoStarted{Branch: s.Run.Limits.Into, Tip: s.Tip}, Reason: s.Run.Limits.Into})
}
