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
	"github.com/beadsorch/orch/orchestrator/sandbox/egress"
)

// Record is what a cell was, or would be, for a person.
type Record struct {
	// Level is what keeps the bounds.
	Level sandbox.Level `json:"level"`
	// Dir is what is worked in.
	Dir string `json:"dir"`
	// Network says that the network is as it is outside.
	Network bool `json:"network"`
	// Listed says that hosts of a list are reached by a proxy.
	Listed bool `json:"listed,omitempty"`
	// Bounds are what is where.
	Bounds []sandbox.Explained `json:"bounds"`
	// Unreached are hosts that were not reached, of all turns of the attempt.
	Unreached []egress.Refusal `json:"unreached,omitempty"`
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
		r.Left, r.Unreached = was.Left, was.Unreached
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
	return Record{Level: level, Dir: n.policy.Dir, Network: n.policy.Network || !level.Mounts(), Listed: n.listed, Bounds: bounds}
}

// mostUnreached is how many hosts a record has.
const mostUnreached = 100

// recordRefused adds to the record which hosts were not reached.
func (n *cell) recordRefused(refused []egress.Refusal) error {
	r, err := ReadRecord(n.attempt)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, host := range refused {
		if at := slices.IndexFunc(r.Unreached, func(was egress.Refusal) bool { return was.Host == host.Host }); at >= 0 {
			r.Unreached[at].Count += host.Count
		} else if len(r.Unreached) < mostUnreached {
			r.Unreached = append(r.Unreached, host)
		}
	}
	return n.write(r)
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
