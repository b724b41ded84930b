package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/document"
	"github.com/beadsorch/orch/cmd/internal/workspace"
	"github.com/beadsorch/orch/orchestrator"
	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/epicstore"
)

// One orch at a time writes the journal of an epic. A short command waits for another's to end; a
// run that drives the epic is asked, by a file, and answers with one.

// defaultWait is how long a short command waits for others.
const defaultWait = 10 * time.Minute

// answerEvery is how often an asker looks for the answer.
const answerEvery = 50 * time.Millisecond

func waitFlag(c *cobra.Command, f *runFlags) {
	f.wait = defaultWait
	c.Flags().Var((*durationFlag)(&f.wait), "wait", "how long to wait for another orch that has the epic")
}

// durationFlag is a flag for a time that is not below 0.
type durationFlag time.Duration

// Set takes a time. It fails for what is none, and for one below 0.
func (p *durationFlag) Set(word string) error {
	d, err := time.ParseDuration(word)
	if err == nil && d < 0 {
		err = errors.New("a time is not below 0")
	}
	*p = durationFlag(d)
	return err
}

// String is the time.
func (p *durationFlag) String() string { return time.Duration(*p).String() }

// Type is what help calls the value.
func (p *durationFlag) Type() string { return "duration" }

// errNoRun says that no run drives the epic, or none any more: one does it oneself. What the run
// had taken of the request is in the journal.
var errNoRun = errors.New("no run drives the epic")

// waitError says that the time to wait was over.
type waitError struct {
	holder epicstore.Holder
	taken  bool // the run has taken the request, and goes on with it
	wait   time.Duration
}

func (e *waitError) Error() string {
	return fmt.Sprintf("orch %s, process %d on %s, still has the epic after %s", e.holder.Command, e.holder.PID, e.holder.Host, cli.FormatDuration(e.wait))
}

// who has the epic, for a program.
func (e *waitError) who() *document.Holder {
	h := document.Holder(e.holder)
	return &h
}

// askRun leaves a request for the run that drives the epic, and waits for its answer. It fails
// with errNoRun where there is none, and with a *waitError.
func (w driver) askRun(ctx context.Context, dir string, e epic.Event, wait time.Duration) (orchestrator.Answer, error) {
	holder, drives, err := runOf(dir)
	if err != nil || !drives {
		return orchestrator.Answer{}, errors.Join(err, errNoRun)
	}
	r, err := w.request(dir, e)
	if err != nil {
		return orchestrator.Answer{}, err
	}
	w.sayWaiting(holder, wait)
	w.workspace.Project.Invocation.OnEnd(r.leave) // also when a signal ends this
	waiting, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	tick := time.NewTicker(answerEvery)
	defer tick.Stop()
	for {
		if a, ok, err := r.answer(); ok || err != nil {
			return a, err
		}
		_, drives, err := runOf(dir)
		over := waiting.Err() != nil
		if err == nil && drives && !over {
			select {
			case <-tick.C:
			case <-waiting.Done():
			}
			continue
		}
		if over && ctx.Err() == nil && r.next && w.workspace.Project.Invocation.Served {
			r.over.Store(true) // the next call of this server collects it
			return orchestrator.Answer{}, &waitError{holder: holder, taken: true, wait: wait}
		}
		a, ok, withdrawn, backErr := r.takeBack()
		switch err = errors.Join(err, backErr); {
		case ok || err != nil:
			return a, err
		case ctx.Err() != nil:
			return orchestrator.Answer{}, ctx.Err()
		case over:
			return orchestrator.Answer{}, &waitError{holder: holder, taken: !withdrawn, wait: wait}
		}
		return orchestrator.Answer{}, errNoRun
	}
}

// runOf is who has the epic in a folder, and whether that is a run which drives it. It fails as
// [epicstore.HeldBy] does.
func runOf(dir string) (h epicstore.Holder, drives bool, err error) {
	h, held, err := epicstore.HeldBy(dir)
	return h, held && h.Drives(), err
}

// request is what was left for a run, while its asker waits.
type request struct {
	dir, id string
	next    bool // it is for a task, which is of no use to who does not wait any more
	now     func() time.Time
	over    atomic.Bool // it was answered, or is not to be taken back
}

// request leaves a request for a run to answer, unless somebody has left the same before.
func (w driver) request(dir string, e epic.Event) (*request, error) {
	id, err := w.posted(dir, e)
	if id == "" && err == nil {
		id, err = orchestrator.PostAwaitedRequest(dir, orchestrator.WithoutSecrets(w.workspace.Project.Invocation.Redact, e), w.workspace.Now())
	}
	_, next := e.Fact.(epic.NextRequested)
	return &request{dir: dir, id: id, next: next, now: w.workspace.Now}, err
}

// answer is what the run has answered; ok is false while it has not.
func (r *request) answer() (a orchestrator.Answer, ok bool, err error) {
	if a, ok, err = orchestrator.TakeAnswer(r.dir, r.id); ok {
		r.over.Store(true)
	}
	return a, ok, err
}

// takeBack takes the request back; withdrawn says that no run goes on with it. Where the answer has
// come in this moment, it is given.
func (r *request) takeBack() (a orchestrator.Answer, ok, withdrawn bool, err error) {
	if r.over.Swap(true) {
		return a, false, true, nil
	}
	if r.next {
		a, ok, err = orchestrator.CancelNext(r.dir, r.id, r.now())
		return a, ok, !ok, err
	}
	withdrawn, err = orchestrator.WithdrawRequest(r.dir, r.id)
	if a, ok, takeErr := orchestrator.TakeAnswer(r.dir, r.id); ok || takeErr != nil { // it has just come
		return a, ok, false, takeErr
	}
	return a, false, withdrawn, err
}

// leave takes back a request for a task that nobody waits for any more: the place is another's.
func (r *request) leave() {
	if r.next {
		_, _, _, _ = r.takeBack() // when it fails, the run sees that its asker has gone
	}
}

// posted is the request that somebody has left for the same before, and that has not been
// answered; "" for none.
func (w driver) posted(dir string, e epic.Event) (id string, err error) {
	p, err := w.workspace.ViewIn(dir)
	if err != nil {
		return "", err
	}
	if f, next := e.Fact.(epic.NextRequested); next {
		return postedNext(p, f), nil
	}
	for _, wish := range p.State.Wishes {
		if wish.Task == e.Task && wish.Kind == e.Kind() && wish.Refused == "" {
			return wish.ID, nil
		}
	}
	for _, asked := range p.Asked {
		if asked.Task == e.Task && asked.Kind() == e.Kind() {
			return asked.Request, nil
		}
	}
	return "", nil
}

// postedNext is the request that this process has left for a task before, as a server does.
func postedNext(p *workspace.EpicView, f epic.NextRequested) string {
	same := func(asker epic.Process, by epic.SessionHolder) bool {
		return asker == f.Asker && f.Asker != epic.Process{} && by.Same(f.Holder)
	}
	for _, wish := range p.State.Wishes {
		if same(wish.Asker, wish.Holder) && wish.Task == "" && wish.Refused == "" {
			return wish.ID
		}
	}
	for _, asked := range p.Asked {
		if g, next := asked.Fact.(epic.NextRequested); next && same(g.Asker, g.Holder) {
			return asked.Request
		}
	}
	return ""
}

// sayWaiting tells a person for whom a command waits.
func (w driver) sayWaiting(h epicstore.Holder, wait time.Duration) {
	fmt.Fprintf(w.workspace.Project.Invocation.Stderr, "waiting for orch %s, process %d on %s, %s at most\n", h.Command, h.PID, h.Host, cli.FormatDuration(wait))
}

// inTurn does a short command: it asks the run that drives the epic, or does it itself when it is
// its turn.
func (w driver) inTurn(ctx context.Context, epicID epic.TaskID, wait time.Duration, ask func(time.Duration) error, do func(time.Duration) error) error {
	until := time.Now().Add(wait)
	for {
		left := max(0, time.Until(until))
		holder, held, err := epicstore.HeldBy(w.workspace.EpicDir(epicID))
		if err != nil {
			return err
		}
		if held && holder.Drives() && holder.PID != os.Getpid() {
			if err = ask(left); !errors.Is(err, errNoRun) {
				return err
			}
			continue
		}
		err = do(left)
		var taken *epicstore.HeldError
		switch {
		case !errors.As(err, &taken):
			return err
		case !taken.Holder.Drives():
			return &waitError{holder: taken.Holder, wait: wait}
		case time.Now().Before(until):
			continue // a run has begun meanwhile
		}
		return err
	}
}

// late is the error of a command whose time to wait is over, with the document that says so.
func (a *app) late(e *waitError, doc cli.Document) error {
	what := "it is not done"
	if e.taken {
		what = "it goes on, and the same command tells how it ends"
	}
	if a.App.JSON {
		cli.WriteJSON(a.App.Stdout, doc)
		return cli.ExitWith(cli.ExitHeld)
	}
	return &cli.Error{Code: "RUN_ACTIVE", What: e.Error() + "; " + what, Exit: cli.ExitHeld, Fix: []string{"give the command again, with a longer --wait", "orch status"}}
}

// caller is the session that the command is called from.
func (a *app) caller() epic.SessionHolder { return workspace.Caller(a.App) }
