package beads

import (
	"errors"
	"fmt"
)

var (
	// ErrNoDatabase says that there is no tracker in a place.
	ErrNoDatabase = errors.New("no beads database")
	// ErrWrongDatabase says that bd answered from another database than the
	// repository's own: it makes an empty one when its settings are missing.
	ErrWrongDatabase = errors.New("bd answered from a database that is not this repository's")
)

// VersionError says that a bd is too old.
type VersionError struct {
	Found  string
	Oldest string
}

// Error names both versions.
func (e *VersionError) Error() string {
	return fmt.Sprintf("bd %s is too old; the oldest that works is %s", e.Found, e.Oldest)
}
