package beads

import (
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/google/renameio/v2"

	"github.com/beadsorch/orch/orchestrator/text"
	"github.com/beadsorch/orch/orchestrator/tracker"
)

// Snapshot is a reading of the tracker that is kept for when it does not answer.
type Snapshot struct {
	At     time.Time       `json:"at"`     // when it was read, UTC
	Issues []tracker.Issue `json:"issues"` // all of them
}

// maxSnapshot bounds a snapshot that is read, in bytes: who reads one has little time.
const maxSnapshot = 64 << 20

// Save replaces the snapshot at path.
func (s Snapshot) Save(path string) error {
	data, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("keeping a snapshot: %w", err)
	}
	if err := renameio.WriteFile(path, data, 0o600); err != nil {
		return fmt.Errorf("keeping a snapshot: %w", err)
	}
	return nil
}

// LoadSnapshot reads the snapshot at path. It fails with fs.ErrNotExist when there is
// none, and with *ParseError when it is damaged.
func LoadSnapshot(path string) (Snapshot, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return Snapshot{}, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxSnapshot {
		return Snapshot{}, &ParseError{Why: path + " is no small regular file"}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return Snapshot{}, err
	}
	var s Snapshot
	if err := json.Unmarshal(data, &s); err != nil {
		return Snapshot{}, &ParseError{Why: "not a snapshot", Quote: text.Clause(string(data), maxQuote), Err: err}
	}
	return s, nil
}
