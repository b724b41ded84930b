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
	"github.com/beadsorch/orch/orchestrator/proc"
)

// SessionGone says why the session that works on an attempt is gone, in a clause; "" when it is
// there, or that is unknown.
type SessionGone func(t *epic.Task, a epic.Attempt) string

// gone says why an attempt that is in a session's hands is not any more; "" when it is.
func (o *Orchestrator) gone(t *epic.Task, mode epic.Mode) string {
	a := t.Last()
	switch {
	case a.Phase != epic.HandedOver:
		return ""
	case mode == epic.ModeRun && a.HeldBy(o.mine):
		return "it was a session's; orch run takes over" // which that session has called itself
	case mode == epic.ModeRun && a.Holder.IsZero():
		return "it was a session's; orch run takes over"
	case a.HeldBy(o.mine):
		return o.fx.sessionGone(t) // it comes for what it was given
	}
	return o.fx.gone(t)
}

func (x *dispatch) gone(t *epic.Task) string {
	if why := Uncollected(x.Dir, t.Last(), x.Now()); why != "" {
		return why
	}
	return x.sessionGone(t)
}

func (x *dispatch) sessionGone(t *epic.Task) string {
	a := t.Last()
	if x.SessionGone == nil || a.Holder.IsZero() {
		return ""
	}
	if why := x.SessionGone(t, a); why != "" {
		return a.Holder.String() + " is gone: " + why
	}
	return ""
}

// How long the answer to who asked for a task may lie there unread: when that process has ended,
// and when it is unknown whether it has.
const (
	unreadByEnded   = 3 * time.Second
	unreadByUnknown = time.Minute
)

// Uncollected says why the session that an attempt was begun for does not know of it, in a clause;
// "" when it does, or may still come to know. Dir is the epic's folder.
func Uncollected(dir string, a epic.Attempt, now time.Time) string {
	if a.Request == "" || a.Phase != epic.HandedOver {
		return ""
	}
	if a.Unwanted {
		return a.Holder.String() + " does not wait for it any more"
	}
	info, err := os.Lstat(answerFile(dir, a.Request))
	if err != nil {
		return "" // it was read
	}
	lies := now.Sub(info.ModTime())
	if lies < unreadByEnded {
		return ""
	}
	answer, err := readAnswer(dir, a.Request)
	switch {
	case errors.Is(err, os.ErrNotExist):
	case err != nil, answer.Asker == epic.Process{}:
		if lies > unreadByUnknown {
			return a.Holder.String() + " has not come for it"
		}
	case hasEnded(answer.Asker):
		return fmt.Sprintf("process %d, which asked for it, had ended before it was told", answer.Asker.PID)
	}
	return ""
}

// hasEnded reports whether a process has ended, as far as is known here.
func hasEnded(p epic.Process) bool { return proc.Gone(p.PID, p.Born, p.Here) }

// reconcileSessions finds the sessions that are gone, and those that have asked for a task and gone. What they have done is salvaged, and their
// attempts are lost, which costs the tasks nothing.
func (x *dispatch) reconcileSessions(ctx context.Context, s epic.State) (events []epic.Event) {
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
	for _, w := range s.Wishes {
		if w.Kind == (epic.Event{Fact: epic.NextRequested{}}).Kind() && w.Task == "" && hasEnded(w.Asker) {
			events = append(events, epic.Event{Fact: epic.NextDropped{}, Request: w.ID, Reason: fmt.Sprintf("process %d of %s does not wait for a task any more", w.Asker.PID, w.Holder)})
		}
	}
	return append(events, epic.Event{Fact: epic.SessionLookEnded{}})
}

// collect looks at what a session has done for a task, as if its agent had just ended.
func (x *dispatch) collect(ctx context.Context, t *epic.Task) epic.Event {
	a := t.Last()
	w, err := x.Engine.Collect(ctx, engine.Job{AttemptID: x.attempt(t.ID, a.Number), Turn: a.Iteration, Base: a.Base, Limits: x.Agents.Limits})
	return endEvent(t.ID, a.Number, a.Iteration, completeWork(w, err))
}

// Answer is the result of a request whose sender waits.
type Answer struct {
	Request string       `json:"request"`           // its id
	Refused string       `json:"refused,omitempty"` // why it was not possible
	Task    *epic.Task   `json:"task,omitempty"`    // that it is about, as it was then; nil for none
	Promise epic.Promise `json:"promise"`           // of the epic
	Asker   epic.Process `json:"asker,omitzero"`    // that waits for it
}

const answerDir = "answers"

// answerLife is how long an answer is kept that no one collects.
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
	a := Answer{Request: id, Refused: w.Refused, Promise: epic.PromiseOf(s, x.Now()).Promise, Asker: w.Asker}
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

// forgetAnswers removes answers that no one collected in time.
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
	a, err = readAnswer(dir, id)
	if errors.Is(err, os.ErrNotExist) {
		return Answer{}, false, nil
	}
	if err != nil {
		return Answer{}, false, fmt.Errorf("reading the answer: %w", err)
	}
	files, err := epicdir.Open(dir)
	if err != nil {
		return a, true, err
	}
	defer files.Close()
	return a, true, files.Remove(answerFile(dir, id))
}

// UnreadAnswer reports whether there is an answer that no one has collected.
func UnreadAnswer(dir, id string) bool {
	_, err := os.Lstat(answerFile(dir, id))
	return err == nil
}

// CollectAnswer is TakeAnswer for another process of the session that has asked: it leaves the
// answer to who asked while that is there and waits for it.
func CollectAnswer(dir, id string, me epic.Process) (ok bool, err error) {
	a, err := readAnswer(dir, id)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err == nil && a.Asker != (epic.Process{}) && a.Asker != me && !hasEnded(a.Asker) {
		return false, nil
	}
	_, ok, err = TakeAnswer(dir, id)
	return ok, err
}

func readAnswer(dir, id string) (a Answer, err error) {
	b, err := private.ReadFile(answerFile(dir, id), maxAnswer)
	if err == nil {
		err = json.Unmarshal(b, &a)
	}
	if err == nil && a.Request != id {
		err = errors.New("it is the answer to another request")
	}
	return a, err
}
