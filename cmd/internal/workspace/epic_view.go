package workspace

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/orchestrator"
	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/epicstore"
	"github.com/beadsorch/orch/orchestrator/journal"
	"github.com/beadsorch/orch/orchestrator/sandbox/shadow"
	"github.com/beadsorch/orch/orchestrator/text"
	"github.com/beadsorch/orch/orchestrator/tracker"
	"github.com/beadsorch/orch/orchestrator/watch"
)

// EpicView is an epic as a command that only looks sees it.
type EpicView struct {
	// Workspace is where the epic is.
	Workspace *Workspace
	// Folder is the epic's, [Workspace.EpicDir].
	Folder string
	// Watch is what the view was read by, and can be followed with.
	Watch *watch.Watch
	// State is the epic.
	State epic.State
	// Activity is what its agents do now, where a run goes on.
	Activity watch.Activity
	// Records are the journal.
	Records []journal.Record
	// Events are what the journal says, with its texts, one for each of the Records.
	Events []epic.Event
	// Holder is who drives the epic; it counts where Held.
	Holder epicstore.Holder
	// Held says that somebody does.
	Held bool
	// Asked are the requests that no run has taken yet.
	Asked []epic.Event
	// NoRequests are the files among them that are none, each with why, in a clause.
	NoRequests []string
	// Read is when the tracker was read; zero when it was not asked, or did not answer.
	Read time.Time
	// ReadWhy is why it did not answer; "" when it did.
	ReadWhy string
}

// LoadEpic opens the view of the epic that is meant: the one named, the one that holds the
// task named, or the one worked on last. The task is nil where none is named. It fails as
// [Read] does, and where orch has not run what is named.
func LoadEpic(ctx context.Context, a *cli.Invocation, args []string) (*EpicView, *epic.Task, error) {
	w, err := Read(ctx, a)
	if err != nil {
		return nil, nil, err
	}
	return w.loadEpic(ctx, args)
}

// Look is LoadEpic for commands that only show an epic: one that orch has never driven is shown as the tracker
// has it. It fails as LoadEpic does, and where the tracker does not answer that would tell.
func Look(ctx context.Context, a *cli.Invocation, args []string) (*EpicView, *epic.Task, error) {
	p, task, err := LoadEpic(ctx, a, args)
	var none *cli.Error
	if len(args) == 0 || !errors.As(err, &none) || none.Code != NotFoundCode {
		return p, task, err
	}
	w, openErr := Read(ctx, a)
	if openErr != nil {
		return nil, nil, openErr
	}
	p, findErr := w.ViewFromTracker(ctx, epic.TaskID(args[0]))
	var unknown *epic.ErrNotEpic
	switch {
	case errors.As(findErr, &unknown):
		return nil, nil, err
	case findErr != nil:
		return nil, nil, findErr
	}
	return p, nil, nil
}

func (w *Workspace) loadEpic(ctx context.Context, args []string) (*EpicView, *epic.Task, error) {
	dirs, err := w.Epics()
	if err != nil {
		return nil, nil, err
	}
	unread := map[string]error{}
	switch {
	case len(args) == 0 && len(dirs) > 0:
		p, err := w.ViewIn(dirs[0])
		return p, nil, err
	case len(args) > 0:
		id := epic.TaskID(args[0])
		if dir := w.EpicDir(id); slices.Contains(dirs, dir) {
			p, err := w.ViewIn(dir)
			return p, nil, err
		}
		for _, dir := range dirs {
			p, err := w.ViewIn(dir)
			if err != nil {
				unread[dir] = err
			} else if t := p.find(id); t != nil {
				return p, t, nil
			}
		}
	}
	return nil, nil, w.whyNone(ctx, args, w.noRun(args), unread)
}

// FindAttempt finds a task and the attempt of it that is meant; number 0 is the last one. It
// fails as [LoadEpic] does, and where there is no such attempt.
func FindAttempt(ctx context.Context, a *cli.Invocation, id string, number int) (*EpicView, *epic.Task, epic.Attempt, error) {
	p, t, err := LoadEpic(ctx, a, []string{id})
	if err != nil {
		return nil, nil, epic.Attempt{}, err
	}
	if t == nil {
		return nil, nil, epic.Attempt{}, cli.Usage("%s is an epic; name a task of it", id)
	}
	if number == 0 {
		number = len(t.Attempts)
	}
	if number < 1 || number > len(t.Attempts) {
		return nil, nil, epic.Attempt{}, &cli.Error{Code: "NO_ATTEMPT", What: fmt.Sprintf("%s has %d %s", t.ID, len(t.Attempts), cli.Plural(len(t.Attempts), "attempt", "attempts")),
			Exit: cli.ExitNotFound, Fix: []string{"orch status " + cli.Quote(t.ID)}}
	}
	return p, t, t.Attempts[number-1], nil
}

// NoRunCode is the code of the error that orch has run no epic here, NO_RUN.
const NoRunCode = "NO_RUN"

// NotFoundCode is the code of the error that orch has run no such epic or task here.
const NotFoundCode = "NOT_FOUND"

// NobodyToAsk is the error NO_RUN of a command within a sandbox that no run listens to.
func NobodyToAsk() *cli.Error {
	return &cli.Error{Code: "NO_RUN", What: "no run can be asked from here", Exit: cli.ExitNotFound,
		Why: "only an agent reaches its run, and the tracker, from its sandbox: what judges its work, and orch sandbox try, do not",
		Fix: []string{"go on with the task, and say in the last message what is to be known"}}
}

func (w *Workspace) noRun(args []string) error {
	if shadow.Is(w.Project.Repo.CommonDir()) {
		return NobodyToAsk()
	}
	if len(args) == 0 {
		return &cli.Error{Code: "NO_RUN", What: "orch has not run here yet", Exit: cli.ExitNotFound, Fix: []string{"orch run EPIC", "orch plan EPIC shows what it would do"}}
	}
	return &cli.Error{Code: "NOT_FOUND", What: fmt.Sprintf("orch knows no epic or task %s here", args[0]), Exit: cli.ExitNotFound,
		Why: "it knows those of epics that it has run", Fix: []string{"orch status", "orch run " + args[0]}}
}

// ViewOf replays the journal of an epic; the view is nil where there is none yet. It fails as
// [Workspace.ViewIn] and [Workspace.CheckJournal] do.
func (w *Workspace) ViewOf(ctx context.Context, id epic.TaskID) (*EpicView, error) {
	dir := w.EpicDir(id)
	if !journal.Begun(dir) {
		return nil, w.CheckJournal(ctx, id)
	}
	return w.ViewIn(dir)
}

// find looks a task up by its id, or by an ending of it that only one has.
func (p *EpicView) find(id epic.TaskID) *epic.Task {
	if t := p.State.Task(id); t != nil && !t.Epic {
		return t
	}
	var found *epic.Task
	for _, t := range p.State.Tasks {
		if strings.HasPrefix(string(id), ".") && strings.HasSuffix(string(t.ID), string(id)) {
			if found != nil {
				return nil
			}
			found = t
		}
	}
	return found
}

// ViewIn replays the journal in an epic's folder. It fails when that cannot be read, with the promise
// LOOP_ERROR where it cannot be believed.
func (w *Workspace) ViewIn(dir string) (*EpicView, error) {
	p, err := w.viewIn(dir)
	if err != nil {
		return nil, unreadable(err)
	}
	return p, nil
}

func (w *Workspace) viewIn(dir string) (*EpicView, error) {
	own := *w
	p := &EpicView{Workspace: &own, Folder: dir, Watch: watch.Open(dir, w.Now)}
	err := p.Watch.Read(func(e watch.Event) error {
		if e.Record.Seq > 0 {
			p.Records, p.Events = append(p.Records, e.Record), append(p.Events, e.Event)
		}
		return nil
	})
	var replay *epicstore.ReplayError
	p.State, p.Activity = p.Watch.Snapshot()
	switch {
	case errors.As(err, &replay):
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, journal.File), err)
	case err != nil:
		return nil, err
	}
	if p.State.Epic != "" && w.EpicDir(p.State.Epic) != dir {
		return nil, &epicstore.ForeignError{Dir: dir, Epic: p.State.Epic}
	}
	p.recall()
	if p.Holder, p.Held, err = p.Watch.Holder(); err != nil {
		return nil, err
	}
	pending, err := orchestrator.PendingRequests(dir)
	for _, r := range pending {
		switch {
		case r.Bad != "":
			p.NoRequests = append(p.NoRequests, fmt.Sprintf("%s: %s", text.Clause(r.ID, 80), r.Bad))
		case !p.State.Took(r.ID):
			p.Asked = append(p.Asked, r.Event)
		}
	}
	p.State = p.State.Seen(p.Held, p.Asked, w.Now())
	return p, err
}

// ViewFromTracker is the view of an epic that orch has never driven: what the tracker says of it. It
// fails as [Workspace.FindEpic] does.
func (w *Workspace) ViewFromTracker(ctx context.Context, id epic.TaskID) (*EpicView, error) {
	found, err := w.FindEpic(ctx, id)
	if err != nil {
		return nil, err
	}
	return w.ViewFromIssues(id, found.Issues), nil
}

// ViewFromIssues is ViewFromTracker with what the tracker has just said.
func (w *Workspace) ViewFromIssues(id epic.TaskID, issues []tracker.Issue) *EpicView {
	dir, now := w.EpicDir(id), w.Now()
	p := &EpicView{Workspace: w, Folder: dir, Watch: watch.Open(dir, w.Now), State: epic.FromTracker(id, issues, now), Read: now}
	if h, held, err := p.Watch.Holder(); err == nil { // a first run has begun, and written nothing yet
		p.Holder, p.Held = h, held
	}
	return p
}

// Driven reports whether a run goes on, rather than a short command or none.
func (p *EpicView) Driven() bool { return p.Held && p.Holder.Drives() }

// recall takes from the journal where the epic's worktrees are, where the settings that would
// say so are broken.
func (p *EpicView) recall() {
	const key = "worktree.dir"
	if p.Workspace.Project.Broken == nil || !p.Workspace.Project.Origins.IsDefault(key) {
		return
	}
	if was := p.State.Run.Settings[key]; was != `""` {
		p.Workspace.Project.Config.Worktree.Dir = was
	}
}

// Tampered are the events that tell what others changed of the repository, as
// [orchestrator.TamperedIn].
func (p *EpicView) Tampered() []epic.Event { return orchestrator.TamperedIn(p.Events) }

// Unremoved is something of an epic that could not be removed.
type Unremoved struct {
	Path string // where it is, with the reference that is meant
	Why  string // in a clause
}

// Unremoved lists what of the epic could not be removed, and is there still, but for what is kept for a person.
func (p *EpicView) Unremoved() (left []Unremoved) {
	kept := p.Kept()
	isKept := func(path string) bool {
		return slices.ContainsFunc(kept, func(k Unremoved) bool { return k.Path == path })
	}
	for _, e := range p.Events {
		if !orchestrator.IsUnremoved(e) {
			continue
		}
		f, _ := e.Fact.(epic.LeftoverFound)
		if path, _, _ := strings.Cut(f.Path, " refs/"); cli.Exists(path) && !isKept(path) {
			left = append(left, Unremoved{Path: f.Path, Why: e.Reason})
		}
	}
	for _, u := range p.unremovedWorktrees() {
		if !isKept(u.Path) {
			left = append(left, u)
		}
	}
	return left
}

// unremovedWorktrees are those of tasks that are over, which the newest look at them found not to be removable, as
// where something in one is saved nowhere.
func (p *EpicView) unremovedWorktrees() (left []Unremoved) {
	why := map[epic.TaskID]string{}
	for _, e := range p.Events {
		if _, ok := e.Fact.(epic.AttemptCleaned); ok {
			why[e.Task] = e.Reason
		}
	}
	store, err := p.Workspace.Store(p.State.Epic)
	if err != nil {
		return nil
	}
	for _, t := range p.State.Tasks {
		a := t.Last()
		if a.Phase != epic.Ended || a.Unremoved.IsZero() || why[t.ID] == "" {
			continue
		}
		if dir := store.Name(string(t.ID), a.Number).Dir; cli.Exists(dir) {
			left = append(left, Unremoved{Path: dir, Why: fmt.Sprintf("%s: the worktree of attempt %d at %s: %s; take out of it what you need, then: rm -r %s && orch gc",
				orchestrator.Unremoved, a.Number, t.ID, text.Clause(why[t.ID], 1000), cli.Quote(dir))})
		}
	}
	return left
}
