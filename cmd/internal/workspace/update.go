package workspace

import (
	"context"
	"errors"
	"time"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/explain"
	"github.com/beadsorch/orch/orchestrator"
	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/git"
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
	if err == nil && !b.Running {
		p.State = p.State.WithBranch(b.Moved)
	}
	return b, errors.Join(err, p.seekLandings(ctx))
}

// seekLandings brings the view up to date with what the epic branch has of the work that other clones
// have landed: where there is none, and none was, with what is checked out, from which it would be made.
func (p *EpicView) seekLandings(ctx context.Context) error {
	if len(p.State.Sought()) == 0 {
		return nil
	}
	store, err := p.Workspace.Store(p.State.Epic)
	if err != nil {
		return err
	}
	tip, err := land.Tip(ctx, p.Workspace.Repo, store.EpicBranch())
	switch {
	case err != nil:
		return err
	case tip == "" && p.State.Tip != "":
		tip = p.State.Tip
	case tip == "":
		if tip, err = p.Workspace.Repo.Resolve(ctx, "HEAD"); errors.Is(err, git.ErrNoSuchRef) {
			return nil // a repository without a commit
		} else if err != nil {
			return err
		}
	}
	events, err := orchestrator.SeekElsewhere(ctx, p.Workspace.Repo, tip, p.State)
	p.State = p.State.WithElsewhere(events, p.Workspace.Invocation.Now())
	return err
}

// CurrentView is an epic as it is now by what the tracker has just said: with its journal, where orch has
// driven it. It fails as [Workspace.ViewIn] and [EpicView.Standing] do.
func (w *Workspace) CurrentView(ctx context.Context, id epic.TaskID, issues []tracker.Issue) (*EpicView, error) {
	p, err := w.ViewOf(ctx, id)
	if err != nil || p == nil {
		if err == nil {
			p = w.ViewFromIssues(id, issues)
			err = p.seekLandings(ctx)
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
	return epic.PromiseOf(p.State, p.Workspace.Invocation.Now())
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
// one whose program is not there.
func MayUseEarlierReading(err error) bool {
	var gone *cli.Error
	return err != nil && !errors.As(err, &gone)
}

// ApplySurvey brings the view up to date with the tracker's result: issues, or err. late says that it had no
// time. Where it failed, the newest reading of a run stands in, if it is not too old; all is done only
// by one that had no time.
func (p *EpicView) ApplySurvey(issues []tracker.Issue, err error, late bool) {
	now := p.Workspace.Invocation.Now()
	if err == nil {
		_, err = epic.FindEpic(issues, p.State.Epic) // an empty tracker is none, and no reason to be done
	}
	var missing *epic.ErrNotEpic
	switch {
	case err == nil:
		p.State, p.Read = epic.WithSurvey(p.State, issues, now), now
		return
	case errors.As(err, &missing):
		p.State = p.State.WithoutTracker(reason.TrackerDrift, "the tracker has no epic "+p.State.Epic.String()+" any more")
	case MayUseEarlierReading(err) && !p.State.ReadAt().IsZero() && now.Sub(p.LastRead()) <= MaxReadingAge && (late || epic.PromiseOf(p.State, now).Promise != epic.LoopDone):
	default:
		p.State = p.State.WithoutTracker(reason.TrackerDown, text.Head(err.Error()))
	}
	p.ReadWhy = text.Head(err.Error())
}

// LastRead is when a run or a short command last read the tracker, as far as the journal tells: a run that
// goes on does so every few seconds, and each does before it ends.
func (p *EpicView) LastRead() time.Time {
	switch {
	case p.Held && p.Holder.Drives():
		return p.Workspace.Invocation.Now()
	case len(p.Records) == 0:
		return p.Read
	}
	return p.Records[len(p.Records)-1].At
}

// WithPromise is the error of a command with what the epic needs next that the command, or the task of
// which it is, is about: an epic, or a task of one that orch has driven.
func WithPromise(ctx context.Context, a *cli.Invocation, id string, err error) error {
	if _, said := cli.Exited(err); said || ctx.Err() != nil {
		return err
	}
	e := explain.Error(err)
	p, _, lookErr := Look(ctx, a, []string{id})
	fault := JournalFault(lookErr)
	if lookErr != nil && fault == nil || e.Promise != "" || e.Code == usageCode {
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
