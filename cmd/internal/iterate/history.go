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
	"github.com/beadsorch/orch/orchestrator/reason"
)

// What a session does in the loop of its attempt is in the epic's journal, which outlives the
// attempt's own files. Before a step is in the loop's log, a request for the journal is left to
// whoever has the epic; so a command that is killed loses no step, and its repetition replaces it.

// loopRecorder has the steps of a loop recorded in the journal of an epic.
type loopRecorder struct {
	app     *cli.Invocation
	work    workspace.WorkDir // at the task
	epic    orchestrator.SessionRequests
	state   func() (epic.State, error) // of the epic as it is now
	request string                     // the newest request; "" none
}

// recorder is the loopRecorder of a place; nil where no session works on a task that orch drives.
func (a commands) recorder(p place) *loopRecorder {
	if !p.work.InSession() {
		return nil
	}
	dir := p.workspace.EpicDir(p.work.Epic)
	return &loopRecorder{app: a.app, work: p.work,
		epic: orchestrator.SessionRequests{Dir: dir, Epic: p.work.Epic, PID: os.Getpid(), Host: workspace.Hostname(), Redact: a.app.Redact, Now: a.app.Now},
		state: func() (epic.State, error) {
			view, err := p.workspace.ViewIn(dir)
			if err != nil {
				return epic.State{}, err
			}
			return view.State, nil
		}}
}

// attach has all steps of a log recorded in the journal from now on. Of a loop that an earlier
// version of orch began, which recorded none, it first records the steps that are in the log.
func (h *loopRecorder) attach(log *checkpoint.Log) error {
	log.OnStep(h.record)
	l, err := log.Loop()
	if errors.Is(err, checkpoint.ErrNoLoop) {
		return nil
	}
	if begun, err := h.begun(); begun || err != nil {
		return err
	}
	then := l
	then.Iteration, then.Last, then.Done = 1, nil, ""
	steps := []checkpoint.Step{{Kind: string(epic.LoopStarted), Loop: then}}
	for n, e := range l.History {
		then.Iteration, then.History = e.Iteration, l.History[:n+1]
		if e.Iteration == l.Iteration {
			then.Last = l.Last
		}
		steps = append(steps, checkpoint.Step{Kind: string(epic.LoopValidated), Loop: then})
	}
	if l.Done != "" {
		steps = append(steps, checkpoint.Step{Kind: string(epic.LoopEnded), Loop: l})
	}
	for _, s := range steps {
		if err := h.record(s); err != nil {
			return err
		}
	}
	return nil
}

// begun reports whether the journal has a loop of the attempt, or a request for one waits.
func (h *loopRecorder) begun() (bool, error) {
	id, n := h.work.Task.ID, h.work.Task.Last().Number
	if !h.work.Task.Last().Loop.IsZero() {
		return true, nil
	}
	pending, err := orchestrator.PendingRequests(h.epic.Dir) // before the state: what is in neither was not requested
	if err != nil {
		return false, err
	}
	for _, p := range pending {
		if _, step := p.Event.Fact.(epic.LoopStepped); step && p.Event.Task == id && p.Event.Attempt == n {
			return true, nil
		}
	}
	s, err := h.state()
	if err != nil {
		return false, err
	}
	t := s.Task(id)
	return t != nil && n <= len(t.Attempts) && !t.Attempts[n-1].Loop.IsZero(), nil
}

// record requests that a step be written to the journal.
func (h *loopRecorder) record(s checkpoint.Step) error {
	f, why := loopStep(s)
	id, err := h.epic.Post(epic.Event{Fact: f, Task: h.work.Task.ID, Attempt: h.work.Task.Last().Number, Reason: why})
	if err == nil {
		h.request = id
	}
	return err
}

// loopStep is a step of a loop in the journal's form, with the reason of a guard that has ended it.
func loopStep(s checkpoint.Step) (f epic.LoopStepped, why string) {
	l := s.Loop
	f = epic.LoopStepped{Step: epic.LoopStep(s.Kind), Iteration: l.Iteration}
	switch f.Step {
	case epic.LoopStarted, epic.LoopLimited:
		f.Config = &l.Config
	case epic.LoopValidated:
		f.Entry, f.Guard = &l.History[len(l.History)-1], reason.Code(l.Guard())
		if f.Guard != "" {
			why = l.Last.Reason
		}
	case epic.LoopEnded:
		f.Done = l.Done
	}
	return f, why
}

// journalWait is how long a command waits until the journal has its step; one that is not there yet
// is taken by whoever has the epic, or has it next.
const journalWait = 5 * time.Second

// waitForJournal waits until the journal has the newest request.
func (h *loopRecorder) waitForJournal(ctx context.Context) {
	if h.request == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, journalWait)
	defer cancel()
	if err := h.epic.Wait(ctx, h.request); err != nil {
		fmt.Fprintf(h.app.Stderr, "the epic's journal has this step only when the epic is opened next: %v\n", err)
	}
}

// status prints how the loop of a task stands: by its log, or where that is gone or belongs to an
// earlier loop, by the epic's journal.
func (a commands) status(ctx context.Context, task string) error {
	at, err := a.place(ctx, task)
	if err != nil {
		return err
	}
	var l iteration.Loop
	log, err := checkpoint.Read(at.work.LoopDir, a.app.Now)
	if err == nil {
		l, err = log.Loop()
	}
	if t := at.work.Task; t != nil && !t.Last().Open() {
		kept, ok := t.SessionLoop()
		if ok && (errors.Is(err, checkpoint.ErrNoLoop) || err == nil && log.Began().Before(t.Last().Started)) {
			l, err = kept, nil
		}
	}
	if err != nil {
		return problem(task, err)
	}
	return a.printLoop(l, "", nil)
}
