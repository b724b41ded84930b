package cell

import (
	"cmp"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/beadsorch/orch/orchestrator/engine"
	"github.com/beadsorch/orch/orchestrator/private"
	"github.com/beadsorch/orch/orchestrator/sandbox"
)

// Record is what a cell was, or would be, for a person.
type Record struct {
	// Level is what keeps the bounds.
	Level sandbox.Level `json:"level"`
	// Dir is what is worked in.
	Dir string `json:"dir"`
	// Network says that the network is as it is outside.
	Network bool `json:"network"`
	// Bounds are what is where.
	Bounds []sandbox.Explained `json:"bounds"`
	// Left is what of it was not taken back, of all turns of the attempt.
	Left engine.Left `json:"left"`
}

// recordFile, in the folder of an attempt, has its record.
const recordFile = "sandbox.json"

// maxRecord bounds that file, in bytes.
const maxRecord = 4 << 20

// ReadRecord is the record of the attempt whose folder this is: of its last turn, but for Left. It fails with [fs.ErrNotExist] where no turn of it was in a
// cell.
func ReadRecord(folder string) (r Record, err error) {
	content, err := private.ReadFile(filepath.Join(folder, recordFile), maxRecord)
	if err != nil {
		return r, err
	}
	return r, json.Unmarshal(content, &r)
}

func (n *cell) write(r Record) error {
	content, err := json.Marshal(r)
	if err != nil {
		return err
	}
	dir, err := private.Open(n.attempt)
	if err != nil {
		return err
	}
	return errors.Join(dir.WriteFile(filepath.Join(n.attempt, recordFile), content), dir.Close())
}

// writeRecord keeps what n is, with what earlier turns of the attempt have left.
func (n *cell) writeRecord() error {
	r := n.record()
	if was, err := ReadRecord(n.attempt); err == nil {
		r.Left = was.Left
	}
	return n.write(r)
}

// record is what n is. What can only be read, and is not there, is left out: it is bound nowhere.
func (n *cell) record() Record {
	level := n.of.Box.Level
	bounds := slices.DeleteFunc(sandbox.Explain(n.place, n.policy, level), func(e sandbox.Explained) bool {
		at := cmp.Or(e.From, e.At)
		_, err := os.Lstat(at)
		return err != nil && (e.How == sandbox.ReadOnly || e.How == sandbox.Overlay) && filepath.Dir(at) != n.worktree
	})
	return Record{Level: level, Dir: n.policy.Dir, Network: n.policy.Network || !level.Mounts(), Bounds: bounds}
}

// recordLeft adds to the record what of a turn was not taken back. Of a turn before there were records there is none.
func (n *cell) recordLeft(left engine.Left) error {
	r, err := ReadRecord(n.attempt)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	r.Left.Dropped = append(r.Left.Dropped, left.Dropped...)
	r.Left.Planted = append(r.Left.Planted, left.Planted...)
	r.Left.Refused = cmp.Or(left.Refused, r.Left.Refused)
	return n.write(r)
}
