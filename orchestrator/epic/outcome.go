package epic

import (
	"cmp"
	"slices"
	"strings"

	"github.com/beadsorch/orch/orchestrator/iteration"
	"github.com/beadsorch/orch/orchestrator/reason"
)

// Outcome is what iteration.Judge has said of a turn that its agent ended by itself. It is decided
// once, and journaled: Apply follows it, whatever another orch would say of the same turn.
type Outcome struct {
	Signal   iteration.Signal `json:"signal"`                         // what comes next
	Promise  string           `json:"promise,omitempty"`              // the agent's, as it wrote it
	Guard    reason.Code      `json:"guard,omitempty"`                // that has tripped
	Reason   string           `json:"reason,omitempty" text:"long"`   // of the promise, the hook or the guard; a question
	Fresh    bool             `json:"fresh,omitempty"`                // it goes on in a fresh session: the context is full
	Silent   bool             `json:"silent,omitempty"`               // it ended without a promise, and is asked whether it is done
	Feedback string           `json:"feedback,omitempty" text:"long"` // for the next turn
}

// judging is what iteration.Judge is to be asked of a turn. Nothing journals it.
type judging struct {
	config iteration.Config
	turn   iteration.Turn
}

// ToJudge gives the fact with the turn that [Current] has iteration.Judge decide on, and the config
// of the task's agent. What of both the state says is taken from there: the number of the turn and
// how many there may be, the turns without a promise, and the budget.
func (f AgentEnded) ToJudge(c iteration.Config, t iteration.Turn) AgentEnded {
	f.asked = &judging{c, t}
	return f
}

// currentEnd is the end of a turn with its outcome. It is judged by the state that it is written
// after, since a person may have set the limit of the task while its agent worked.
func currentEnd(s State, e Event, f AgentEnded) Event {
	ask, t := f.asked, s.Task(e.Task)
	f.asked = nil
	if ask != nil && t != nil && f.End == EndedItself && e.Code == "" {
		o := iteration.Judge(s.Run.Limits.config(ask.config, t), t.Last().Rounds, s.Run.Limits.turn(ask.turn, t, f.Usage))
		f.judged(o, ask)
		e.Reason = strings.TrimPrefix(o.DetectedPromise+"; "+e.Reason, "; ")
		e.Reason = strings.TrimSuffix(e.Reason, "; ")
	}
	e.Fact = f
	return e
}

// config is how the turns of a task are judged: as its agent has it, as often as the run lets it.
func (l Limits) config(c iteration.Config, t *Task) iteration.Config {
	c.MaxIterations, c.SilentTurns = max(1, l.iterations(t)), 1
	if l.Resumes {
		c.SilentTurns = 2 // it is asked once, in the same conversation
	}
	return c
}

// turn is the newest one of a task, whose agents have used more than the state knows.
func (l Limits) turn(turn iteration.Turn, t *Task, more Usage) iteration.Turn {
	a, used := t.Last(), t.Usage
	used.add(more)
	turn.Number, turn.Silent, turn.Spent = max(1, a.Iteration), a.Silent, used.over(l.TaskBudget)
	return turn
}

// judged takes over what was said of the turn.
func (f *AgentEnded) judged(o iteration.Outcome, ask *judging) {
	f.Outcome = &Outcome{Signal: o.Signal, Promise: o.DetectedPromise, Guard: reason.Code(o.Guard), Reason: o.Reason,
		Fresh: o.Fresh, Silent: o.Silent, Feedback: strings.Join(o.Feedback, "\n\n")}
	if o.Entry != nil {
		f.Round = &Round{Entry: *o.Entry}
	}
	p, _ := ask.config.Promise(ask.turn.Output)
	f.Signal, f.Said = string(p.Signal), cmp.Or(f.Said, p.Reason, p.Summary)
	if ask.turn.Full {
		f.Signal = SignalFresh
	}
	if f.Outcome.asksPerson() {
		f.Said = o.Reason
	}
}

// asksPerson reports whether the turn ended with a question to a person.
func (o Outcome) asksPerson() bool {
	return o.Guard == "" && (o.Signal == iteration.Blocked || o.Signal == iteration.Escalate)
}

// goesOn reports whether the agent has another turn, whatever git shows of its work.
func (o Outcome) goesOn() bool { return o.Signal == iteration.Continue && !o.Silent }

// Done reports whether a turn that its agent ended by itself leaves its work to git and the gate: it
// neither goes on, nor asks a person, nor has a guard ended it.
func (f AgentEnded) Done() bool {
	if f.Outcome != nil {
		return f.Outcome.Signal == iteration.Complete || f.Outcome.Silent
	}
	switch f.Signal {
	case SignalBlocked, SignalEscalate, SignalContinue, SignalFresh:
		return false
	}
	return f.Round == nil || f.Round.Passed
}

// applyOutcome changes the task as the outcome says. That it is complete is a claim: git says whether there is
// work, and the gate whether it is right.
func (f AgentEnded) applyOutcome(t *Task, e Event) {
	a, o := t.last(), f.Outcome
	if a.Silent++; !o.Silent {
		a.Silent = 0
	}
	switch {
	case o.Guard != "":
		a.Why = o.Reason
		t.end(o.Guard, o.Feedback, e.At)
	case o.asksPerson():
		t.end(reason.Question, o.Reason, e.At)
	case o.goesOn():
		a.Feedback = o.Feedback // stays open; Decide starts the next iteration
	case len(f.Unmerged) > 0:
		a.Files = slices.Clone(f.Unmerged)
		t.end(reason.MergeConflict, f.Said, e.At)
	case !f.Changed:
		t.end(reason.NoChange, f.Said, e.At)
	case o.Silent:
		a.Feedback = o.Feedback
	default:
		t.move(Queued, e.At)
	}
	if o.Fresh && a.Open() {
		a.Session, a.SessionTokens = "", 0
	}
}
