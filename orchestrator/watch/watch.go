// Package watch follows an epic from outside the process that drives it: its state, its events,
// and what every agent does now.
//
// A [Watch] only reads files: the journal, and a small volatile file beside it that a run's
// [Publisher] replaces. Nobody waits for a reader. One that is slow misses what agents did
// meanwhile, and no event, since it reads these from the journal when it gets to it.
package watch

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/epicstore"
	"github.com/beadsorch/orch/orchestrator/journal"
)

// Event is something that happened in the epic, with the state after it.
type Event struct {
	epic.Event
	// Record is the journal's; its Seq is 0 for a remark of a run that the journal does not keep.
	Record journal.Record
	// State is the epic after the event.
	State epic.State
}

// Watch follows the epic of one folder. It is for one goroutine at a time.
type Watch struct {
	dir     string
	now     func() time.Time
	journal *journal.Reader
	state   epic.State
	broken  error // what the journal holds cannot be replayed
	resets  int

	activity Activity
	remarked int64 // the last remark of the activity's run that was told
}

// Open watches the epic in dir, an epic's folder. It reads nothing yet, and the folder need not
// exist.
func Open(dir string, now func() time.Time) *Watch {
	return &Watch{dir: dir, now: now, journal: journal.NewReader(dir), state: epic.NewState()}
}

// Read brings the watch up to what is so now, and calls each, which may be nil, for every event
// that has come since the last Read. Where the journal was replaced it begins anew with the
// one that is there, and Resets tells so.
//
// It fails with os.ErrNotExist where there is no journal, which a later Read may find; with an
// [*epicstore.ReplayError]; with each's error; and as [journal.Read] does.
func (w *Watch) Read(each func(Event) error) error {
	for {
		err := w.readJournal(each)
		if !errors.Is(err, journal.ErrReplaced) {
			return errors.Join(err, w.readActivity(each))
		}
		w.reset()
	}
}

func (w *Watch) reset() {
	w.state, w.broken = epic.NewState(), nil
	w.resets++
}

func (w *Watch) readJournal(each func(Event) error) error {
	err := w.journal.Read(func(r journal.Record) error {
		if w.broken != nil {
			return w.broken
		}
		next, e, err := epicstore.ReplayOn(w.dir, w.state, r)
		if err != nil {
			w.broken = err
			return err
		}
		w.state = next
		if each == nil {
			return nil
		}
		return each(Event{Event: e, Record: r, State: next})
	})
	switch {
	case errors.Is(err, journal.ErrReplaced):
		return err
	case errors.Is(err, fs.ErrNotExist) && w.state.Epic != "":
		w.reset()
	case err == nil && w.broken != nil:
		return w.broken
	}
	return err
}

// Resets is how often the journal was replaced or removed since Open: what was read before is no
// longer what the epic is.
func (w *Watch) Resets() int { return w.resets }

// Snapshot is the epic, and what its agents do, as of the last Read. The activity is empty where
// the newest run has ended, and where it has told of none for a while, as after it was killed.
func (w *Watch) Snapshot() (epic.State, Activity) {
	if !w.state.Run.Ended.IsZero() || !w.activity.fresh(w.state.Run.Number, w.now()) {
		return w.state, Activity{}
	}
	return w.state, w.activity
}

// Holder tells who drives the epic now; ok is false where nobody does. It fails where the lock
// cannot be asked for.
func (w *Watch) Holder() (h epicstore.Holder, ok bool, err error) {
	return epicstore.HeldBy(w.dir)
}

// Every is how often Follow looks, and about how often a run tells what its agents do.
const Every = 250 * time.Millisecond

// Follow calls Read again and again, and seen after each, until ctx ends or one of them fails: it
// never returns nil. A journal that is not there is waited for. It fails with ctx's cause, with
// seen's error, and as Read does.
func (w *Watch) Follow(ctx context.Context, each func(Event) error, seen func() error) error {
	tick := time.NewTicker(Every)
	defer tick.Stop()
	for {
		if err := w.Read(each); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if seen != nil {
			if err := seen(); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}
