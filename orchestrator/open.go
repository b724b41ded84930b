package orchestrator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/journal"
)

// ForeignError says that the journal in an epic's folder is that of another epic.
type ForeignError struct {
	Dir  string      // the folder
	Epic epic.TaskID // whose journal it is
}

// Error names the folder and the epic.
func (e *ForeignError) Error() string {
	return fmt.Sprintf("the journal in %s is that of epic %s", e.Dir, e.Epic)
}

// ReplayError says which record of a journal, whole in itself, does not belong there.
type ReplayError struct {
	Record int64 // its number, from 1
	Err    error // why
}

// Error names the record.
func (e *ReplayError) Error() string { return fmt.Sprintf("journal record %d: %v", e.Record, e.Err) }

// Unwrap is why.
func (e *ReplayError) Unwrap() error { return e.Err }

// Replay is ReplayIn without the texts that are in files.
func Replay(records []journal.Record) (epic.State, error) { return ReplayIn("", records) }

// ReplayIn folds the records of the journal in an epic's folder into a state. It fails with a
// [*ReplayError] when they do not belong together; the state is then that before the record.
func ReplayIn(dir string, records []journal.Record) (epic.State, error) {
	s := epic.NewState()
	for _, r := range records {
		next, _, err := ReplayOn(dir, s, r)
		if err != nil {
			return s, err
		}
		s = next
	}
	return s, nil
}

// ReplayOn applies one record more, and gives the event that it holds with its texts. It fails
// with a [*ReplayError] when the record does not belong behind those that s is made of.
func ReplayOn(dir string, s epic.State, r journal.Record) (epic.State, epic.Event, error) {
	var e epic.Event
	if err := json.Unmarshal(r.Event, &e); err != nil {
		return s, e, &ReplayError{Record: r.Seq, Err: err}
	}
	e = unshelve(dir, e)
	if err := epic.Check(s, e); err != nil {
		return s, e, &ReplayError{Record: r.Seq, Err: err}
	}
	return epic.Apply(s, e), e, nil
}

// takeoverPatience is how long a run that was robbed of its lock may take to notice, and to end:
// until then it holds the journal, and nobody else writes there.
const takeoverPatience = 30 * time.Second

// openJournal opens the epic's journal for append, replays it, and says who holds the epic now.
// It fails with a *HeldError, a *ForeignError, a *ReplayError, and as a journal does.
func (o *Orchestrator) openJournal(ctx context.Context, me Holder) (rec journal.Recovery, err error) {
	dir := o.fx.Dir
	for until := time.Now().Add(takeoverPatience); ; {
		if o.journal, rec, err = journal.Open(dir, o.fx.Now); !errors.Is(err, journal.ErrHeld) {
			break
		}
		if lost := o.lock.check(); lost != nil {
			return rec, lost
		}
		if ctx.Err() != nil || time.Now().After(until) {
			return rec, &HeldError{Epic: o.fx.Epic, Holder: readHolder(dir)}
		}
	}
	if err != nil {
		return rec, err
	}
	if o.loop.State, err = ReplayIn(dir, rec.Records); err != nil {
		return rec, fmt.Errorf("%s: %w", filepath.Join(dir, journal.File), err)
	}
	if s := o.loop.State; s.Epic != "" && s.Epic != o.fx.Epic {
		return rec, &ForeignError{Dir: dir, Epic: s.Epic}
	}
	o.nameUnremoved(rec.Records)
	return rec, writeHolder(dir, me)
}

// cutTail says what was found behind the last record; ok is false where nothing was.
func cutTail(rec journal.Recovery) (e epic.Event, ok bool) {
	e.Fact = epic.LeftoverFound{}
	switch {
	case rec.Repeated > 0:
		e.Reason = fmt.Sprintf("the journal said its last record again; %d bytes were cut and kept beside it", rec.TornBytes)
	case rec.TornBytes > 0:
		e.Reason = fmt.Sprintf("the journal ended in the middle of a record; %d bytes were cut and kept beside it", rec.TornBytes)
	}
	return e, rec.TornBytes > 0
}

// fenceEvery is how often a run looks whether it still holds what it took.
const fenceEvery = 200 * time.Millisecond

// stillOurs reports whether lock and journal are those that were taken. It fails with *FencedError.
func (o *Orchestrator) stillOurs() error {
	if err := o.lock.check(); err != nil {
		return err
	}
	return o.fenced(o.journal.Taken())
}

// fenced says of a journal that was taken away whose it was.
func (o *Orchestrator) fenced(err error) error {
	if errors.Is(err, journal.ErrFenced) {
		return &FencedError{Epic: o.fx.Epic, Why: err.Error()}
	}
	return err
}

// guardHold calls lost when lock or journal were taken away, until ctx ends. What the run
// writes is refused from then on, whoever calls first.
func (o *Orchestrator) guardHold(ctx context.Context, lost func()) {
	tick := time.NewTicker(fenceEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		var gone *FencedError
		if errors.As(o.stillOurs(), &gone) {
			lost()
			return
		}
	}
}
