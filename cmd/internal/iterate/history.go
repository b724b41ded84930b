package iterate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/workspace"
	"github.com/beadsorch/orch/orchestrator"
	"github.com/beadsorch/orch/orchestrator/checkpoint"
	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/iteration"
)

// What a session does in the loop of its attempt is in the epic's journal, which outlives the
// attempt's own files. Before a step counts in the book, word of it is left for whoever has the
// epic; so a command that is killed loses no step, and one that is given again replaces it.

// historian tells the journal of an epic of the steps of a loop.
type historian struct {
	app   *cli.App
	dir   string         // the epic's folder
	work  workspace.Work // at the task
	asked string         // the newest request; "" none
}

// historian is the one of the place; nil where no session works on a task that orch drives.
func (a commands) historian(p place) *historian {
	if !p.work.InSession() {
		return nil
	}
	return &historian{app: a.App, dir: p.EpicDir(p.work.Epic), work: p.work}
}

// tell leaves word of a step.
func (h *historian) tell(s checkpoint.Step) error {
	task := h.work.Task
	f, why := stepOf(s)
	e := epic.Event{Fact: f, Task: task.ID, Attempt: task.Last().Number, Reason: why}
	id, err := orchestrator.Post(h.dir, orchestrator.WithoutSecrets(h.app.Redact, e), h.app.Now())
	if err == nil {
		h.asked = id
	}
	return err
}

// stepOf is a step of a loop as the journal has it, with why a guard has ended it.
func stepOf(s checkpoint.Step) (f epic.LoopStepped, why string) {
	l := s.Loop
	f = epic.LoopStepped{Step: epic.LoopStep(s.Kind), Iteration: l.Iteration}
	switch f.Step {
	case epic.LoopStarted, epic.LoopLimited:
		f.Config = &l.Config
	case epic.LoopValidated:
		f.Entry, f.Guard = &l.History[len(l.History)-1], epic.Code(l.Guard())
		if f.Guard != "" {
			why = l.Last.Reason
		}
	case epic.LoopEnded:
		f.Done = l.Done
	}
	return f, why
}

// settleWait is how long a command waits until the journal has its step; one that is not there yet
// is taken by whoever has the epic, or has it next.
const settleWait = 5 * time.Second

// settle waits until the journal has what was told.
func (h *historian) settle(ctx context.Context) {
	if h.asked == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, settleWait)
	defer cancel()
	w := orchestrator.Settle{Dir: h.dir, Epic: h.work.Epic, PID: os.Getpid(), Host: workspace.Hostname(), Redact: h.app.Redact, Now: h.app.Now}
	if err := w.Wait(ctx, h.asked); err != nil {
		fmt.Fprintf(h.app.Stderr, "the epic's journal has this step only when the epic is opened next: %v\n", err)
	}
}

// status says how the loop of a task stands: by its book, or where that is gone, or is of a loop
// before, by the epic's journal.
func (a commands) status(ctx context.Context, task string) error {
	at, err := a.place(ctx, task)
	if err != nil {
		return err
	}
	var l iteration.Loop
	b, err := checkpoint.Read(at.work.Book, a.Now)
	if err == nil {
		l, err = b.Loop()
	}
	if t := at.work.Task; t != nil && !t.Last().Open() {
		kept, ok := t.SessionLoop()
		if ok && (errors.Is(err, checkpoint.ErrNoLoop) || err == nil && b.Began().Before(t.Last().Started)) {
			l, err = kept, nil
		}
	}
	if err != nil {
		return problem(task, err)
	}
	return a.sayLoop(l, "", nil)
}
