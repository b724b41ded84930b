package epic

// Phase says where an attempt is on its way. The strings are kept in files.
type Phase string

// The phases of an attempt: who moves it on from each, and what is left when orch is killed in
// it. In all but the last two the attempt is open, and its worktree and branch are there.
const (
	// Starting: its worktree, brief and agent are being made. The engine moves it on, with
	// agent_started, attempt_handed or agent_ended. After a crash the worktree may be missing or
	// half made, and an agent may run: the next run ends what runs, keeps what there is, and the
	// attempt is lost, at no charge.
	Starting Phase = "starting"
	// Working: its agent runs. The agent moves it on, by ending. After a crash the guard of its
	// process has ended it; the next run salvages the worktree, and the attempt is lost.
	Working Phase = "working"
	// HandedOver: a session works on it. The session moves it on, with orch land; or whoever finds
	// that the session is gone, and then it is lost. A crash changes nothing.
	HandedOver Phase = "handed_over"
	// Stopping: its agent is being interrupted. The engine moves it on, with agent_ended. After a
	// crash it is as Working.
	Stopping Phase = "stopping"
	// Inspecting: its agent has ended, or its session wants it landed, and what it left is looked
	// at and made reachable. The engine moves it on, with agent_ended. After a crash it is as
	// Working, or as HandedOver: this is not journaled.
	Inspecting Phase = "inspecting"
	// BetweenTurns: no agent has it. Decide moves it on, with another turn where the task is
	// running, and with its landing where it is queued. A crash changes nothing.
	BetweenTurns Phase = "between_turns"
	// Ended: it is over, and its work is reachable. Decide moves it on once its task is over. A
	// crash changes nothing.
	Ended Phase = "ended"
	// Removing: its worktree and branch are being removed. The engine moves it on, with
	// attempt_cleaned. After a crash it is as Ended: this is not journaled.
	Removing Phase = "removing"
	// Removed: its worktree and branch are gone. Nobody moves it on.
	Removed Phase = "removed"
)

// Open reports whether the attempt has not ended.
func (a Attempt) Open() bool { return a.HasAgent() || a.Phase == BetweenTurns }

// HasAgent reports whether an agent, or a session, has the attempt, or is being given it.
func (a Attempt) HasAgent() bool {
	switch a.Phase {
	case Starting, Working, HandedOver, Stopping, Inspecting:
		return true
	}
	return false
}

// phase moves the attempt of an event on, where an agent has it.
func (s State) phase(e Event, to Phase) State {
	if a := s.Task(e.Task).Last(); !a.HasAgent() || a.Number != e.Attempt {
		return s
	}
	return s.edit(e.Task, func(t *Task) { t.last().Phase = to })
}

// forgetPhases takes back what no journal tells: a new run finds it out again.
func (s State) forgetPhases() State {
	for _, t := range s.Tasks {
		switch t.Last().Phase {
		case Inspecting:
			to := Working
			if t.Last().InSession {
				to = HandedOver
			}
			s = s.edit(t.ID, func(t *Task) { t.last().Phase = to })
		case Removing:
			s = s.edit(t.ID, func(t *Task) { t.last().Phase = Ended })
		}
	}
	return s
}
