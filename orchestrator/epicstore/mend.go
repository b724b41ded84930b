package epicstore

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/journal"
)

// Mend repairs the journal in an epic's folder as [journal.Mend] does; records that do not follow
// from those before them are cut too, and so is all of a journal whose epic does not belong in
// the folder. A dry one only says what it would do. It fails with *HeldError while a run holds
// the epic.
func Mend(ctx context.Context, dir string, belongs func(epic.TaskID) bool, now func() time.Time, dry bool) (m journal.Mended, err error) {
	epicID := epic.TaskID(filepath.Base(dir))
	holder, held, err := HeldBy(dir)
	if err != nil || held {
		return m, errors.Join(err, &HeldError{Epic: epicID, Holder: holder})
	}
	if !dry {
		l, err := Acquire(ctx, dir, epicID, Waiting{})
		if err != nil {
			return m, err
		}
		defer func() { err = errors.Join(err, l.Unlock()) }()
	}
	return journal.Mend(dir, func(records []journal.Record) int {
		s, err := Replay(records)
		var bad *ReplayError
		switch {
		case s.Epic != "" && !belongs(s.Epic):
			return 0
		case errors.Is(err, epic.ErrNewer): // for which another program is the cure
		case errors.As(err, &bad):
			return int(bad.Record) - 1
		}
		return len(records)
	}, now, dry)
}

// SetAside takes what is left of a lost journal away, as [journal.SetAside] does. It fails with *HeldError while
// another process holds the epic.
func SetAside(ctx context.Context, dir string, now func() time.Time) (m journal.Mended, err error) {
	l, err := Acquire(ctx, dir, epic.TaskID(filepath.Base(dir)), Waiting{})
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, l.Unlock()) }()
	return journal.SetAside(dir, now)
}
