package epicstore

import (
	"encoding/json"
	"fmt"

	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/journal"
)

// ForeignError says that the journal in an epic's folder is that of another epic.
type ForeignError struct {
	Dir  string      // the folder
	Epic epic.TaskID // the epic that the journal is of
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
	return ReplayEach(dir, records, func(epic.Event) {})
}

// ReplayEach is ReplayIn, and calls each for every event as it is applied.
func ReplayEach(dir string, records []journal.Record, each func(epic.Event)) (epic.State, error) {
	s := epic.NewState()
	for _, r := range records {
		next, e, err := ReplayOn(dir, s, r)
		if err != nil {
			return s, err
		}
		s = next
		each(e)
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
	e = Unshelve(dir, e)
	if err := epic.Check(s, e); err != nil {
		return s, e, &ReplayError{Record: r.Seq, Err: err}
	}
	return epic.Apply(s, e), e, nil
}
