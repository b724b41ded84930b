package workspace

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/beadsorch/orch/beads"
	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/explain"
	"github.com/beadsorch/orch/orchestrator"
	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/git"
	"github.com/beadsorch/orch/orchestrator/journal"
	"github.com/beadsorch/orch/orchestrator/land"
	"github.com/beadsorch/orch/orchestrator/reason"
	"github.com/beadsorch/orch/orchestrator/text"
	"github.com/beadsorch/orch/orchestrator/tracker"
)

// All that report how an epic stands bring its view up to date by the functions here, and
// answer from its State.

// Update brings the view up to date with the tracker and git. It fails as [EpicView.Standing] does.
func (p *EpicView) Update(ctx context.Context) (Standing, error) {
	p.refresh(ctx)
	return p.RefreshBranch(ctx)
}

// RefreshBranch brings the view up to date with the epic branch. It fails as [EpicView.Standing] does.
func (p *EpicView) RefreshBranch(ctx context.Context) (Standing, error) {
	b, err := p.Standing(ctx)
	if err == nil && !p.Held {
		p.State = p.State.WithBranch(b.Moved).WithCheckout(b.Held, b.Busy)
	}
	return b, errors.Join(err, p.seekLandings(ctx))
}

// seekLandings brings the view up to date with what the epic branch has of the work that other clones
// have landed: where there is none, and none was, with what is checked out, from which it would be made.
func (p *EpicView) seekLandings(ctx context.Context) error {
	if !p.Held {
		p.State = p.State.Left(p.Workspace.Now())
	}
	if len(p.State.Sought()) == 0 {
		return nil
	}
	store, err := p.Workspace.Store(p.State.Epic)
	if err != nil {
		return err
	}
	tip, err := land.Tip(ctx, p.Workspace.Project.Repo, store.EpicBranch())
	switch {
	case err != nil:
		return err
	case tip == "" && p.State.Tip != "":
		tip = p.State.Tip
	case tip == "":
		if tip, err = p.Workspace.Project.Repo.Resolve(ctx, "HEAD"); errors.Is(err, git.ErrNoSuchRef) {
			return nil // a repository without a commit
		} else if err != nil {
			return err
		}
	}
	events, err := orchestrator.SeekElsewhere(ctx, p.Workspace.Project.Repo, tip, p.State)
	p.State = p.State.WithElsewhere(events, p.Workspace.Now())
	return err
}

// CurrentView is an epic as it is now by what the tracker has just said: with its journal, where orch has
// driven it. It fails as [Workspace.ViewIn] and [EpicView.Standing] do.
func (w *Workspace) CurrentView(ctx context.Context, id epic.TaskID, issues []tracker.Issue) (*EpicView, error) {
	p, err := w.ViewOf(ctx, id)
	if err != nil || p == nil {
		if err == nil {
			p = w.ViewFromIssues(id, issues)
			_, err = p.RefreshBranch(ctx)
		}
		return p, err
	}
	p.ApplySurvey(issues, nil, false)
	_, err = p.RefreshBranch(ctx)
	return p, err
}

// Promise says what the epic needs next, by the tracker's newest word and the epic branch as it
// is. Where git does not answer, by what the journal knows of the branch.
func (p *EpicView) Promise(ctx context.Context) epic.Outlook {
	_, _ = p.Update(ctx)
	return epic.PromiseOf(p.State, p.Workspace.Now())
}

// statusPatience is how long status waits for the tracker before it goes by
// what the journal knows.
const statusPatience = 5 * time.Second

// refresh brings the view up to date with the tracker. When that does not answer, the view
// reports it.
func (p *EpicView) refresh(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, statusPatience)
	defer cancel()
	t, err := p.Workspace.Tracker(ctx)
	var issues []tracker.Issue
	if err == nil {
		issues, err = t.Survey(ctx)
	}
	p.ApplySurvey(issues, err, ctx.Err() != nil)
}

// MaxReadingAge is how old a reading of the tracker may be that stands in for one that does not come in time.
const MaxReadingAge = 10 * time.Minute

// MayUseEarlierReading reports whether an earlier reading stands in for a tracker that failed with err: not for
// one whose program is not there, or whose file is damaged: that is its answer.
func MayUseEarlierReading(err error) bool {
	var (
		gone    *cli.Error
		damaged *beads.DamagedError
	)
	return err != nil && !errors.As(err, &gone) && !errors.As(err, &damaged)
}

// TrackerFault is why a tracker's answer does not tell how an epic stands.
type TrackerFault struct {
	// Code is TRACKER_DOWN, TRACKER_DAMAGED or TRACKER_DRIFT.
	Code reason.Code
	// Why is the same in a clause.
	Why string
	// Err is what it comes from.
	Err error
}

// TrackerFault judges a tracker's result, issues or err, for an epic; nil where it has the epic. All who ask the
// tracker for one go by it.
func (w *Workspace) TrackerFault(issues []tracker.Issue, err error, id epic.TaskID) *TrackerFault {
	if err == nil {
		if _, err = epic.FindEpic(issues, id); err == nil {
			return nil
		}
		if len(issues) == 0 { // an empty tracker is none, and no reason to be done
			err = cmp.Or(w.emptyFile(), err)
		}
	}
	var (
		missing *epic.ErrNotEpic
		damaged *beads.DamagedError
	)
	switch {
	case errors.As(err, &missing) && !journal.Begun(w.EpicDir(id)):
		return &TrackerFault{reason.TrackerDrift, text.Head(err.Error()), err}
	case errors.As(err, &missing):
		why := "the tracker has no epic " + id.String() + " any more"
		return &TrackerFault{reason.TrackerDrift, why, &cli.Error{Code: string(reason.TrackerDrift), What: why, Exit: cli.ExitNeedsYou, Err: err, Promise: epic.LoopError,
			Fix: []string{"bring the tracker back that had it; orch doctor", w.TasksCommand() + " list"}}}
	case errors.As(err, &damaged):
		return &TrackerFault{reason.TrackerDamaged, text.Head(explain.Error(err).What), err}
	}
	return &TrackerFault{reason.TrackerDown, text.Head(err.Error()), err}
}

// emptyFile is the error of an embedded tracker without any task; nil where it is none, or its file is not there.
func (w *Workspace) emptyFile() error {
	if w.trackerKind().name != "file" {
		return nil
	}
	f, err := w.Files()
	if err != nil {
		return nil
	}
	return f.Empty()
}

// ApplySurvey brings the view up to date with the tracker's result: issues, or err. late says that it had no
// time. Where it failed, the newest reading of a run stands in, if it is not too old; all is done only
// by one that had no time.
func (p *EpicView) ApplySurvey(issues []tracker.Issue, err error, late bool) {
	now := p.Workspace.Now()
	fault := p.Workspace.TrackerFault(issues, err, p.State.Epic)
	switch {
	case fault == nil:
		p.State, p.Read = epic.WithSurvey(p.State, issues, now), now
		return
	case MayUseEarlierReading(err) && !p.State.ReadAt().IsZero() && now.Sub(p.LastRead()) <= MaxReadingAge && (late || epic.PromiseOf(p.State, now).Promise != epic.LoopDone):
	default:
		p.State = p.State.WithoutTracker(fault.Code, fault.Why)
	}
	p.ReadWhy = fault.Why
}

// LastRead is when a run or a short command last read the tracker, as far as the journal tells: a run that
// goes on does so every few seconds, and each does before it ends.
func (p *EpicView) LastRead() time.Time {
	switch {
	case p.Held && p.Holder.Drives():
		return p.Workspace.Now()
	case len(p.Records) == 0:
		return p.Read
	}
	return p.Records[len(p.Records)-1].At
}

// WithPromise is the error of a command about an epic with what that needs next. Where id is none, as that of a
// task of one, the error stays as it is.
func WithPromise(ctx context.Context, a *cli.Invocation, id string, err error) error {
	return withPromise(ctx, a, id, false, err)
}

// WithTaskPromise is the error of a command about a task with what the epic needs next that has it, where orch has
// driven that.
func WithTaskPromise(ctx context.Context, a *cli.Invocation, id string, err error) error {
	return withPromise(ctx, a, id, true, err)
}

func withPromise(ctx context.Context, a *cli.Invocation, id string, ofTask bool, err error) error {
	if _, said := cli.Exited(err); said || ctx.Err() != nil {
		return err
	}
	e := explain.Error(err)
	p, task, lookErr := Look(ctx, a, []string{id})
	fault := JournalFault(lookErr)
	if task != nil && !ofTask || lookErr != nil && fault == nil || e.Promise != "" || e.Code == usageCode {
		return err
	}
	with := *e
	if with.Err = err; fault != nil {
		with.Promise = fault.Promise
	} else {
		with.Promise = p.Promise(ctx).Promise
	}
	return &with
}

// usageCode is the code of the error that a command line is not understood.
const usageCode = "USAGE"
