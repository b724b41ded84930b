package cmd

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/config"
	"github.com/beadsorch/orch/cmd/internal/drive"
	"github.com/beadsorch/orch/cmd/internal/explain"
	"github.com/beadsorch/orch/cmd/internal/hooks"
	"github.com/beadsorch/orch/cmd/internal/inside"
	"github.com/beadsorch/orch/cmd/internal/show"
	"github.com/beadsorch/orch/cmd/internal/trust"
	"github.com/beadsorch/orch/cmd/internal/workspace"
	"github.com/beadsorch/orch/orchestrator"
	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/epicstore"
	"github.com/beadsorch/orch/orchestrator/git"
	"github.com/beadsorch/orch/orchestrator/journal"
	"github.com/beadsorch/orch/orchestrator/protect"
	"github.com/beadsorch/orch/orchestrator/reason"
	"github.com/beadsorch/orch/orchestrator/refname"
	"github.com/beadsorch/orch/orchestrator/snapshot"
	"github.com/beadsorch/orch/orchestrator/text"
	"github.com/beadsorch/orch/orchestrator/tracker"
	"github.com/beadsorch/orch/orchestrator/validation"
	"github.com/beadsorch/orch/orchestrator/watch"
)

// runFlags are the settings that orch run takes on its command line too.
type runFlags struct {
	parallel, attempts int
	into, base         string
	duration           time.Duration
	redBase, takeOver  bool
	seize              bool // what is in the hands of another session
	trust              string
	served             []string // variables for what is done for agents: what trust allows
	accept             bool     // what the task changes of protected paths
	allowed            []string // TASK or TASK:GLOB: protected paths that a task may change
	wait               time.Duration
	withheld           error // why the gate is not asked; nil where it is
	detach             bool  // return when the epic is held
	bare               bool  // without a sandbox
	agents             bool  // are started
}

func newRunCmd(a *app) *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "run EPIC",
		Short: "run an epic, or resume it, to the end",
		Long: `Run gives every ready task of the epic to an agent in a worktree of its own,
checks the work itself, lands it on the branch epic/<id> and closes the task. It
ends when every task is closed, or only a person can go on. Killed or
interrupted, it goes on where it was: run it again.

The first ctrl-c lets the agents that work finish, and starts no more. The
second interrupts them; their work is kept.

On a terminal the epic is driven by a process of its own, and what you see is a
view of it: when the terminal closes, the run goes on. orch watch shows it again.
With --detach the command returns once the epic is held. In CI, inside an
agent's session, and where the output is no terminal, the command drives the epic
itself.`,
		Example: "  orch run bd-a3f8\n  orch run bd-a3f8 --into main\n  orch run -d bd-a3f8",
		Args:    cli.Exactly(1, "an epic"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := f.check(c); err != nil {
				return err
			}
			return a.run(c.Context(), epic.TaskID(args[0]), f)
		},
	}
	c.Flags().IntVarP(&f.parallel, "max-parallel", "j", 0, "agents at the same time (workflow.run.max_parallel)")
	c.Flags().IntVar(&f.attempts, "attempts", 0, "tries before a task is parked (workflow.run.attempts)")
	c.Flags().StringVar(&f.into, "into", "", "land the finished epic on this `branch` (workflow.run.into)")
	c.Flags().StringVar(&f.base, "base", "HEAD", "what a new epic branch starts from")
	c.Flags().DurationVar(&f.duration, "max-duration", 0, "stop, resumable, after this long (workflow.run.max_duration)")
	c.Flags().BoolVar(&f.redBase, "allow-red-base", false, "go on although the gate is red before any agent has worked")
	c.Flags().BoolVar(&f.takeOver, "take-over", false, "go on although another clone has claimed the epic: it is gone")
	c.Flags().BoolVar(&f.bare, "no-sandbox", false, "start agents and the gate without a sandbox (workflow.sandbox.level: off)")
	c.Flags().BoolVarP(&f.detach, "detach", "d", false, "return when the epic is held; the run goes on")
	trust.Flag(c, &f.trust)
	c.Flags().StringArrayVar(&f.allowed, "allow-protected", nil, "let a task change protected paths: `TASK`, or TASK:GLOB for some of them")
	return c
}

// check holds what was given to the bounds of the settings.
func (f runFlags) check(c *cobra.Command) error {
	given := c.Flags().Changed
	switch {
	case given("max-parallel") && (f.parallel < 1 || f.parallel > 64):
		return cli.Usage("--max-parallel is %d, not a number from 1 to 64", f.parallel)
	case given("attempts") && (f.attempts < 1 || f.attempts > 100):
		return cli.Usage("--attempts is %d, not a number from 1 to 100", f.attempts)
	case given("max-duration") && f.duration <= 0:
		return cli.Usage("--max-duration is %s, not a time over 0", f.duration)
	}
	return nil
}

func (f runFlags) apply(l *epic.Limits) {
	if f.parallel > 0 {
		l.MaxParallel = f.parallel
	}
	if f.attempts > 0 {
		l.Attempts = f.attempts
	}
	if f.into != "" {
		l.Into = f.into
	}
	if f.duration > 0 {
		l.MaxDuration = f.duration
	}
	l.AllowRedBase, l.TakeOver = f.redBase, f.takeOver
}

func (a *app) run(ctx context.Context, epicID epic.TaskID, f runFlags) error {
	w, err := workspace.Open(ctx, a.App)
	if err != nil {
		a.App.TakeSignals()
		return a.refuse(ctx, "", epicID, err)
	}
	if w, err = a.putBack(ctx, w, epicID); err == nil {
		if f.bare {
			w.Project.Config.Sandbox.Level = config.SandboxOff
		}
		var once string
		once, err = trust.Start(ctx, w.Project, f.trust, startOf(ctx, w, epicID, f))
		if once != "" {
			f.served = []string{trust.Variable + "=" + once}
		}
	}
	if err == nil && a.viewer == nil && (f.detach || a.attended()) {
		return a.start(ctx, w, epicID, f)
	}
	var out drive.Outcome
	if err == nil {
		out, err = driver{workspace: w, faults: a.faults, viewer: a.viewer}.drive(ctx, epicID, f, nil)
	}
	a.App.TakeSignals() // what failed because a signal released it is not reported
	switch {
	case err != nil:
		return a.refuse(ctx, w.Project.Home, epicID, err)
	case a.viewer != nil:
		return a.viewer.End(w.Project.Home, out, nil)
	}
	return out.Say(a.App)
}

// refuse ends a command for a run that could not begin, or has failed, with the promise of its epic: LOOP_ERROR
// where it cannot be known what that needs. home is orch's folder, "" where that is not known yet.
func (a *app) refuse(ctx context.Context, home string, epicID epic.TaskID, err error) error {
	err = workspace.WithPromise(ctx, a.App, string(epicID), err)
	if e := explain.Error(err); !cli.Reported(err) && e.Promise == "" && e.Code != "USAGE" {
		with := *e
		with.Promise, with.Err = epic.LoopError, err
		err = &with
	}
	if a.viewer != nil || cli.Reported(err) {
		return a.viewer.End(home, drive.Outcome{}, err)
	}
	return drive.Failed(0, err).Say(a.App)
}

// putBack puts back what a killed run's agents have changed of the repository, before a person
// is asked about any of it, and opens the workspace anew where there was something. With an error
// it gives w.
func (a *app) putBack(ctx context.Context, w *workspace.Workspace, epicID epic.TaskID) (*workspace.Workspace, error) {
	store, err := w.Store(epicID)
	if err != nil {
		return w, err
	}
	said, err := orchestrator.PutBack(ctx, orchestrator.Deps{Epic: epicID, Dir: w.EpicDir(epicID), Repo: w.Project.Repo, Store: store, Redact: a.App.Redact, Now: a.App.Now})
	for _, line := range said {
		fmt.Fprintf(a.App.Stderr, "tampered, while the run before went on: %s\n", line)
	}
	if err != nil || len(said) == 0 {
		return w, err
	}
	fresh, err := workspace.Open(ctx, a.App)
	if err != nil {
		return w, err
	}
	return fresh, nil
}

// startOf is the revision that agents' worktrees begin from.
func startOf(ctx context.Context, w *workspace.Workspace, epicID epic.TaskID, f runFlags) string {
	branch := refname.Of(string(epicID)).Branch()
	if _, err := w.Project.Repo.Resolve(ctx, branch); errors.Is(err, git.ErrNoSuchRef) {
		return f.base
	}
	return branch
}

// driver runs epics of a workspace.
type driver struct {
	workspace *workspace.Workspace
	faults    faults
	viewer    *drive.Reporter // who shows the run; nil where the driver does so itself
}

// drive runs an epic of the workspace to the end of a run, and gives how that ended.
func (w driver) drive(ctx context.Context, epicID epic.TaskID, f runFlags, change func(*orchestrator.Deps)) (out drive.Outcome, err error) {
	f.agents = true
	s, err := w.prepare(ctx, epicID, f)
	if err != nil {
		return out, err
	}
	if err := w.workspace.CheckHarness(); err != nil {
		return out, err
	}
	if change != nil {
		change(&s.deps)
	}
	dir := w.workspace.EpicDir(epicID)
	told := watch.NewPublisher(dir, w.workspace.Project.Invocation.Redact, w.workspace.Now)
	first := firstSnapshot{keep: w.keepSnapshot}
	o, err := orchestrator.Open(ctx, s.deps, orchestrator.Options{
		Mode: epic.ModeRun, Base: s.base, Observe: func(e epic.Event, s epic.State) { told.Observe(e, s); first.seen(s) }, PID: os.Getpid(), Host: workspace.Hostname(), Locked: s.locked, Wrap: w.faults,
		Holder: workspace.Caller(w.workspace.Project.Invocation), Mine: workspace.IsCaller(w.workspace.Project.Invocation), Wait: defaultWait, Waiting: func(h epicstore.Holder) { w.sayWaiting(h, defaultWait) },
	})
	if err != nil {
		return out, err
	}
	if err := acceptAllowed(o, s.allowed); err != nil {
		return out, errors.Join(err, o.GiveUp(), w.workspace.CloseEpic(ctx, o, false))
	}
	first.opened = true
	first.seen(o.State())
	requests, stop := notifySignals(ctx, w.viewer != nil) // which come as soon as the viewer knows whom to send them
	w.workspace.Project.Invocation.TakeSignals()
	held := drive.Held{Run: o.State().Run.Number, Title: show.Title(epic.TaskID(s.epic.ID), s.epic.Title)}
	remark := w.viewer.Held(w.workspace, dir, held)
	told.Start(o.Activity)
	shown := w.show(ctx, dir, held)
	out, err = w.runTo(ctx, o, requests, stop)
	remark = errors.Join(remark, told.Close(), first.wait())
	if err == nil {
		remark = errors.Join(remark, w.keep(dir, o.State().WithoutRun(w.workspace.Now()), out))
	} else {
		_ = drive.Keep(dir, drive.Failed(held.Run, err)) // what is wrong may be the folder itself; err says so
	}
	if closeErr := w.workspace.CloseEpic(ctx, o, !w.workspace.Project.Invocation.JSON && o.State().Driven()); err == nil && closeErr != nil {
		err = errors.Join(closeErr, drive.Keep(dir, drive.Failed(held.Run, closeErr)))
	}
	if shown(); remark != nil { // said only now, since it may be that nobody reads it
		fmt.Fprintln(w.workspace.Project.Invocation.Stderr, remark)
	}
	return out, err
}

// runTo drives the epic to the end of the run, and says how that ended.
func (w driver) runTo(ctx context.Context, o *orchestrator.Orchestrator, requests <-chan orchestrator.Request, stop func() syscall.Signal) (drive.Outcome, error) {
	watched, unwatch := context.WithCancel(ctx)
	both := make(chan orchestrator.Request)
	go forwardRequests(watched, requests, both)
	go w.watchSettings(watched, both, "") // which looks at once at what has changed since they were read
	err := o.Run(ctx, both)
	unwatch()
	sig := stop()
	if err != nil {
		return drive.Outcome{}, err
	}
	return w.outcome(o.State().WithoutRun(w.workspace.Now()), sig), nil
}

// show shows the run from a goroutine of its own, where nobody else does: a terminal that takes
// nothing delays what is shown, and not the run. over waits until all is shown.
func (w driver) show(ctx context.Context, dir string, held drive.Held) (over func()) {
	if w.viewer != nil {
		return func() {}
	}
	v := show.NewView(w.workspace.Project.Invocation, watch.Open(dir, w.workspace.Now), show.ViewOptions{Run: held.Run, Title: held.Title, Foot: stopFoot})
	ctx, end := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- v.Live(ctx) }()
	return func() {
		end()
		if err := <-ended; err != nil { // what is printed behind it fails too, and says so
			fmt.Fprintf(w.workspace.Project.Invocation.Stderr, "%s\n", text.Head(err.Error()))
		}
	}
}

// stopFoot is what ctrl-c does where a run is shown by the command that started it.
const stopFoot = "ctrl-c stops after what runs now, twice stops at once"

// keep leaves what tells how the run ended, while the epic is still held. It fails where that
// cannot be written.
func (w driver) keep(dir string, s epic.State, out drive.Outcome) error {
	return errors.Join(w.keepSnapshot(s), drive.Keep(dir, out))
}

// prepared is an epic that was found, with what driving it needs.
type prepared struct {
	epic tracker.Issue
	deps orchestrator.Deps
	base epic.Commit
	// allowed are globs of protected paths that a task may change.
	allowed map[epic.TaskID][]string
	// locked forgets what was read of the tracker when another run has written since.
	locked func()
}

// prepare finds the epic in the tracker and gathers what driving it needs. The
// reading is handed on, so that the loop does not have to ask again.
func (w driver) prepare(ctx context.Context, epicID epic.TaskID, f runFlags) (prepared, error) {
	base, err := w.workspace.Project.Repo.Resolve(ctx, f.base)
	if err != nil {
		return prepared{}, baseError(f.base, err)
	}
	if err := w.workspace.CheckJournal(ctx, epicID); err != nil {
		return prepared{}, err
	}
	size := journal.Size(w.workspace.EpicDir(epicID))
	found, err := w.workspace.FindEpic(ctx, epicID)
	if err != nil {
		return prepared{}, err
	}
	allowed, err := parseAllowances(f.allowed)
	if err != nil {
		return prepared{}, err
	}
	for id := range allowed {
		if _, known := tracker.NewIndex(found.Issues).Issue(string(id)); !known {
			return prepared{}, cli.Usage("--allow-protected names %s, and there is no such task", id)
		}
	}
	ahead := &readAhead{Tracker: found.Tracker, issues: found.Issues}
	deps, err := w.workspace.Deps(ctx, epicID, ahead, workspace.Permits{Withheld: f.withheld, Protected: allowed, Hooks: hooks.Of(w.workspace), Agents: f.agents, Served: f.served})
	if err != nil {
		return prepared{}, err
	}
	f.apply(&deps.Limits)
	return prepared{epic: found.Issue, deps: deps, base: base, allowed: allowed, locked: func() {
		if journal.Size(w.workspace.EpicDir(epicID)) != size {
			ahead.forget()
		}
	}}, nil
}

func baseError(rev string, err error) error {
	return &cli.Error{Code: "NO_BASE", What: fmt.Sprintf("%s names no commit", rev), Exit: cli.ExitNotReady, Err: err,
		Why: "an epic branch starts from a commit; a repository without one has nothing to start from",
		Fix: []string{"make a first commit, or name one: orch run EPIC --base REV"}}
}

// parseAllowances reads what --allow-protected says. It fails for what is no glob.
func parseAllowances(words []string) (map[epic.TaskID][]string, error) {
	out := map[epic.TaskID][]string{}
	for _, word := range words {
		task, glob, some := strings.Cut(word, ":")
		if !some {
			glob = "**"
		}
		if _, err := validation.CompileGlob(glob); err != nil || task == "" {
			return nil, cli.Usage("--allow-protected takes TASK or TASK:GLOB, not %s", word)
		}
		out[epic.TaskID(task)] = append(out[epic.TaskID(task)], glob)
	}
	return out, nil
}

// acceptAllowed takes tasks up again that are parked for paths which they may change now.
func acceptAllowed(o *orchestrator.Orchestrator, allowed map[epic.TaskID][]string) error {
	for _, id := range slices.Sorted(maps.Keys(allowed)) {
		t := o.State().Task(id)
		if t == nil || t.State != epic.Parked || t.Code != reason.Protected || len(protect.Allowed(t.Last().Files, allowed[id])) > 0 {
			continue
		}
		if err := o.Accept(id); err != nil {
			return err
		}
	}
	return nil
}

// readAhead is a tracker whose first survey has been made already.
type readAhead struct {
	orchestrator.Tracker
	mu     sync.Mutex
	issues []tracker.Issue
}

// Comments asks the tracker. It fails where that keeps none.
func (r *readAhead) Comments(ctx context.Context, id string) ([]tracker.CommentRecord, error) {
	if kept, ok := r.Tracker.(inside.Discussed); ok {
		return kept.Comments(ctx, id)
	}
	return nil, fmt.Errorf("%s keeps no comments", r.Name())
}

// Survey answers the first time with what was read before.
func (r *readAhead) Survey(ctx context.Context) ([]tracker.Issue, error) {
	r.mu.Lock()
	issues := r.issues
	r.issues = nil
	r.mu.Unlock()
	if issues != nil {
		return issues, nil
	}
	return r.Tracker.Survey(ctx)
}

// forget has the tracker asked the next time.
func (r *readAhead) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.issues = nil
}

// notifySignals turns the first interrupt into a drain and the second into a kill, and a quit into both; one that is deaf to
// hangups goes on after them. stop ends that, and tells the first signal that came; 0 when none did.
// Output that nobody reads any more is an error where it is written, and not the end of the run.
func notifySignals(ctx context.Context, deaf bool) (requests <-chan orchestrator.Request, stop func() syscall.Signal) {
	out := make(chan orchestrator.Request, 2)
	in := make(chan os.Signal, 4)
	signal.Notify(in, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	unread := make(chan os.Signal, 1)
	signal.Notify(unread, syscall.SIGPIPE)
	over, first := make(chan struct{}), make(chan syscall.Signal, 1)
	go func() {
		var came syscall.Signal
		defer func() { first <- came }()
		for {
			select {
			case sig := <-in:
				if deaf && sig == syscall.SIGHUP {
					continue
				}
				var asked []epic.Event
				if came == 0 {
					came, _ = sig.(syscall.Signal)
					asked = append(asked, epic.Event{Fact: epic.DrainStarted{}, Code: reason.Interrupted, Reason: "asked by " + sig.String()})
				}
				switch {
				case sig == syscall.SIGQUIT:
					asked = append(asked, epic.Event{Fact: epic.InterruptStarted{}, Reason: "asked by " + sig.String()})
				case len(asked) == 0:
					asked = append(asked, epic.Event{Fact: epic.InterruptStarted{}, Reason: "asked twice"})
				}
				for _, e := range asked {
					select {
					case out <- orchestrator.Request{Event: e}:
					default: // a third one adds nothing
					}
				}
			case <-over:
				return
			case <-ctx.Done():
				return
			}
		}
	}()
	return out, func() syscall.Signal { signal.Stop(in); close(over); return <-first }
}

// forwardRequests hands requests on until the context ends.
func forwardRequests(ctx context.Context, from <-chan orchestrator.Request, to chan<- orchestrator.Request) {
	for {
		select {
		case r := <-from:
			select {
			case to <- r:
			case <-ctx.Done():
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// exitOf is the exit code that tells how a run ended; sig is the signal that
// came meanwhile, 0 for none.
func exitOf(s epic.State, sum epic.Summary, sig syscall.Signal) int {
	switch sum.Promise {
	case epic.LoopDone:
		if s.Into.Why != "" {
			return cli.ExitNeedsYou
		}
		return cli.ExitDone
	case epic.LoopContinue:
		if sum.Code == "" || sum.Code == reason.Interrupted {
			return 128 + int(cmp.Or(sig, syscall.SIGINT)) // a person's orch stop is as good as their ctrl-c
		}
	}
	if sum.Code == reason.Interrupted && sig != 0 {
		return 128 + int(sig)
	}
	if r, ok := reason.Of(sum.Code); ok {
		return int(r.Exit)
	}
	return cli.ExitNeedsYou
}

// firstSnapshot writes the readable files once in a run, as soon as that is opened and knows the tasks. The
// loop does not wait for it.
type firstSnapshot struct {
	keep          func(epic.State) error
	opened, begun bool
	ended         sync.WaitGroup
	err           error
}

// seen takes the state after each event of the run.
func (f *firstSnapshot) seen(s epic.State) {
	if f.begun || !f.opened || s.ReadAt().IsZero() {
		return
	}
	f.begun = true
	f.ended.Go(func() { f.err = f.keep(s) })
}

// wait waits until they are written. It fails as keep does.
func (f *firstSnapshot) wait() error {
	f.ended.Wait()
	return f.err
}

// keepSnapshot writes the readable files that tell how the epic stands; they are there
// before any promise is.
func (w driver) keepSnapshot(s epic.State) error {
	now := w.workspace.Now()
	files, err := snapshot.Files(s, epic.Summarize(s, now), now)
	if err != nil {
		return err
	}
	return snapshot.Write(filepath.Join(w.workspace.EpicDir(s.Epic), "snapshot"), files)
}

// outcome is how the run ended: a summary for people, then exactly one promise with its context;
// and the same for a program.
func (w driver) outcome(s epic.State, sig syscall.Signal) drive.Outcome {
	sum := epic.Summarize(s, w.workspace.Now())
	var tampered []epic.Event
	if p, err := w.workspace.ViewIn(w.workspace.EpicDir(s.Epic)); err == nil {
		tampered = p.Tampered()
	} else {
		fmt.Fprintf(w.workspace.Project.Invocation.Stderr, "%s\n", text.Head(err.Error()))
	}
	doc := show.Document(w.workspace.Project.Invocation, s, sum)
	doc.Tampered = show.TamperedDocument(tampered)
	var printed bytes.Buffer
	cli.WriteJSON(&printed, doc)
	text := show.TamperedText(tampered, s) + show.Summary(s, sum) + drive.PromiseText(sum.Promise, map[string]any{
		"session_id":        fmt.Sprintf("%s-run-%d", s.Epic, s.Run.Number),
		"iterations":        s.Run.Iterations,
		"issues_completed":  sum.Counts.Done,
		"remaining_blocked": sum.Counts.Total - sum.Counts.Done,
		"duration_minutes":  int(sum.Took.Round(time.Minute).Minutes()),
		"reason":            sum.Reason,
	})
	return drive.Outcome{Run: s.Run.Number, Exit: exitOf(s, sum, sig), Text: w.workspace.Project.Invocation.Redact.String(text), Document: w.workspace.Project.Invocation.Redact.Bytes(printed.Bytes())}
}
