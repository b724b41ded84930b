package orchestrator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/beadsorch/orch/orchestrator/engine"
	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/epicdir"
	"github.com/beadsorch/orch/orchestrator/private"
)

// SessionGone says why the session that works on an attempt is gone, in a clause; "" when it is
// there, or nobody can tell.
type SessionGone func(t *epic.Task, a epic.Attempt) string

// gone says why an attempt that is in a session's hands is not any more; "" when it is.
func (o *Orchestrator) gone(t *epic.Task, mode epic.Mode) string {
	a := t.Last()
	switch {
	case a.Phase != epic.HandedOver:
		return ""
	case mode == epic.ModeRun && a.HeldBy(o.me):
		return "it was a session's; orch run takes over" // which that session has called itself
	case mode == epic.ModeRun && a.Holder.IsZero():
		return "it was a session's; orch run takes over"
	}
	return o.fx.gone(t)
}

func (x *dispatch) gone(t *epic.Task) string {
	a := t.Last()
	if x.SessionGone == nil || a.Holder.IsZero() {
		return ""
	}
	if why := x.SessionGone(t, a); why != "" {
		return a.Holder.String() + " is gone: " + why
	}
	return ""
}

// lookAtSessions finds the sessions that are gone. What they have done is salvaged, and their
// attempts are lost, which costs the tasks nothing.
func (x *dispatch) lookAtSessions(ctx context.Context, s epic.State) (events []epic.Event) {
	for _, t := range s.Tasks {
		a := t.Last()
		if t.State != epic.Running || a.Phase != epic.HandedOver || s.WantsLanding(t) {
			continue
		}
		why := x.gone(t)
		if why == "" {
			continue
		}
		e, err := x.salvage(ctx, t, why)
		if err == nil { // else the next look tries again
			events = append(events, e)
		}
	}
	return append(events, epic.Event{Fact: epic.SessionLookEnded{}})
}

// collect looks at what a session has done for a task, as if its agent had just ended.
func (x *dispatch) collect(ctx context.Context, t *epic.Task) epic.Event {
	a := t.Last()
	w, err := x.Engine.Collect(ctx, engine.Job{AttemptID: x.attempt(t.ID, a.Number), Turn: a.Iteration, Base: a.Base, Limits: x.Agents.Limits})
	return ended(t.ID, a.Number, a.Iteration, answered(w, err))
}

// Answer is what became of a request whose asker waits.
type Answer struct {
	Request string       `json:"request"`           // its id
	Refused string       `json:"refused,omitempty"` // why it was not possible
	Task    *epic.Task   `json:"task,omitempty"`    // that it is about, as it was then; nil for none
	Promise epic.Promise `json:"promise"`           // of the epic
}

const answerDir = "answers"

// answerLife is how long an answer lies there for somebody who does not come.
const answerLife = time.Hour

// maxAnswer bounds an answer, in bytes; what a gate printed is in it.
const maxAnswer = 8 << 20

// answer writes down what became of a request, for its asker to read.
func (x *dispatch) answer(s epic.State, id string) epic.Event {
	e := epic.Event{Fact: epic.RequestAnswered{}, Request: id}
	w, ok := s.Wish(id)
	if !ok {
		return e
	}
	a := Answer{Request: id, Refused: w.Refused, Promise: epic.PromiseOf(s, x.Now()).Promise}
	if w.Task != "" {
		a.Task = s.Task(w.Task)
	}
	b, err := json.Marshal(a)
	if err == nil {
		err = x.files.WriteFile(answerFile(x.Dir, id), b)
	}
	if err != nil { // the asker goes by the journal
		e.Reason = "the answer could not be written: " + err.Error()
	}
	x.forgetAnswers()
	return e
}

func answerFile(dir, id string) string {
	return filepath.Join(dir, answerDir, filepath.Base(id)+".json")
}

// forgetAnswers removes what nobody came for.
func (x *dispatch) forgetAnswers() {
	entries, err := x.files.ReadDir(filepath.Join(x.Dir, answerDir))
	if err != nil {
		return
	}
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil && x.Now().Sub(info.ModTime()) > answerLife {
			_ = x.files.Remove(filepath.Join(x.Dir, answerDir, entry.Name())) // tried again with the next answer
		}
	}
}

// TakeAnswer reads the answer to a request and removes it; ok is false while there is none.
func TakeAnswer(dir, id string) (a Answer, ok bool, err error) {
	path := answerFile(dir, id)
	b, err := private.ReadFile(path, maxAnswer)
	if errors.Is(err, os.ErrNotExist) {
		return Answer{}, false, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &a)
	}
	if err == nil && a.Request != id {
		err = errors.New("it is the answer to another request")
	}
	if err != nil {
		return Answer{}, false, fmt.Errorf("reading the answer: %w", err)
	}
	files, err := epicdir.Open(dir)
	if err != nil {
		return a, true, err
	}
	defer files.Close()
	return a, true, files.Remove(path)
}
