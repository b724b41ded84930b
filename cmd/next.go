package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/document"
	"github.com/beadsorch/orch/cmd/internal/explain"
	"github.com/beadsorch/orch/cmd/internal/hooks"
	"github.com/beadsorch/orch/cmd/internal/trust"
	"github.com/beadsorch/orch/cmd/internal/trust/plan"
	"github.com/beadsorch/orch/cmd/internal/workspace"
	"github.com/beadsorch/orch/orchestrator"
	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/epicdir"
	"github.com/beadsorch/orch/orchestrator/epicstore"
	"github.com/beadsorch/orch/orchestrator/proc"
	"github.com/beadsorch/orch/orchestrator/reason"
	"github.com/beadsorch/orch/orchestrator/text"
	"github.com/beadsorch/orch/worktree"
)

// next and land are the verbs of a session whose own model is the orchestrator:
// orch is its hands. Both run the same loop as orch run, with less to do.

func newNextCmd(a *app) *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "next EPIC",
		Short: "claim the next ready tasks, with a worktree and a brief for each",
		Long: `Next claims as many ready tasks as may run at the same time, makes a worktree and
a brief for each, and prints them. A session's model gives each to a subagent,
and calls orch land TASK when that has committed its work. When nothing is left
to claim and nothing is under way, it says so.`,
		Args: cli.Exactly(1, "an epic"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := f.check(c); err != nil {
				return err
			}
			return workspace.WithPromise(c.Context(), a.App, args[0], a.next(c.Context(), epic.TaskID(args[0]), f))
		},
	}
	c.Flags().IntVarP(&f.parallel, "max-parallel", "j", 0, "tasks under way at the same time (workflow.run.max_parallel)")
	c.Flags().StringVar(&f.base, "base", "HEAD", "what a new epic branch starts from")
	c.Flags().BoolVar(&f.redBase, "allow-red-base", false, "go on although the gate is red before any agent has worked")
	c.Flags().BoolVar(&f.takeOver, "take-over", false, "go on although another clone has claimed the epic: it is gone")
	waitFlag(c, &f)
	trust.Flag(c, &f.trust)
	return c
}

func (a *app) next(ctx context.Context, epicID epic.TaskID, f runFlags) error {
	w, err := workspace.Open(ctx, a.App)
	if err != nil {
		return err
	}
	q, err := trust.Ask(ctx, w.Project, startOf(ctx, w, epicID, f))
	if err != nil {
		return err
	}
	untrusted := q.Require(f.trust, plan.Settings)
	if untrusted != nil && explain.Error(untrusted).Exit == cli.ExitUsage { // --trust names no digest
		return untrusted
	}
	if untrusted != nil {
		f.withheld, f.redBase = untrusted, true // nothing of the repository's runs; the next run asks the gate about the base
	}
	me, is, d := a.caller(), workspace.IsCaller(a.App), driver{workspace: w, faults: a.faults}
	if err := keepSession(ctx, w, me); err != nil {
		return err
	}
	n := handout{is: is, fresh: map[epic.TaskID]bool{}, trust: q.Needed(untrusted)}
	if p, err := w.ViewOf(ctx, epicID); err == nil && p != nil && p.State.AtLimit() {
		if p.Promise(ctx).Promise == epic.LoopBlocked { // a person has it go on, with orch run
			n.view = p
			return a.sayNext(n, cmp.Or(f.parallel, w.Project.Config.Run.MaxParallel))
		}
	}
	err = d.inTurn(ctx, epicID, f.wait, func(left time.Duration) error {
		p, given, err := d.askNext(ctx, epicID, me, f.parallel, left)
		if err == nil {
			p.Promise(ctx)
			n.view, n.fresh[given] = p, true
		}
		return err
	}, func(left time.Duration) error {
		f.wait = left
		s, _, err := d.brief(ctx, epicID, f, epic.ModeNext, func(e epic.Event, _ epic.State) {
			if _, ok := e.Fact.(epic.AttemptHanded); ok {
				n.fresh[e.Task] = true
			}
		}, nil)
		n.view = &workspace.EpicView{Workspace: w, Folder: w.EpicDir(epicID), State: s}
		return err
	})
	var late *waitError
	if errors.As(err, &late) {
		return a.lateNext(ctx, w, epicID, late, n.trust)
	}
	if err != nil {
		return err
	}
	return a.sayNext(n, n.view.State.Run.Limits.MaxParallel)
}

// lateNext tells a session that its time to wait for a task is over.
func (a *app) lateNext(ctx context.Context, w *workspace.Workspace, epicID epic.TaskID, late *waitError, trust document.TrustNeeded) error {
	doc := document.Next{Epic: epicID, Trust: trust, Tasks: []document.Handed{}, Others: []document.Elsewhere{}, Promise: epic.LoopContinue, Waiting: true, WaitingFor: late.who(), Reason: late.Error(), Sandbox: epic.NoSandbox}
	p, err := w.ViewOf(ctx, epicID)
	if err != nil {
		return err
	}
	if p != nil { // nil where the other has written nothing yet
		doc.Promise = p.Promise(ctx).Promise
	}
	return a.late(late, doc)
}

// handout is what a session is told that has asked for tasks.
type handout struct {
	view  *workspace.EpicView
	is    epic.IsSession
	fresh map[epic.TaskID]bool // which of its tasks are new
	trust document.TrustNeeded
}

// sayNext tells a session what it has and how the epic stands; parallel is how many tasks it lets be
// under way where no run drives the epic.
func (a *app) sayNext(n handout, parallel int) error {
	w, s, is, fresh, trust := n.view.Workspace, n.view.State, n.is, n.fresh, n.trust
	sum := epic.Summarize(s, w.Now())
	if err := collect(w.EpicDir(s.Epic), s, is, fresh); err != nil {
		return err
	}
	tasks, others := a.handedOut(w, s, is, fresh)
	doc := document.NextOf(s, sum, tasks, trust)
	doc.Others = others
	if !doc.Done && !slices.ContainsFunc(tasks, func(h document.Handed) bool { return h.New }) {
		doc.Withheld = withheld(s, sum, epic.OfferTo(s, n.view.Asker(is, parallel), w.Now()), tasks)
	}
	if a.App.JSON {
		cli.WriteJSON(a.App.Stdout, doc)
		return nil
	}
	for _, h := range tasks {
		fmt.Fprintf(a.App.Stdout, "%s  %s\n  dir    %s\n  brief  %s\n  then   orch land %s\n", h.Task, h.Title, h.Dir, h.Brief, h.Task)
	}
	if len(tasks) > 0 {
		fmt.Fprintf(a.App.Stdout, "note   what your client starts is in no sandbox of orch's; the gate of orch land is, where sandbox.level says so\n")
	}
	if trust.Needed && !doc.Done {
		fmt.Fprintf(a.App.Stdout, "first  orch trust: orch land runs what this repository names, and nobody has allowed that here yet\n")
	}
	for _, o := range others {
		fmt.Fprintf(a.App.Stdout, "%s is in other hands: %s\n", o.Task, o.Holder)
	}
	switch {
	case doc.Done:
		fmt.Fprintf(a.App.Stdout, "nothing is left to hand out: %s\n", doc.Reason)
	case len(tasks) == 0 && doc.Promise == epic.LoopBlocked:
		fmt.Fprintf(a.App.Stdout, "nothing is handed out: %s\n", doc.Reason)
	case len(tasks) == 0:
		fmt.Fprintf(a.App.Stdout, "nothing to hand out now: %s\n", doc.Reason)
	}
	if why := doc.Withheld; why != nil {
		fmt.Fprintf(a.App.Stdout, "  why    %s  [%s]\n", why.Why, why.Code)
		for _, fix := range why.Fix {
			fmt.Fprintf(a.App.Stdout, "  try    %s\n", fix)
		}
	}
	return nil
}

// withheld says why a session is handed nothing new, and what it or a person can do; nil where it would
// be handed something if it asked again.
func withheld(s epic.State, sum epic.Summary, o epic.Offer, has []document.Handed) *document.Withheld {
	if o.Code == "" {
		return nil
	}
	id := cli.Quote(s.Epic)
	doc := &document.Withheld{Code: o.Code, Why: o.Why, Fix: []string{}}
	for _, h := range has {
		doc.Fix = append(doc.Fix, "orch land "+cli.Quote(h.Task))
	}
	switch {
	case o.Code == reason.Paused:
		doc.Fix = append(doc.Fix, "a person: orch continue "+id)
	case o.Code == reason.BackOff:
		doc.Fix = append(doc.Fix, "orch next "+id+", then")
	case o.Code == reason.Interrupted:
		doc.Fix = append(doc.Fix, "orch next "+id+", when the run has ended")
	case s.AtLimit():
		doc.Fix = append(doc.Fix, "a person: orch run "+id)
	case explain.Ways(s, sum) != nil:
		doc.Fix = append(doc.Fix, explain.Ways(s, sum)...)
	default:
		doc.Fix = append(doc.Fix, "orch status "+id)
	}
	return doc
}

// atOnce is how long a session that has something in hand waits for the answer of a run.
const atOnce = 5 * time.Second

// askNext asks the run that drives an epic for a task, but for a session that has not been told yet
// what it has, or has as many as it wants. It gives the epic as it is then, and the task, "" for
// none. It fails as askRun does.
func (w driver) askNext(ctx context.Context, epicID epic.TaskID, me epic.SessionHolder, most int, wait time.Duration) (p *workspace.EpicView, given epic.TaskID, err error) {
	if p, err = w.workspace.ViewOf(ctx, epicID); err != nil {
		return nil, "", err
	}
	inHand, is := 0, workspace.IsCaller(w.workspace.Project.Invocation)
	if p != nil {
		for _, t := range p.State.Tasks {
			if at := t.Last(); !inHandOf(t, is) {
				continue
			} else if at.Request != "" && orchestrator.UnreadAnswer(p.Folder, at.Request) {
				return p, "", nil
			}
			inHand++
		}
	}
	if inHand > 0 && most > 0 && inHand >= most {
		return p, "", nil
	}
	e := epic.Event{Fact: epic.NextRequested{Holder: me, Asker: workspace.Self(), AtOnce: inHand > 0}, Reason: me.String() + " wants a task"}
	if inHand > 0 {
		wait = min(wait, atOnce)
	}
	answer, err := w.askRun(ctx, w.workspace.EpicDir(epicID), e, wait)
	var late *waitError
	if err != nil && (inHand == 0 || !errors.As(err, &late)) {
		return nil, "", err
	}
	if answer.Task != nil {
		given = answer.Task.ID
	}
	p, err = w.workspace.ViewOf(ctx, epicID)
	return p, given, err
}

// inHandOf reports whether a session has a task to work on.
func inHandOf(t *epic.Task, is epic.IsSession) bool {
	at := t.Last()
	return t.State == epic.Running && at.Phase == epic.HandedOver && !at.Unwanted && at.HeldBy(is)
}

// collect has a session know of the tasks that a run has given it since it asked, and notes them.
func collect(dir string, s epic.State, is epic.IsSession, fresh map[epic.TaskID]bool) error {
	for _, t := range s.Tasks {
		at := t.Last()
		if at.Request == "" || !inHandOf(t, is) {
			continue
		}
		ok, err := orchestrator.CollectAnswer(dir, at.Request, workspace.Self())
		if err != nil {
			return err
		}
		fresh[t.ID] = fresh[t.ID] || ok
	}
	return nil
}

// handedOut lists the tasks that a session works on, and those that others do.
func (a *app) handedOut(w *workspace.Workspace, s epic.State, is epic.IsSession, fresh map[epic.TaskID]bool) (tasks []document.Handed, others []document.Elsewhere) {
	tasks, others = []document.Handed{}, []document.Elsewhere{}
	for _, t := range s.Tasks {
		at := t.Last()
		if !at.InSession || !at.Open() || t.State != epic.Running || at.Unwanted {
			continue
		}
		if !at.HeldBy(is) {
			others = append(others, document.Elsewhere{Task: t.ID, Holder: workspace.HolderName(at.Holder)})
			continue
		}
		n := worktree.NamesOf(w.Project.Worktrees(), string(s.Epic), string(t.ID), at.Number)
		tasks = append(tasks, document.Handed{Task: t.ID, Title: t.Title, Attempt: at.Number, Dir: n.Dir, Branch: n.Branch,
			Brief: epicdir.Brief(epicdir.Attempt(w.EpicDir(s.Epic), t.ID, at.Number), 1), New: fresh[t.ID]})
	}
	return tasks, others
}

// keepSession has orch know of a client's session, so that its end is noticed.
func keepSession(ctx context.Context, w *workspace.Workspace, me epic.SessionHolder) error {
	if me.Session == "" {
		return nil
	}
	return hooks.Known(ctx, w, me.Session)
}

// brief runs the loop for one short command.
func (w driver) brief(ctx context.Context, epicID epic.TaskID, f runFlags, mode epic.Mode, observe func(epic.Event, epic.State), first func(*orchestrator.Orchestrator) error) (epic.State, epic.Summary, error) {
	p, err := w.prepare(ctx, epicID, f)
	if err != nil {
		return epic.State{}, epic.Summary{}, err
	}
	o, err := orchestrator.Open(ctx, p.deps, orchestrator.Options{Mode: mode, Base: p.base, Observe: observe, PID: os.Getpid(), Host: workspace.Hostname(), Locked: p.locked, Wrap: w.faults,
		Holder: workspace.Caller(w.workspace.Project.Invocation), Mine: workspace.IsCaller(w.workspace.Project.Invocation), Wait: f.wait, Waiting: func(h epicstore.Holder) { w.sayWaiting(h, f.wait) }})
	if err != nil {
		return epic.State{}, epic.Summary{}, err
	}
	if first != nil {
		if err = first(o); err != nil {
			err = errors.Join(err, o.GiveUp()) // or the run looks as if it was killed
		}
	}
	if err == nil {
		requests, stop := notifySignals(ctx, false)
		w.workspace.Project.Invocation.TakeSignals()
		err = o.Run(ctx, requests)
		stop()
	}
	s := o.State().WithoutRun(w.workspace.Now())
	if keepErr := w.keepSnapshot(s); keepErr != nil { // for others to read; nothing rests on it
		fmt.Fprintln(w.workspace.Project.Invocation.Stderr, text.Head(keepErr.Error()))
	}
	if closeErr := w.workspace.CloseEpic(ctx, o, false); err == nil {
		err = closeErr
	}
	sum := epic.Summarize(s, w.workspace.Now())
	if err == nil {
		err = refusedError(s, sum)
	}
	return s, sum, err
}

// refusedError is the error of a short command whose run ended for something that only a person, or
// time, can mend; nil where it did its part.
func refusedError(s epic.State, sum epic.Summary) error {
	switch sum.Code {
	case reason.EpicMoved, reason.CheckedOut, reason.RunActive, reason.Machine:
		r, _ := reason.Of(sum.Code)
		return &cli.Error{Code: string(sum.Code), What: sum.Reason, Why: r.Means, Exit: int(r.Exit), Fix: explain.Ways(s, sum)}
	}
	return nil
}

func newLandCmd(a *app) *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "land TASK",
		Short: "check what a session did for a task, land it and close it",
		Long: `Land commits what is left uncommitted in the task's worktree, builds the commit
that would land, runs the gate on exactly that, moves the epic branch and closes
the task. When it does not land it says why, and what the next try must mend.`,
		Args: cli.Exactly(1, "a task"),
		RunE: func(c *cobra.Command, args []string) error {
			return workspace.WithTaskPromise(c.Context(), a.App, args[0], a.land(c.Context(), args[0], f))
		},
	}
	f.base = "HEAD"
	waitFlag(c, &f)
	trust.Flag(c, &f.trust)
	c.Flags().BoolVar(&f.seize, "take-over", false, "land it although it is in the hands of another session: for a person at a terminal, who knows that nobody works on it")
	c.Flags().BoolVar(&f.accept, "accept-protected", false, "land it although it changes protected paths: look at orch diff TASK first")
	return c
}

func (a *app) land(ctx context.Context, id string, f runFlags) error {
	p, task, err := workspace.LoadEpic(ctx, a.App, []string{id})
	if err == nil {
		err = p.Workspace.Project.Broken // the gate is in the settings
	}
	if err != nil {
		return err
	}
	if task == nil {
		return cli.Usage("%s is an epic; name a task of it", id)
	}
	parked := waitsForAcceptance(task)
	if err := a.landAsPerson(task, f); err != nil {
		return err
	}
	if at := task.Last(); !at.Open() && !parked && at.InSession && at.Failure != reason.Orphaned && (at.Holder.IsZero() || workspace.IsCaller(a.App)(at.Holder)) && task.State != epic.Skipped {
		return a.sayLanded(p.State, p.Promise(ctx).Promise, task) // it was landed, or could not be, while nobody waited
	}
	if err := a.mayLand(p, task, parked, f); err != nil {
		return err
	}
	if err := trust.Check(ctx, p.Workspace.Project, f.trust, plan.Settings); err != nil {
		return err
	}
	if f.accept {
		f.allowed = []string{string(task.ID)}
	}
	d := driver{workspace: p.Workspace, faults: a.faults}
	err = d.inTurn(ctx, p.State.Epic, f.wait, func(left time.Duration) error {
		return a.landByRun(ctx, d, p, task, left)
	}, func(left time.Duration) error {
		f.wait = left
		return a.landHere(ctx, d, p, task, f)
	})
	var late *waitError
	if errors.As(err, &late) {
		return a.lateLand(ctx, p, task, late)
	}
	return err
}

// waitsForAcceptance reports whether a task is parked for its changes of protected paths.
func waitsForAcceptance(t *epic.Task) bool {
	return t.State == epic.Parked && t.Code == reason.Protected
}

// landAsPerson refuses what a person alone decides on, unless one does: that changes of protected paths
// are landed, and that a task is taken over from a session.
func (a *app) landAsPerson(task *epic.Task, f runFlags) error {
	if waitsForAcceptance(task) && !f.accept {
		return &cli.Error{Code: string(reason.Protected), What: fmt.Sprintf("%s changes protected paths", task.ID), Why: task.Why, Exit: cli.ExitNeedsYou,
			Fix: []string{"orch diff " + cli.Quote(task.ID), "orch land " + cli.Quote(task.ID) + " --accept-protected"}}
	}
	if f.accept && a.App.Getenv("ORCH_ATTEMPT") != "" {
		return &cli.Error{Code: "NOT_A_PERSON", What: "an agent does not accept changes of protected paths", Exit: cli.ExitUsage, Fix: []string{"ask the person who started orch"}}
	}
	if _, terminal := proc.Terminal(); f.seize && (hooks.InClient(a.App) || !terminal) {
		return &cli.Error{Code: "NOT_A_PERSON", What: "only a person at a terminal takes over what a session has in hand", Exit: cli.ExitUsage, Fix: []string{"orch land " + cli.Quote(task.ID) + ", from the session that has it", "a person types it in a terminal of their own"}}
	}
	return nil
}

// landByRun has the run that drives the epic land a task, and waits for that so long.
func (a *app) landByRun(ctx context.Context, d driver, p *workspace.EpicView, task *epic.Task, wait time.Duration) error {
	e := epic.Event{Fact: epic.LandRequested{}, Task: task.ID, Attempt: task.Last().Number, Reason: "asked by orch land"}
	if waitsForAcceptance(task) {
		e.Fact, e.Reason = epic.TaskAccepted{}, "a person has accepted its changes of protected paths"
	}
	answer, err := d.askRun(ctx, p.Folder, e, wait)
	switch {
	case err != nil:
		return err
	case answer.Refused != "":
		return notNow(task.ID, answer.Refused)
	case answer.Task == nil:
		return notNow(task.ID, "the task is gone")
	}
	now, err := p.Workspace.ViewOf(ctx, p.State.Epic)
	if err != nil {
		return err
	}
	return a.sayLanded(now.State, answer.Promise, answer.Task)
}

// lateLand tells who waited for a landing that the time for that is over.
func (a *app) lateLand(ctx context.Context, p *workspace.EpicView, task *epic.Task, late *waitError) error {
	now, err := p.Workspace.ViewOf(ctx, p.State.Epic)
	if err != nil {
		return err
	}
	doc := document.Land{Task: task.ID, State: task.State, Waiting: true, WaitingFor: late.who(), Next: "orch land " + cli.Quote(task.ID)}
	doc.Promise = now.Promise(ctx).Promise
	if t := now.State.Task(task.ID); t != nil {
		doc.State = now.State.StateOf(t, a.App.Now())
	}
	return a.late(late, doc)
}

// landHere lands a task in a run of its own.
func (a *app) landHere(ctx context.Context, d driver, p *workspace.EpicView, task *epic.Task, f runFlags) error {
	s, sum, err := d.brief(ctx, p.State.Epic, f, epic.ModeLand, nil, func(o *orchestrator.Orchestrator) error {
		now := o.State().Task(task.ID)
		if a := now.Last(); !a.Open() && now.State != epic.Parked && a.Number == task.Last().Number && a.Failure != reason.Orphaned {
			return nil // a run had been asked, and has landed or judged it before it died
		}
		if err := a.mayLand(&workspace.EpicView{Workspace: p.Workspace, State: o.State()}, now, now.State == epic.Parked, f); err != nil {
			return err // it was decided while this waited
		}
		if now.State == epic.Parked {
			return o.Accept(task.ID)
		}
		return o.Land(ctx, task.ID)
	})
	if err != nil {
		return err
	}
	if t := s.Task(task.ID); t.State == epic.Queued && sum.Code == reason.BaseRed {
		return redBase(s, sum, t)
	}
	return a.sayLanded(s, epic.PromiseOf(s, a.App.Now()).Promise, s.Task(task.ID))
}

// redBase says that a task waits to land, since the epic branch is red without it.
func redBase(s epic.State, sum epic.Summary, t *epic.Task) error {
	r, _ := reason.Of(reason.BaseRed)
	return &cli.Error{Code: string(reason.BaseRed), What: t.ID.String() + " waits to land: " + sum.Reason, Exit: int(r.Exit),
		Why: "its work is kept, and no attempt was charged", Fix: append(explain.Ways(s, sum), "then orch land "+cli.Quote(t.ID))}
}

// mayLand says why the caller cannot land a task now; nil when it can.
func (a *app) mayLand(p *workspace.EpicView, t *epic.Task, accept bool, f runFlags) error {
	me, at := workspace.IsCaller(a.App), t.Last()
	if lost := t.LostBy(me); lost.Number > 0 && !accept {
		return lostAttempt(p, t, lost)
	}
	if at.Open() && !at.HeldBy(me) && (at.InSession && !f.seize || !at.InSession && p.Held && p.Holder.Drives()) {
		return inOtherHands(p, t)
	}
	if !at.Open() && !accept {
		return notNow(t.ID, "no attempt of it is under way")
	}
	return nil
}

// inOtherHands says who has a task, and what others can do.
func inOtherHands(p *workspace.EpicView, t *epic.Task) error {
	at := t.Last()
	e := &cli.Error{Code: "IN_OTHER_HANDS", What: fmt.Sprintf("%s is in the hands of %s", t.ID, holderName(at)), Exit: cli.ExitHeld}
	gone := ""
	if at.InSession {
		gone = p.Workspace.SessionGone(p.State.Epic)(t, at)
	}
	switch {
	case !at.InSession:
		e.Why, e.Fix = "the run lands it when its agent has done it", []string{"orch status " + cli.Quote(t.ID)}
	case gone != "":
		e.What = fmt.Sprintf("%s was in the hands of %s, which is gone: %s", t.ID, holderName(at), gone)
		e.Why, e.Fix = "what it has done is kept, and the task is begun anew", []string{"orch next " + cli.Quote(p.State.Epic), "orch run " + cli.Quote(p.State.Epic)}
	default:
		e.Why = "the session that a task was handed to lands it"
		e.Fix = []string{"orch next " + cli.Quote(p.State.Epic), "a person at a terminal who knows that nobody works on it: orch land " + cli.Quote(t.ID) + " --take-over"}
	}
	return e
}

// lostAttempt tells a session that was away too long what became of its attempt.
func lostAttempt(p *workspace.EpicView, t *epic.Task, lost epic.Attempt) error {
	e := &cli.Error{Code: "ATTEMPT_LOST", What: fmt.Sprintf("attempt %d at %s is no longer this session's: %s", lost.Number, t.ID, text.FirstLine(lost.Feedback, "it was gone")),
		Exit: cli.ExitNeedsYou, Why: "it had made no commit", Fix: []string{"orch next " + cli.Quote(p.State.Epic)}}
	n := worktree.NamesOf(p.Workspace.Project.Worktrees(), string(p.State.Epic), string(t.ID), lost.Number)
	if lost.Head != "" && lost.Head != lost.Base {
		e.Why = fmt.Sprintf("what it had done is kept: commit %.12s, %s", lost.Head, n.Attic)
		e.Fix = append(e.Fix, "git log "+string(lost.Head)+" shows that work")
	}
	switch at := t.Last(); {
	case t.State == epic.Landed:
		e.Why += "; the task has landed since"
	case at.Open():
		e.Exit = cli.ExitHeld
		e.Why += fmt.Sprintf("; attempt %d is in the hands of %s", at.Number, holderName(at))
	}
	return e
}

// holderName names who works on an attempt.
func holderName(a epic.Attempt) string {
	if a.InSession {
		return workspace.HolderName(a.Holder)
	}
	return "an agent of orch run"
}

func notNow(id epic.TaskID, why string) error {
	return &cli.Error{Code: "NOT_NOW", What: fmt.Sprintf("%s cannot land now", id), Why: why, Exit: cli.ExitUsage, Fix: []string{"orch status " + cli.Quote(id)}}
}

func (a *app) sayLanded(s epic.State, p epic.Promise, t *epic.Task) error {
	at := t.Last()
	landed := t.State == epic.Landed
	if a.App.JSON {
		cli.WriteJSON(a.App.Stdout, document.LandOf(s, p, t, a.App.Now(), landNext(s.Epic, t)))
	} else if landed {
		fmt.Fprintf(a.App.Stdout, "landed %s; next: %s\n", strings.Join(append([]string{fmt.Sprintf("%s in %.12s", t.ID, t.Commit)}, s.LeftOut([]epic.TaskID{t.ID})...), "; "), landNext(s.Epic, t))
	} else if t.State == epic.Queued {
		fmt.Fprintf(a.App.Stdout, "%s did not land yet: its work waits to\nnext: %s\n", t.ID, landNext(s.Epic, t))
	} else {
		fmt.Fprintf(a.App.Stdout, "%s did not land  [%s]\n%s\nnext: %s\n", t.ID, cmp.Or(document.WhyNotLanded(t), reason.MergeConflict), cmp.Or(at.Feedback, t.Why), landNext(s.Epic, t))
	}
	if !landed {
		return cli.ExitWith(cli.ExitNeedsYou)
	}
	return nil
}

func landNext(epicID epic.TaskID, t *epic.Task) string {
	switch {
	case t.State == epic.Running:
		return "resolve the conflict in its worktree, commit, and orch land " + cli.Quote(t.ID)
	case t.State == epic.Queued:
		return "orch land " + cli.Quote(t.ID)
	case t.State == epic.Parked:
		return "orch status " + cli.Quote(t.ID)
	}
	return "orch next " + cli.Quote(epicID)
}
