package epic

import (
	"fmt"
	"time"

	"github.com/beadsorch/orch/orchestrator/iteration"
	"github.com/beadsorch/orch/orchestrator/object"
	"github.com/beadsorch/orch/orchestrator/reason"
)

// Commit is the full id of a commit of git.
type Commit = object.Commit

// Attempt is one try at a task, in one worktree, on one branch.
type Attempt struct {
	Number        int                     `json:"number"`               // from 1
	Phase         Phase                   `json:"phase"`                // where it is on its way
	Iteration     int                     `json:"iteration"`            // from 1
	Base          Commit                  `json:"base"`                 // what it began from
	Head          Commit                  `json:"head,omitempty"`       // "" until its agent has ended with something to land
	Started       time.Time               `json:"started"`              // UTC
	Ended         time.Time               `json:"ended,omitzero"`       // zero while it is open
	Failure       reason.Code             `json:"failure,omitempty"`    // "" while it has not failed
	Feedback      string                  `json:"feedback,omitempty"`   // the text for the next iteration or attempt
	Why           string                  `json:"why,omitempty"`        // of the failure, in one clause
	Files         []string                `json:"files,omitempty"`      // in conflict
	Apart         []string                `json:"apart,omitempty"`      // repositories of their own in its worktree, with what is saved nowhere, that its work goes without
	Conflict      Commit                  `json:"conflict,omitempty"`   // the tip that it conflicts with
	Accepted      Commit                  `json:"accepted,omitempty"`   // the Head whose protected paths a person has accepted
	Session       string                  `json:"session,omitempty"`    // the client's id of the conversation
	SessionTokens int64                   `json:"counted,omitempty"`    // tokens that this attempt has counted of Session
	InSession     bool                    `json:"in_session,omitempty"` // a session's model works on it, no process of orch's
	Holder        SessionHolder           `json:"holder,omitzero"`      // that session
	Request       string                  `json:"request,omitempty"`    // by which that session asked a run for it; "" where it did not
	Unwanted      bool                    `json:"unwanted,omitempty"`   // that session does not wait for it any more
	Unremoved     time.Time               `json:"unremoved,omitzero"`   // when the run began in which its worktree could not be removed; zero none
	Worked        time.Duration           `json:"worked,omitempty"`     // time that its agents took, together
	Silent        int                     `json:"silent,omitempty"`     // turns in a row that ended without a promise, and it was asked
	Rounds        []iteration.Entry       `json:"rounds,omitempty"`     // what its agent's rules said after each turn
	Gate          []iteration.RuleOutcome `json:"gate,omitempty"`       // what the gate said last of its work, alone or in a green stack
	Loop          SessionLoop             `json:"loop,omitzero"`        // the newest of its session, whose history is in Rounds
	Sandbox       string                  `json:"sandbox,omitempty"`    // what bounded its agents; [NoSandbox] where one was not, "" not known
	Usage                                 // of its agents
}

// NoSandbox says that nothing of orch's bounded an agent.
const NoSandbox = "off"

// Usage is what agents used.
type Usage struct {
	Tokens  int64   `json:"tokens,omitempty"`   // in and out
	CostUSD float64 `json:"cost_usd,omitempty"` // as their client estimates it
}

// add counts what one more agent used.
func (u *Usage) add(more Usage) {
	u.Tokens += more.Tokens
	u.CostUSD += more.CostUSD
}

// over says in a clause what of a budget is used up; "" while nothing is. A part that is 0
// has no limit.
func (u Usage) over(budget Usage) string {
	switch {
	case budget.CostUSD > 0 && u.CostUSD >= budget.CostUSD:
		return fmt.Sprintf("used $%.2f of $%.2f", u.CostUSD, budget.CostUSD)
	case budget.Tokens > 0 && u.Tokens >= budget.Tokens:
		return fmt.Sprintf("used %d of %d tokens", u.Tokens, budget.Tokens)
	}
	return ""
}

// AttemptStarted is the intent to make a worktree, a branch, and start an agent there.
type AttemptStarted struct {
	Turn
	InSession bool          `json:"in_session,omitempty"` // a session's model is the agent
	Holder    SessionHolder `json:"holder,omitzero"`      // that session
}

func (AttemptStarted) check(s State, e Event) error {
	if err := (ofTask{}).check(s, e); err != nil {
		return err
	}
	t := s.Task(e.Task)
	switch last := t.Last(); {
	case last.Open():
		return forbid(e, "attempt %d of %s is open", last.Number, t.ID)
	case e.Attempt != last.Number+1:
		return forbid(e, "attempt %d of %s follows attempt %d", e.Attempt, t.ID, last.Number)
	case t.State != Waiting:
		return forbid(e, "%s is %s", t.ID, t.State)
	}
	return nil
}

func (f AttemptStarted) apply(s State, e Event) State {
	if !f.InSession {
		s.Run.Iterations++
	}
	if e.Request != "" {
		s = s.granted(e)
	}
	return s.edit(e.Task, func(t *Task) {
		t.Attempts = append(t.Attempts, Attempt{
			Number: e.Attempt, Iteration: 1, Base: f.Base, Started: e.At,
			Phase: Starting, Session: f.Session, InSession: f.InSession, Holder: f.Holder, Request: e.Request,
		})
		t.move(Running, e.At)
	})
}

// AttemptHanded says that worktree and brief are there for the session that works on it.
type AttemptHanded struct{ ofAttempt }

func (AttemptHanded) apply(s State, e Event) State {
	return s.phase(e, HandedOver)
}

// AttemptStopped is the intent to interrupt the agent.
type AttemptStopped struct{ ofAttempt }

func (AttemptStopped) apply(s State, e Event) State {
	return s.phase(e, Stopping)
}

// AttemptLost says that orch, or the session that worked on it, was gone while the attempt was open.
type AttemptLost struct {
	ofAttempt
	Head     Commit `json:"head,omitempty"`     // the newest commit of its work
	Salvaged bool   `json:"salvaged,omitempty"` // orch committed what was not
}

func (f AttemptLost) apply(s State, e Event) State {
	return s.edit(e.Task, func(t *Task) {
		t.last().Head = f.Head
		t.end(reason.Orphaned, e.Reason, e.At)
	})
}

// CleanStarted is the intent to remove worktree and branch of a task that is over.
type CleanStarted struct{ ofTask }

func (CleanStarted) apply(s State, e Event) State {
	return s.edit(e.Task, func(t *Task) {
		if a := t.Last(); a.Phase == Ended {
			t.last().Phase = Removing
		}
	})
}

// AttemptCleaned says that worktree and branch are gone; with a Reason: that they could not be
// removed.
type AttemptCleaned struct{ ofTask }

func (AttemptCleaned) apply(s State, e Event) State {
	if a := s.Task(e.Task).Last(); a.Phase != Ended && a.Phase != Removing {
		return s
	}
	return s.edit(e.Task, func(t *Task) {
		if t.last().Phase = Removed; e.Reason != "" {
			t.last().Phase, t.last().Unremoved = Ended, s.Run.Started
		}
	})
}
