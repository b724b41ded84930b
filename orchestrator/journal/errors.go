package journal

import (
	"errors"
	"fmt"
)

// The errors that a caller can ask for with errors.Is.
var (
	// ErrCorrupt says that a record before the end of the journal is damaged; every
	// [*CorruptError] is one.
	ErrCorrupt = errors.New("journal is damaged")
	// ErrVersion says that a newer orch wrote the journal; only that one may go on with it.
	ErrVersion = errors.New("journal was written by a newer version of orch")
	// ErrBroken says that a write or an fsync has failed, so that it is unknown what is on
	// disk. The journal takes no more records; opening it again finds out.
	ErrBroken = errors.New("journal is not writable any more")
	// ErrUnsafe says that the journal's directory or file is not the user's own and private.
	ErrUnsafe = errors.New("journal is not private")
	// ErrHeld says that another process has the journal open for append.
	ErrHeld = errors.New("another process writes the journal")
	// ErrFenced says that the journal was taken away from this process while it had it open:
	// another process removed, replaced or changed its file. Nothing was written since.
	ErrFenced = errors.New("the journal was taken away")
)

// CorruptError says where a journal is damaged. Nothing was changed.
type CorruptError struct {
	// Path is the journal's file.
	Path string
	// Line is the number of the damaged line, from 1.
	Line int
	// Offset is where that line begins, in bytes.
	Offset int64
	// Why is what is wrong with it, one clause.
	Why string
	// ValidPrefix is how many bytes from the start are sound.
	ValidPrefix int64
}

// Error says where and why, and how much is sound.
func (e *CorruptError) Error() string {
	return fmt.Sprintf("%s:%d: damaged at byte %d: %s; the first %d bytes are sound",
		e.Path, e.Line, e.Offset, e.Why, e.ValidPrefix)
}

// Is makes errors.Is(err, ErrCorrupt) true.
func (e *CorruptError) Is(target error) bool { return target == ErrCorrupt }
