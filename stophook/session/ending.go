package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Ending is how the stop hook let a session go that had work left; the zero value is none.
type Ending struct {
	// Cause is a word of docs/stop-hook.md.
	Cause string `json:"cause"`
	// Why is the same in a clause.
	Why string `json:"why"`
	// At is when, UTC.
	At time.Time `json:"at"`
	// Announced says that a session that began since was told.
	Announced bool `json:"announced,omitempty"`
}

// IsZero reports whether the session was not let go.
func (e Ending) IsZero() bool { return e == Ending{} }

// All lists what is kept of the sessions of a repository, in the folder that all its worktrees share, by the
// names of their files; what cannot be read as a session's is left out. It fails where the folder cannot be read.
func All(common string) ([]Session, error) {
	dir := filepath.Join(common, "orch", "sessions")
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("listing the sessions: %w", err)
	}
	all := []Session{}
	for _, e := range entries {
		var s Session
		b, err := ReadState(filepath.Join(dir, e.Name()))
		if err == nil && !strings.HasPrefix(e.Name(), ".") && json.Unmarshal(b, &s) == nil {
			all = append(all, s)
		}
	}
	return all, nil
}
