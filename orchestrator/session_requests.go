package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/epicdir"
	"github.com/beadsorch/orch/orchestrator/epicstore"
	"github.com/beadsorch/orch/orchestrator/redact"
)

// SessionRequests leaves requests with the steps of a session's loop, and has the journal record them.
type SessionRequests struct {
	Dir    string           // the epic's folder
	Epic   epic.TaskID      // the epic
	PID    int              // of the process, for others to see
	Host   string           // the machine it runs on
	Redact *redact.Redactor // takes secrets out of what is written; may be nil
	Now    func() time.Time // the clock
}

// Post leaves a request as [PostAwaitedRequest] does, durably: a crash of the machine does not lose it either.
func (w SessionRequests) Post(e epic.Event) (id string, err error) {
	if w.Redact != nil {
		e = WithoutSecrets(w.Redact, e)
	}
	if id, err = PostAwaitedRequest(w.Dir, e, w.Now()); err != nil {
		return "", err
	}
	files, err := epicdir.Open(w.Dir)
	if err != nil {
		return "", err
	}
	defer files.Close()
	folder := filepath.Join(w.Dir, requestDir)
	for _, open := range []func() (*os.File, error){
		func() (*os.File, error) { return files.Open(filepath.Join(folder, id+".json")) },
		func() (*os.File, error) { return files.OpenFolder(folder) },
	} {
		f, err := open()
		if errors.Is(err, os.ErrNotExist) {
			continue // it has been taken
		}
		if err == nil {
			err = errors.Join(f.Sync(), f.Close())
		}
		if err != nil {
			return "", fmt.Errorf("leaving the request: %w", err)
		}
	}
	return id, nil
}

// pollEvery is how often Wait checks whether a request has been taken.
const pollEvery = 20 * time.Millisecond

// Wait returns when the request of an id has been taken: by the process that holds the epic, soon, or
// by this one where none does. No run is begun, and nothing else is taken. It fails when the
// context ends, and as Open does; the request is then still there for the next who opens the epic.
func (w SessionRequests) Wait(ctx context.Context, id string) error {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		if _, err := os.Lstat(filepath.Join(w.Dir, requestDir, id+".json")); errors.Is(err, os.ErrNotExist) {
			return nil
		}
		_, held, err := epicstore.HeldBy(w.Dir)
		if err != nil {
			return err
		}
		if !held {
			var taken *epicstore.HeldError
			if err := w.writePending(ctx); !errors.As(err, &taken) {
				return err
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("waiting for who has the epic: %w", ctx.Err())
		}
	}
}

// writePending records the pending steps of sessions in the journal, oldest first. It fails with
// *HeldError where another process has come to hold the epic.
func (w SessionRequests) writePending(ctx context.Context) (err error) {
	l, err := epicstore.Acquire(ctx, w.Dir, w.Epic, epicstore.Waiting{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Unlock()) }()
	o := &Orchestrator{lock: l, fx: &dispatch{Deps: Deps{Epic: w.Epic, Dir: w.Dir, Now: w.Now}}}
	o.loop = &Loop{Now: w.Now, Append: o.append}
	if w.Redact != nil {
		o.loop.Redact = func(e epic.Event) epic.Event { return WithoutSecrets(w.Redact, e) }
	}
	rec, err := o.openJournal(ctx, epicstore.Holder{PID: w.PID, Host: w.Host, Started: w.Now().UTC(), Command: "iteration"})
	if o.journal != nil {
		defer func() { err = errors.Join(err, o.journal.Close()) }()
	}
	if err != nil {
		return err
	}
	if e, cut := cutTail(rec); cut {
		if err := o.loop.record(e); err != nil {
			return err
		}
	}
	pending, err := PendingRequests(w.Dir)
	for _, p := range pending {
		if _, step := p.Event.Fact.(epic.LoopStepped); !step || err != nil {
			continue
		}
		if err = o.loop.request(Request{Event: p.Event}); err == nil {
			err = p.remove(w.Dir)
		}
	}
	return err
}
