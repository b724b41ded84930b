package orchestrator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/beadsorch/orch/orchestrator/engine"
	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/epicdir"
	"github.com/beadsorch/orch/orchestrator/epicstore"
	"github.com/beadsorch/orch/orchestrator/git"
	"github.com/beadsorch/orch/orchestrator/journal"
	"github.com/beadsorch/orch/orchestrator/land"
	"github.com/beadsorch/orch/orchestrator/reason"
	"github.com/beadsorch/orch/orchestrator/tamper"
)

// startsOthers reports whether doing a decision runs programs that orch does not know.
func startsOthers(a epic.Act) bool {
	return a == epic.CheckBase || a == epic.Start || a == epic.Iterate || a == epic.Gate
}

// remember keeps how the repository is as the run begins. Where the run before was killed, what
// has changed since that one began is put back first.
func (o *Orchestrator) remember(ctx context.Context, records []journal.Record) ([]epic.Event, error) {
	fx := o.fx
	fx.guard = tamper.New(tamper.Options{Repo: fx.Repo, Files: fx.files, Dir: fx.Dir, Attic: fx.Store.AtticPrefix(), Misplaced: fx.Store.Misplaced, Now: fx.Now})
	before := ""
	if run := lastRun(o.loop.State); run.Number > 0 && run.Ended.IsZero() {
		before = lastRemembered(records)
	}
	var said []tamper.Change
	found, digest, err := fx.guard.Begin(ctx, before, func(all []tamper.Change) error {
		said = all
		return o.loop.record(tamperingEvent(all, duringKilled))
	})
	if err != nil {
		return nil, fmt.Errorf("remembering how the repository is: %w", err)
	}
	o.remembered = digest
	found = slices.DeleteFunc(found, func(c tamper.Change) bool { return slices.Contains(said, c) })
	if len(found) == 0 {
		return nil, nil
	}
	return []epic.Event{tamperingEvent(found, duringKilled)}, nil
}

// lastRun is the newest run that started programs orch does not know: a command that settles the epic branch
// starts none, also where it was refused or killed.
func lastRun(s epic.State) epic.Run {
	if s.Run.Mode == epic.ModeSettle {
		return s.Looked().Run
	}
	return s.Run
}

// duringKilled is when something was changed that the run after finds.
const duringKilled = "while the run before went on"

// PutBack puts back what was changed of the repository in a run that was killed, and says in a
// line each what that was: before a person is asked what the repository may run. The journal
// has it first. It does nothing while another process holds the epic. It fails as the journal does, and
// when the repository cannot be read or written.
func PutBack(ctx context.Context, deps Deps) (said []string, err error) {
	if _, held, err := epicstore.HeldBy(deps.Dir); held || err != nil {
		return nil, err
	}
	files, err := epicdir.Open(deps.Dir)
	if err != nil {
		return nil, err
	}
	defer files.Close()
	guard := tamper.New(tamper.Options{Repo: deps.Repo, Files: files, Dir: deps.Dir, Attic: deps.Store.AtticPrefix(), Misplaced: deps.Store.Misplaced, Now: deps.Now})
	rec, err := journal.Read(deps.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	s, err := epicstore.ReplayIn(deps.Dir, rec.Records)
	if err != nil {
		return nil, err
	}
	if !s.Driven() || !lastRun(s).Ended.IsZero() {
		found, err := guard.Clear(nil) // before git is asked anything
		return changeLines(found), err
	}
	digest := lastRemembered(rec.Records)
	if found, err := guard.Foresee(ctx, digest); err != nil || len(found) == 0 {
		return nil, err
	}
	l, err := epicstore.Acquire(ctx, deps.Dir, deps.Epic, epicstore.Waiting{})
	var held *epicstore.HeldError
	if errors.As(err, &held) {
		return nil, nil // who came first does it
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.Unlock()) }()
	found, err := guard.Restore(ctx, digest, func(all []tamper.Change) error { return recordBetweenRuns(deps, tamperingEvent(all, duringKilled)) })
	return changeLines(found), err
}

func changeLines(found []tamper.Change) (said []string) {
	for _, c := range found {
		said = append(said, c.String())
	}
	return said
}

// Note writes down that a branch of the person's has all work of an epic that no run drives. It fails with a
// *epicstore.HeldError where one does, and as the journal does.
func Note(ctx context.Context, deps Deps, f epic.EpicLandedInto, reason string) (err error) {
	l, err := epicstore.Acquire(ctx, deps.Dir, deps.Epic, epicstore.Waiting{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Unlock()) }()
	return recordBetweenRuns(deps, epic.Event{Fact: f, Reason: reason})
}

// recordBetweenRuns writes an event into the journal of an epic that no run drives, and whose lock this
// process has.
func recordBetweenRuns(deps Deps, e epic.Event) error {
	j, rec, err := journal.Open(deps.Dir, deps.Now)
	if err != nil {
		return err
	}
	var events []any
	if cut, ok := cutTail(rec); ok {
		cut.At = deps.Now().UTC()
		events = append(events, cut)
	}
	e.At = deps.Now().UTC()
	if deps.Redact != nil {
		e = WithoutSecrets(deps.Redact, e)
	}
	kept, err := epicstore.Shelve(deps.Dir, e)
	if err == nil {
		_, err = j.AppendAll(append(events, kept)...)
	}
	return errors.Join(err, j.Close())
}

// lastRemembered is the digest in the newest start of a run.
func lastRemembered(records []journal.Record) string {
	for _, r := range slices.Backward(records) {
		var e epic.Event
		if json.Unmarshal(r.Event, &e) != nil {
			continue
		}
		if f, ok := e.Fact.(epic.RunStarted); ok {
			return f.Guarded
		}
	}
	return ""
}

// errNotWritten says that the journal did not take what was to be put back, so that it is not.
var errNotWritten = errors.New("the journal was not written")

// inspect compares the repository with how it was when the run began, has the journal say what
// has one right value and will be put back, puts it back, and answers with what it could not
// say before. Of agents that run at a time each may have done it.
func (x *dispatch) inspect(ctx context.Context, d epic.Decision, tell func(epic.Event) bool) []epic.Event {
	if x.guard == nil {
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	event := func(found []tamper.Change) epic.Event {
		e := tamperingEvent(found, x.suspects(d))
		e.Task, e.Attempt = d.Task, d.Attempt
		return e
	}
	said := map[tamper.Change]bool{}
	say := func(found []tamper.Change) error {
		for _, c := range found {
			said[c] = true
		}
		if !tell(event(found)) {
			return errNotWritten
		}
		return nil
	}
	found, err := x.guard.Check(ctx, say)
	mended, mendErr := x.Store.Mend(ctx, func(all []engine.Leftover) error { return say(pointerChanges(all)) })
	found = append(found, pointerChanges(mended)...)
	lease, leaseErr := x.keepLease(ctx, say)
	found = append(found, lease...)
	found = slices.DeleteFunc(found, func(c tamper.Change) bool { return said[c] })
	if err = errors.Join(err, mendErr, leaseErr); errors.Is(err, errNotWritten) {
		return nil // the run is over, and not by itself: the next one finds all of it
	}
	var failed []epic.Event
	if tamper.Transient(err) { // nobody tampered; the next look compares again
		failed = []epic.Event{machineFailed("comparing the repository with how it was", err)}
	} else if err != nil {
		found = append(found, tamper.Change{Path: "the repository", What: "could not be compared, or not be put back: " + err.Error(), Fix: "orch doctor"})
	}
	if len(found) == 0 {
		return failed
	}
	return append(failed, event(found))
}

// pointerChanges are the changed pointer files of worktrees, as changes.
func pointerChanges(all []engine.Leftover) (changes []tamper.Change) {
	for _, m := range all {
		changes = append(changes, tamper.Change{Path: m.Path, What: m.What, Restored: true})
	}
	return changes
}

// countGate counts the gates that run.
func (x *dispatch) countGate(is bool, n int) {
	if is {
		x.mu.Lock()
		x.gating += n
		x.mu.Unlock()
	}
}

// suspects says which agents may have made the changes that were found.
func (x *dispatch) suspects(d epic.Decision) string {
	x.mu.Lock()
	defer x.mu.Unlock()
	var who []string
	for id := range x.activity {
		who = append(who, string(id))
	}
	if d.Task != "" && !slices.Contains(who, string(d.Task)) {
		who = append(who, string(d.Task))
	}
	slices.Sort(who)
	if x.gating > 0 {
		who = append(who, "the gate")
	}
	return "while " + strings.Join(who, ", ") + " ran"
}

// tamperingEvent is the event for changes that were found.
func tamperingEvent(found []tamper.Change, when string) epic.Event {
	e, f := epic.Event{Code: reason.Tampered, Reason: found[0].String()}, epic.TamperingFound{}
	var text strings.Builder
	for _, c := range found {
		fmt.Fprintln(&text, c)
		if len(f.Files) < engine.MaxFiles {
			f.Files = append(f.Files, c.Path)
		}
	}
	const named = 5
	for _, c := range found[1:min(len(found), named)] {
		e.Reason += "; " + c.String()
	}
	if len(found) > named {
		e.Reason += fmt.Sprintf("; and %d more", len(found)-named)
	}
	f.Changes = text.String()
	e.Reason, e.Fact = when+": "+e.Reason, f
	return e
}

// keepLease puts the lease back when it was deleted, or moved to what is no lease: while this
// process has the epic's lock, no other may take the epic over. Another run's is left: it has.
func (x *dispatch) keepLease(ctx context.Context, say tamper.Say) ([]tamper.Change, error) {
	if x.lease.Name == "" {
		return nil, nil
	}
	now, err := x.Repo.Resolve(ctx, x.lease.Name)
	c := tamper.Change{Path: x.lease.Name, What: "was removed", Restored: true}
	switch {
	case errors.Is(err, git.ErrNoSuchRef):
	case err != nil:
		return nil, err
	case now == x.lease.Commit, land.IsLease(ctx, x.Repo, string(x.Epic), now):
		return nil, nil
	default:
		c.What = fmt.Sprintf("was moved to %.12s", now)
	}
	if err := say([]tamper.Change{c}); err != nil {
		return nil, err
	}
	err = land.Renew(ctx, x.Repo, x.lease, now)
	if errors.Is(err, git.ErrRefMoved) {
		return nil, nil // it is there
	}
	c.Restored = err == nil
	return []tamper.Change{c}, err
}

// TamperedIn are those of an epic's events, with their texts, that tell what others changed of the
// repository, the epic branch that was put back among it: since the newest run of orch run began,
// and while the one before was killed. What each says in full is in its fact.
func TamperedIn(all []epic.Event) (events []epic.Event) {
	over := false // the run before ended by itself
	for _, e := range all {
		switch f := e.Fact.(type) {
		case epic.RunStarted:
			if f.Mode == epic.ModeRun && over {
				events, over = nil, false
			}
		case epic.RunEnded:
			over = true
		case epic.TamperingFound:
			events = append(events, e)
		case epic.BranchRestored:
			if e.Code == reason.Tampered {
				e.Fact = epic.TamperingFound{Files: []string{"the epic branch"}, Changes: e.Reason}
				e.Reason = "while agents worked: " + e.Reason
				events = append(events, e)
			}
		}
	}
	return events
}
