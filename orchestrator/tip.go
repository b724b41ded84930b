package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/fault"
	"github.com/beadsorch/orch/orchestrator/git"
	"github.com/beadsorch/orch/orchestrator/land"
	"github.com/beadsorch/orch/orchestrator/reason"
)

// epicBranch is the branch that the epic's tasks land on.
type epicBranch struct {
	repo  *git.Repo
	epic  string
	name  string
	lease *git.Ref // of the run
}

func (x *dispatch) branch() epicBranch {
	return epicBranch{repo: x.Repo, epic: string(x.Epic), name: x.Store.EpicBranch(), lease: &x.lease}
}

// look sees whether the epic branch is where it was left, and who has it checked out.
func (b epicBranch) look(ctx context.Context, s epic.State) epic.Event {
	e, err := b.see(ctx, s)
	if err != nil {
		return machineFailed("looking at the epic branch", err)
	}
	return e
}

// see is look for who takes errors. It fails as git does, and when a folder cannot be read.
func (b epicBranch) see(ctx context.Context, s epic.State) (epic.Event, error) {
	e, err := b.compare(ctx, s)
	if err != nil {
		return epic.Event{}, err
	}
	at, held, err := b.repo.CheckedOut(b.name)
	if err != nil || !held {
		return e, err
	}
	switch f := e.Fact.(type) {
	case epic.TipSeen:
		f.Held, f.Busy = heldBy(at), at.Busy
		e.Fact = f
	case epic.BranchMoved:
		f.Held, f.Busy = heldBy(at), at.Busy
		e.Fact = f
	}
	return e, nil
}

// heldBy names a work tree that has the epic branch checked out.
func heldBy(at git.Checkout) string {
	if at.Path == "" {
		return at.GitDir
	}
	return at.Path
}

// compare answers with TipSeen, or with BranchMoved and what it says of the landed work. What
// the branch no longer has is kept by a reference.
func (b epicBranch) compare(ctx context.Context, s epic.State) (epic.Event, error) {
	m, err := CompareTip(ctx, b.repo, b.name, s)
	switch {
	case err != nil:
		return epic.Event{}, err
	case m.From == "":
		return epic.Event{Fact: epic.TipSeen{}}, nil
	case m.To == "" && s.Ended():
		return epic.Event{Fact: epic.TipSeen{Gone: true}}, nil
	}
	if !m.Forward {
		if kept, err := land.Keep(ctx, b.repo, string(s.Epic), m.From); err == nil { // else it has been collected
			m.Kept = kept
		}
	}
	return epic.Event{Fact: epic.BranchMoved{TipMove: m, Since: s.TipSeenAt()}, Code: reason.EpicMoved, Reason: m.String()}, nil
}

// CompareTip says where the epic branch is, which the state has at its Tip, and changes nothing.
// The zero TipMove says that it is there. It fails as git does.
func CompareTip(ctx context.Context, repo *git.Repo, branch string, s epic.State) (epic.TipMove, error) {
	d, err := land.Compare(ctx, repo, branch, s.Tip, landedCommits(s))
	if err != nil || d.To == s.Tip {
		return epic.TipMove{}, err
	}
	m := epic.TipMove{From: s.Tip, To: d.To, Forward: d.Forward, Foreign: d.Foreign}
	m.Lost, err = lostOf(ctx, repo, s, d.To, d.Lost)
	return m, err
}

// lostOf is what of the landed work is not on the branch at to, without what a commit there is known
// to have: the commits that landed may have been collected since.
func lostOf(ctx context.Context, repo *git.Repo, s epic.State, to epic.Commit, lost []string) (ids []epic.TaskID, err error) {
	for _, name := range lost {
		id := epic.TaskID(name)
		if at := s.MergedAt(id); at != "" && to != "" {
			has, err := repo.IsAncestor(ctx, at, to)
			if err != nil && !errors.Is(err, git.ErrNoSuchRef) {
				return nil, err
			}
			if has && err == nil {
				continue
			}
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// landedCommits are what has landed, for package land.
func landedCommits(s epic.State) map[string]git.Commit {
	out := map[string]git.Commit{}
	for id, c := range s.Landings() {
		out[string(id)] = c
	}
	return out
}

// pin has the tip reference follow the state.
func (b epicBranch) pin(ctx context.Context, s epic.State) []epic.Event {
	if err := land.Pin(ctx, b.repo, string(s.Epic), s.Tip); err != nil {
		return []epic.Event{machineFailed("keeping the tip of the epic branch", err)}
	}
	return nil
}

// landed reports whether the last landing left the branch at a commit: the tip reference moves in
// the same transaction as the branch.
func (b epicBranch) landed(ctx context.Context, c epic.Commit) bool {
	at, err := b.at(ctx, land.TipRef(b.epic))
	return err == nil && at == c
}

// restore puts the epic branch back where it was left. What was there is kept by a reference. Where
// somebody has moved it again it answers as look does.
func (b epicBranch) restore(ctx context.Context, s epic.State, m epic.TipMove, code reason.Code) epic.Event {
	at, held, err := b.repo.CheckedOut(b.name)
	switch {
	case err != nil:
		return machineFailed("looking for work trees", err)
	case held:
		return epic.Event{Fact: epic.BranchHeld{Dir: heldBy(at), Busy: at.Busy}, Code: reason.CheckedOut, Reason: heldBy(at)}
	}
	now, err := b.at(ctx, b.name)
	switch {
	case err == nil && now == m.From && s.Tip == m.From: // an older look said that it was elsewhere
		return epic.Event{Fact: epic.TipSeen{}}
	case err == nil && now != m.To && !s.Moved.Accepted: // it was moved again: what is there now decides
		return b.look(ctx, s)
	case err == nil && now == "":
		err = errors.Join(land.Clear(ctx, b.repo, b.name), land.Clear(ctx, b.repo, land.TipRef(string(s.Epic))))
	}
	if err != nil {
		return machineFailed("putting the epic branch back", err)
	}
	kept := ""
	if m.To = now; m.To != "" {
		if kept, err = land.Keep(ctx, b.repo, string(s.Epic), m.To); err != nil {
			return machineFailed("keeping what the epic branch had", err)
		}
	}
	err = land.Move(ctx, b.repo, land.Step{Branch: b.name, From: m.To, To: m.From, Lease: *b.lease, Pin: land.TipRef(string(s.Epic))})
	if e, again := b.movedMeanwhile(ctx, s, m, err); again {
		return e
	}
	if err != nil {
		return machineFailed("putting the epic branch back", err)
	}
	reason := fmt.Sprintf("%s; it is back at %.12s", m, m.From)
	if kept != "" {
		reason += ", and what was there is kept at " + kept
	}
	return epic.Event{Fact: epic.BranchRestored{TipMove: epic.TipMove{From: m.From, To: m.To, Forward: m.Forward, Lost: m.Lost, Foreign: m.Foreign, Kept: kept}}, Code: code, Reason: reason}
}

// movedMeanwhile looks anew where the branch could not be put back since somebody moved it just then.
func (b epicBranch) movedMeanwhile(ctx context.Context, s epic.State, m epic.TipMove, err error) (e epic.Event, again bool) {
	if !errors.Is(err, git.ErrRefMoved) || s.Moved.Accepted {
		return epic.Event{}, false
	}
	if now, err := b.at(ctx, b.name); err != nil || now == m.To { // then it is the lease
		return epic.Event{}, false
	}
	return b.look(ctx, s), true
}

// machineFailed is the answer when something failed that no agent can be blamed for.
func machineFailed(what string, err error) epic.Event {
	why, ok := fault.Machine(err)
	if !ok {
		why = err.Error()
	}
	return epic.Event{Fact: epic.MachineFailed{}, Code: reason.Machine, Reason: what + ": " + why}
}

// leftAt says where the epic branch was left, and makes it at the base where there is nothing to
// lose. It fails with a [*git.CheckedOutError], which moving the branch would leave stale, unless all is
// done, and as git does.
func (o *Orchestrator) leftAt(ctx context.Context) (epic.Commit, error) {
	fx, s := o.fx, o.loop.State
	at, held, err := fx.Repo.CheckedOut(fx.Store.EpicBranch())
	switch {
	case err != nil:
		return "", err
	case held && (len(s.Landings()) == 0 || epic.PromiseOf(s, fx.Now()).Promise != epic.LoopDone):
		return "", &git.CheckedOutError{Branch: fx.Store.EpicBranch(), Path: at.Path, Reason: at.Busy}
	case held: // what is done needs no landing, and whether there is more the tracker says
		o.held = at
	}
	seen, err := fx.branch().at(ctx, fx.Store.EpicBranch())
	if err != nil {
		return "", err
	}
	if o.pinned, err = fx.branch().at(ctx, land.TipRef(string(fx.Epic))); err != nil {
		return "", err
	}
	landed := s.Landings()
	if s.Tip != "" && o.pinned == "" && len(landed) > 0 {
		if _, err := fx.Repo.Tree(ctx, s.Tip); errors.Is(err, git.ErrNoSuchRef) {
			return s.Tip, nil // collected, and which landing was the last cannot be asked
		}
	}
	switch {
	case len(landed) > 0 && o.pinned == "": // an older orch wrote the journal, or the reference is lost
		return o.newest(ctx, landed)
	case len(landed) == 0 && len(s.GreenStacks()) == 0 && seen == "" && (o.pinned == "" || s.Driven()):
		return fx.Store.EnsureEpic(ctx, o.base)
	case s.Tip != "":
		return s.Tip, nil
	case o.pinned != "": // the journal is lost, not the work
		return o.pinned, nil
	}
	return seen, nil
}

// checkTip records where the epic branch is now.
func (o *Orchestrator) checkTip(ctx context.Context) error {
	fx, s := o.fx, o.loop.State
	e, err := fx.branch().see(ctx, s)
	if err != nil {
		return fmt.Errorf("looking at the epic branch: %w", err)
	}
	if f, ok := e.Fact.(epic.BranchMoved); ok && o.pinned == "" && f.Forward && len(s.Landings()) > 0 {
		// As an older orch left it, which had no reference for the tip: all landings hold.
		e.Reason = "first run with a reference for the tip: " + e.Reason
	}
	if f, ok := e.Fact.(epic.TipSeen); ok {
		err := land.Pin(ctx, fx.Repo, string(fx.Epic), s.Tip)
		if err != nil && !f.Gone { // gone, and not needed: what it had is kept, where it is there still
			return fmt.Errorf("keeping the tip of the epic branch: %w", err)
		}
	}
	return o.loop.record(e)
}

// tip is what a reference points at; empty when there is none.
func (b epicBranch) at(ctx context.Context, ref string) (epic.Commit, error) {
	if strings.HasSuffix(ref, "/lease") { // which is no commit
		c, err := b.repo.Resolve(ctx, ref)
		if errors.Is(err, git.ErrNoSuchRef) {
			return "", nil
		}
		return c, err
	}
	return land.Tip(ctx, b.repo, ref)
}

// newest is the commit that landed last: the one that no other has among its ancestors.
func (o *Orchestrator) newest(ctx context.Context, landings map[epic.TaskID]epic.Commit) (last epic.Commit, err error) {
	var commits []epic.Commit
	for _, c := range landings {
		commits = append(commits, c)
	}
	slices.Sort(commits)
	for _, c := range commits {
		later := last == ""
		if !later {
			if later, err = o.fx.Repo.IsAncestor(ctx, last, c); err != nil && !errors.Is(err, git.ErrNoSuchRef) {
				return "", err
			}
		}
		if later {
			last = c
		}
	}
	return last, nil
}

// RestoreBranch puts the epic branch back where the last landing left it, as a person asks, also where
// a run has taken what others put on it; only
// between Open and Run. It fails when it is there, with a [*CollectedError], as [worktree.Store.CheckRefs] does, and as the journal does.
func (o *Orchestrator) RestoreBranch(ctx context.Context) (epic.TipMove, error) {
	if err := o.fx.Store.CheckRefs(ctx, false); err != nil {
		return epic.TipMove{}, err
	}
	m, foreign := o.loop.State.Moved.TipMove, o.loop.State.Foreign()
	switch pending := o.loop.State.Moved.Pending(); {
	case pending && foreign.From != "":
		m.From = foreign.From
	case foreign.From != "":
		m = foreign
	case !pending:
		at, err := o.fx.branch().at(ctx, o.fx.Store.EpicBranch())
		if err != nil || at != "" {
			return epic.TipMove{}, errors.Join(err, ErrInPlace)
		}
		m = epic.TipMove{From: o.loop.State.Tip} // gone after all was done
	}
	if _, err := o.fx.Repo.Tree(ctx, m.From); errors.Is(err, git.ErrNoSuchRef) {
		return epic.TipMove{}, &CollectedError{Commit: m.From}
	}
	e := o.fx.branch().restore(ctx, o.loop.State, m, "")
	switch f := e.Fact.(type) {
	case epic.TipSeen:
		return m, errors.Join(o.loop.record(e), ErrInPlace)
	case epic.BranchRestored:
		return f.TipMove, o.loop.record(e)
	}
	return epic.TipMove{}, errors.Join(errors.New(e.Reason), o.loop.record(e))
}

// AcceptBranch takes the epic branch as it is, or where it is gone makes it at the base, as a person
// asks; only between Open and Run. What has landed and is not held there is open again. It
// fails with ErrInPlace, with ErrTaken, and as git and the journal do.
func (o *Orchestrator) AcceptBranch(ctx context.Context) (epic.TipMove, error) {
	m := o.loop.State.Moved.TipMove
	switch pending := o.loop.State.Moved.Pending(); {
	case !pending && o.loop.State.Foreign().From != "":
		return m, ErrTaken
	case !pending:
		return m, ErrInPlace
	}
	if m.To == "" {
		if err := land.Clear(ctx, o.fx.Repo, o.fx.Store.EpicBranch()); err != nil {
			return m, fmt.Errorf("making the epic branch: %w", err)
		}
		if err := o.fx.Repo.UpdateRefs(ctx, []git.RefChange{{Name: o.fx.Store.EpicBranch(), New: o.base}}); err != nil {
			return m, fmt.Errorf("making the epic branch: %w", err)
		}
		lost, err := land.Lost(ctx, o.fx.Repo, o.base, landedCommits(o.loop.State))
		if err != nil {
			return m, fmt.Errorf("asking what the epic branch holds: %w", err)
		}
		m.To = o.base
		if m.Lost, err = lostOf(ctx, o.fx.Repo, o.loop.State, o.base, lost); err != nil {
			return m, fmt.Errorf("asking what the epic branch holds: %w", err)
		}
	}
	if err := o.loop.record(epic.Event{Fact: epic.BranchAccepted{TipMove: m}, Reason: "by a person: " + m.String()}); err != nil {
		return m, err
	}
	return m, land.Pin(ctx, o.fx.Repo, string(o.fx.Epic), m.To)
}

// CollectedError says that the epic branch cannot be put back, since git no longer has the commit.
type CollectedError struct{ Commit epic.Commit }

// Error names the commit.
func (e *CollectedError) Error() string {
	return fmt.Sprintf("the last landing left the epic branch at %.12s, and this repository does not have that commit any more", e.Commit)
}

// ErrInPlace says that the epic branch is where the last landing left it.
var ErrInPlace = errors.New("the epic branch is where the last landing left it")

// ErrTaken says that the epic branch is taken as it is already, with what others put on it.
var ErrTaken = errors.New("the epic branch is taken as it is already, with what others put on it")
