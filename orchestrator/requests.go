package orchestrator

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/epicdir"
	"github.com/beadsorch/orch/orchestrator/private"
)

// A person's verbs (retry, skip, answer, stop) are files in a folder of the
// epic. The run that is going on takes them within a moment; else the next run
// does. So there is one way for both, and only a run writes the journal.

const requestDir = "requests"

// maxRequest is how many bytes a request may have; a person's hint is in it.
const maxRequest = 1 << 20

// Ask leaves a request for the run of the epic whose folder dir is. The event
// names what a person wants; only verbs of a person are taken, and word of one
// that was refused before it came here, since an agent asked.
func Ask(dir string, e epic.Event, now time.Time) error {
	b, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("leaving the request: %w", err)
	}
	files, err := epicdir.Open(dir)
	if err != nil {
		return fmt.Errorf("leaving the request: %w", err)
	}
	name := fmt.Sprintf("%020d-%s.json", now.UnixNano(), rand.Text()[:8])
	if err := errors.Join(files.WriteFile(filepath.Join(dir, requestDir, name), b), files.Close()); err != nil {
		return fmt.Errorf("leaving the request: %w", err)
	}
	return nil
}

// Asked lists the requests that no run has taken yet, oldest first, with their
// files. A file that is no request is passed over.
func Asked(dir string) (events []epic.Event, files []string, err error) {
	folder := filepath.Join(dir, requestDir)
	below, err := epicdir.Open(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("reading the requests: %w", err)
	}
	defer below.Close()
	entries, err := below.ReadDir(folder)
	var unsafe *private.UnsafeError
	if errors.Is(err, os.ErrNotExist) || errors.As(err, &unsafe) {
		return nil, nil, nil // a link in its place asks for nothing, and the next request takes it away
	}
	if err != nil {
		return nil, nil, fmt.Errorf("reading the requests: %w", err)
	}
	sort.Slice(entries, func(i, j int) bool { return entries[i].Name() < entries[j].Name() })
	for _, entry := range entries {
		path := filepath.Join(folder, entry.Name())
		if strings.HasPrefix(entry.Name(), ".") || filepath.Ext(path) != ".json" {
			continue
		}
		var e epic.Event
		b, err := below.ReadFile(path, maxRequest)
		if err != nil || json.Unmarshal(b, &e) != nil || !e.Requestable() && e.Fact != (epic.RequestRefused{}) {
			continue
		}
		events, files = append(events, e), append(files, path)
	}
	return events, files, nil
}

// requestEvery is how often a run looks for requests.
const requestEvery = 200 * time.Millisecond

// takeRequests hands the requests to the loop until ctx ends. Each file is
// removed when its event is in the journal.
func takeRequests(ctx context.Context, dir string, to chan<- Request) {
	tick := time.NewTicker(requestEvery)
	defer tick.Stop()
	taken := map[string]bool{}
	for {
		events, files, err := Asked(dir)
		for i := range events {
			if err != nil || taken[files[i]] {
				continue
			}
			taken[files[i]] = true
			file := files[i]
			select {
			case to <- Request{Event: events[i], Done: func() { os.Remove(file) }}:
			case <-ctx.Done():
				return
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}
