package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/epicstore"
	"github.com/beadsorch/orch/orchestrator/journal"
)

// takeoverTimeout is how long a run that was robbed of its lock may take to notice, and to end:
// until then it holds the journal, and no other process writes there.
const takeoverTimeout = 30 * time.Second

// openJournal opens the epic's journal for append, replays it, and says who holds the epic now.
// It fails with a *epicstore.HeldError, a *epicstore.ForeignError, a *epicstore.ReplayError, and as a journal does.
func (o *Orchestrator) openJournal(ctx context.Context, me epicstore.Holder) (rec journal.Recovery, err error) {
	dir := o.fx.Dir
	for until := time.Now().Add(takeoverTimeout); ; {
		if o.journal, rec, err = journal.Open(dir, o.fx.Now); !errors.Is(err, journal.ErrHeld) {
			break
		}
		if lost := o.lock.Check(); lost != nil {
			return rec, lost
		}
		if ctx.Err() != nil || time.Now().After(until) {
			return rec, &epicstore.HeldError{Epic: o.fx.Epic, Holder: epicstore.ReadHolder(dir)}
		}
	}
	if err != nil {
		return rec, err
	}
	o.named = map[string]bool{}
	name := func(e epic.Event) {
		if IsUnremoved(e) {
			o.named[leftAt(e)] = true
		}
	}
	if o.loop.State, err = epicstore.ReplayEach(dir, rec.Records, name); err != nil {
		return rec, fmt.Errorf("%s: %w", filepath.Join(dir, journal.File), err)
	}
	if s := o.loop.State; s.Epic != "" && s.Epic != o.fx.Epic {
		return rec, &epicstore.ForeignError{Dir: dir, Epic: s.Epic}
	}
	return rec, epicstore.WriteHolder(dir, me)
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
	if err := o.lock.Check(); err != nil {
		return err
	}
	return o.fenced(o.journal.Taken())
}

// fenced is the error for a journal that was taken over, with who has it.
func (o *Orchestrator) fenced(err error) error {
	if errors.Is(err, journal.ErrFenced) {
		return &epicstore.FencedError{Epic: o.fx.Epic, Why: err.Error()}
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
		var gone *epicstore.FencedError
		if errors.As(o.stillOurs(), &gone) {
			lost()
			return
		}
	}
}
