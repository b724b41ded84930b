package beads

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/beadsorch/orch/orchestrator/tracker"
)

// bd prints who closed an issue nowhere. It appends to a log of its own, though,
// for each close and each change of a status by hand: one JSON object a line
// (measured on 1.0.5; later ones do so where it is switched on).
const (
	interactionsName = "interactions.jsonl"
	interactionsTail = 1 << 20         // bytes that are read, from the end
	closedBefore     = 2 * time.Second // the log's time may be this much before the issue's, which bd rounds to the nearest second,
	closedAfter      = time.Minute     // and this much after it, on a busy machine
)

// signClosed adds to closed issues by whom they were closed, where bd's log
// tells. A log that is missing, or not understood, names none.
func (b *BD) signClosed(issues []tracker.Issue) error {
	tail, err := readTail(filepath.Join(b.opt.BeadsDir, interactionsName), interactionsTail)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading bd's log of interactions: %w", err)
	}
	closes := closesIn(tail)
	for n := range issues {
		i := &issues[n]
		c, ok := closes[i.ID]
		if !ok || i.Status != tracker.StatusClosed || i.ClosedAt == nil {
			continue
		}
		if late := c.at.Sub(*i.ClosedAt); late >= -closedBefore && late <= closedAfter {
			i.ClosedBy = c.by
		}
	}
	return nil
}

// readTail reads at most the last n bytes of a file.
func readTail(path string, n int64) ([]byte, error) {
	if !isFile(path) {
		return nil, fs.ErrNotExist
	}
	f, size, err := openPlain(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.NewSectionReader(f, max(0, size-n), n))
}

// closing is who closed an issue, and when.
type closing struct {
	by string
	at time.Time
}

// closesIn finds the newest close of each issue in a part of bd's log.
func closesIn(log []byte) map[string]closing {
	closes := map[string]closing{}
	for line := range bytes.Lines(log) {
		var said struct {
			Kind  string    `json:"kind"`
			At    time.Time `json:"created_at"`
			Actor string    `json:"actor"`
			Issue string    `json:"issue_id"`
			Extra struct {
				Field string `json:"field"`
				Value any    `json:"new_value"`
			} `json:"extra"`
		}
		if json.Unmarshal(line, &said) == nil && said.Kind == "field_change" && said.Extra.Field == "status" && said.Extra.Value == string(tracker.StatusClosed) {
			closes[said.Issue] = closing{said.Actor, said.At}
		}
	}
	return closes
}
