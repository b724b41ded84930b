package epic

import (
	"slices"
	"time"

	"github.com/beadsorch/orch/orchestrator/iteration"
	"github.com/beadsorch/orch/orchestrator/reason"
)

// The iteration loops of sessions. The rounds of an agent that orch runs come with the end of its
// turns (AgentEnded); a session says itself how it iterates, step by step.

// LoopStep is what a session did in the iteration loop of its attempt. The strings are kept in
// files.
type LoopStep string

// The steps of a loop.
const (
	LoopStarted   LoopStep = "started"   // at its first iteration
	LoopValidated LoopStep = "validated" // the current iteration
	LoopAdvanced  LoopStep = "advanced"  // to the next iteration
	LoopLimited   LoopStep = "limited"   // to another maximum of iterations
	LoopEnded     LoopStep = "ended"     // as complete, or given up
)

// SessionLoop is the newest iteration loop of a session's attempt. Its history are the attempt's
// Rounds from First on.
type SessionLoop struct {
	Config    iteration.Config `json:"config"`           // how it iterates
	Began     time.Time        `json:"began"`            // UTC
	Iteration int              `json:"iteration"`        // the current one, from 1; 0: there is no loop
	First     int              `json:"first,omitempty"`  // the index of its first entry in the attempt's Rounds
	Before    int              `json:"before,omitempty"` // iterations of the attempt before its first
	Turn      int              `json:"turn"`             // of the attempt when it began
	Guard     reason.Code      `json:"guard,omitempty"`  // the guard that has tripped in the newest validation; "" none
	Done      iteration.Signal `json:"done,omitempty"`   // how it ended; "" while it goes on
}

// IsZero reports whether there is no loop.
func (l SessionLoop) IsZero() bool { return l.Iteration == 0 }

// LoopStepped says that the session that works on an attempt has taken a step in its loop. It may
// come when the attempt is over, where nobody had the epic before.
type LoopStepped struct {
	Step      LoopStep          `json:"step"`             // which
	Iteration int               `json:"iteration"`        // of the loop after it, from 1
	Config    *iteration.Config `json:"config,omitempty"` // started and limited: how the loop iterates
	Entry     *iteration.Entry  `json:"entry,omitempty"`  // validated: what the rules said
	Guard     reason.Code       `json:"guard,omitempty"`  // validated: the guard that has tripped
	Done      iteration.Signal  `json:"done,omitempty"`   // ended: how
}

func (f LoopStepped) check(s State, e Event) error {
	if err := (ofTask{}).check(s, e); err != nil {
		return err
	}
	t := s.Task(e.Task)
	if e.Attempt < 1 || e.Attempt > len(t.Attempts) || !t.Attempts[e.Attempt-1].InSession {
		return forbid(e, "no session has had attempt %d of %s", e.Attempt, t.ID)
	}
	if f.Iteration < 1 || f.Iteration > maxLoop || !f.whole() {
		return forbid(e, "it does not say what the step %q is", f.Step)
	}
	return nil
}

// maxLoop bounds the number of an iteration, which comes from another process.
const maxLoop = 100_000

// whole reports whether the fact has what its step needs.
func (f LoopStepped) whole() bool {
	switch f.Step {
	case LoopStarted, LoopLimited:
		return f.Config != nil
	case LoopValidated:
		return f.Entry != nil && f.Entry.Iteration == f.Iteration
	case LoopEnded:
		return f.Done != ""
	case LoopAdvanced:
		return true
	}
	return false
}

// apply changes what is known of the loop, and nothing of the task's way: a session's work is
// judged when it is to land. A step that comes again changes nothing.
func (f LoopStepped) apply(s State, e Event) State {
	return s.edit(e.Task, func(t *Task) {
		a := &t.Attempts[e.Attempt-1]
		if f.Step == LoopStarted || a.Loop.IsZero() { // an orch of before did not write down that it began
			a.Loop = a.nextLoop(e.At)
		}
		l := &a.Loop
		if f.Iteration != l.Iteration {
			l.Iteration, l.Guard = f.Iteration, ""
		}
		l.Done = f.Done // where a step follows the end, which the log does not have
		switch f.Step {
		case LoopStarted, LoopLimited:
			l.Config = *f.Config
		case LoopValidated:
			l.Guard = f.Guard
			a.Rounds = slices.Clone(a.Rounds)
			if n := len(a.Rounds); n > l.First && a.Rounds[n-1].Iteration == f.Iteration { // it was validated again
				a.Rounds = a.Rounds[:n-1]
			}
			a.Rounds = append(a.Rounds, *f.Entry)
		}
	})
}

// nextLoop is a loop that begins in the attempt. Its first iteration is the one that is under way,
// or where that was validated, the next.
func (a Attempt) nextLoop(at time.Time) SessionLoop {
	l := SessionLoop{Began: at, First: len(a.Rounds), Before: a.Iterations(), Turn: a.Iteration}
	if validated := !a.Loop.IsZero() && len(a.Rounds) > a.Loop.First && a.Loop.Turn == a.Iteration; !validated {
		l.Before--
	}
	return l
}

// Iterations is how many iterations the attempt has had: turns of its agent, or those of its
// session's loops.
func (a Attempt) Iterations() int {
	if a.Loop.IsZero() {
		return a.Iteration
	}
	return a.Loop.Before + a.Loop.Iteration + a.Iteration - a.Loop.Turn
}

// SessionLoop is the loop of the task's newest attempt, as far as the journal has it: all but what
// the agent has kept in checkpoints. ok is false where no session has iterated in it.
func (t *Task) SessionLoop() (l iteration.Loop, ok bool) {
	a := t.Last()
	if a.Loop.IsZero() {
		return iteration.Loop{}, false
	}
	l = iteration.Loop{TaskID: string(t.ID), Config: a.Loop.Config, Iteration: a.Loop.Iteration, History: slices.Clone(a.Rounds[a.Loop.First:]), Done: a.Loop.Done}
	if n := len(l.History); n > 0 && l.History[n-1].Iteration == l.Iteration {
		e := l.History[n-1]
		l.Last = &iteration.Outcome{Signal: e.Signal, Guard: string(a.Loop.Guard), Passed: e.Passed, Score: e.ValidationScore, Rules: e.Rules, Feedback: []string{}, Entry: &e}
	}
	return l, true
}

// EndedBy is why the attempt has failed: the code of its failure, or the guard that has ended the
// loop of its session where that has given it up, or has left. It is "" while the attempt is under
// way, and for one that has not failed.
func (a Attempt) EndedBy() reason.Code {
	gaveUp := a.Loop.Guard != "" && a.Loop.Done != "" && a.HasAgent()
	if gaveUp || a.Loop.Guard != "" && a.Failure == reason.Orphaned {
		return a.Loop.Guard
	}
	return a.Failure
}
