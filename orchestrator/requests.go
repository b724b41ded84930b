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
	"sync"
	"time"

	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/epicdir"
	"github.com/beadsorch/orch/orchestrator/private"
	"github.com/beadsorch/orch/orchestrator/text"
)

// A person's verbs (retry, skip, answer, stop), and what sessions want of a run that goes on
// (land, next), are files in a folder of the epic. The run that is going on takes them within a
// moment; else the next run does. So there is one way for both, and only a run writes the journal.
//
// A file's name is the request's id. The event that takes it has that id, and the state knows the
// ids that were taken: a crash between the journal and the removal of the file applies nothing
// twice.

const (
	requestDir = "requests"
	badDir     = "bad" // below requestDir: files that are no requests
)

// maxRequest is how many bytes a request may have; a person's hint is in it.
const maxRequest = 1 << 20

// PostRequest leaves a request for the run of the epic whose folder dir is. The event
// names what a person wants; only verbs of a person are taken, and word of one
// that was refused before it came here, since an agent asked.
func PostRequest(dir string, e epic.Event, now time.Time) error {
	_, err := PostAwaitedRequest(dir, e, now)
	return err
}

// PostAwaitedRequest is PostRequest for a caller that waits for the answer; id is the request's.
func PostAwaitedRequest(dir string, e epic.Event, now time.Time) (id string, err error) {
	e.At = now.UTC()
	id = fmt.Sprintf("%020d-%s", now.UnixNano(), rand.Text()[:8])
	e.Request = id // so that a copy by another name is known as one
	b, err := json.Marshal(e)
	if err != nil {
		return "", fmt.Errorf("leaving the request: %w", err)
	}
	files, err := epicdir.Open(dir)
	if err != nil {
		return "", fmt.Errorf("leaving the request: %w", err)
	}
	if err := errors.Join(files.WriteFile(filepath.Join(dir, requestDir, id+".json"), b), files.Close()); err != nil {
		return "", fmt.Errorf("leaving the request: %w", err)
	}
	return id, nil
}

// WithdrawRequest takes a request back. It reports whether it was there still: then no run takes it any
// more, unless one is reading it at this moment; its journal shows that.
func WithdrawRequest(dir, id string) (bool, error) {
	files, err := epicdir.Open(dir)
	if err != nil {
		return false, fmt.Errorf("taking the request back: %w", err)
	}
	defer files.Close()
	err = files.Remove(filepath.Join(dir, requestDir, id+".json"))
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// CancelNext takes back the request for a task: by its file where no run has taken it yet, else by
// another request. It gives the answer where that has come in this moment.
func CancelNext(dir, id string, now time.Time) (a Answer, ok bool, err error) {
	withdrawn, err := WithdrawRequest(dir, id)
	if withdrawn || err != nil {
		return Answer{}, false, err
	}
	if a, ok, err = TakeAnswer(dir, id); ok || err != nil {
		return a, ok, err
	}
	return Answer{}, false, PostRequest(dir, epic.Event{Fact: epic.NextWithdrawn{Of: id}, Reason: "who wanted a task waits no longer"}, now)
}

// Pending is a request that no run has taken yet, or a file that is none.
type Pending struct {
	ID    string     // of the request
	Event epic.Event // what is asked for, with the id; zero where Bad
	Bad   string     // why the file is no request; "" when it is one
	file  string
}

// PendingRequests lists the requests that no run has taken yet, oldest first.
func PendingRequests(dir string) ([]Pending, error) {
	folder := filepath.Join(dir, requestDir)
	below, err := epicdir.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("reading the requests: %w", err)
	}
	defer below.Close()
	entries, err := below.ReadDir(folder)
	var unsafe *private.UnsafeError
	if errors.Is(err, os.ErrNotExist) || errors.As(err, &unsafe) {
		return nil, nil // a link in its place asks for nothing, and the next request takes it away
	}
	if err != nil {
		return nil, fmt.Errorf("reading the requests: %w", err)
	}
	sort.Slice(entries, func(i, j int) bool { return entries[i].Name() < entries[j].Name() })
	var pending []Pending
	for _, entry := range entries {
		path := filepath.Join(folder, entry.Name())
		if strings.HasPrefix(entry.Name(), ".") || entry.Name() == badDir {
			continue // being written, or reported before
		}
		p := Pending{ID: strings.TrimSuffix(entry.Name(), ".json"), file: path}
		b, err := below.ReadFile(path, maxRequest)
		if errors.Is(err, os.ErrNotExist) {
			continue // taken meanwhile
		}
		p.Event, p.Bad = parseRequest(entry.Name(), b, err)
		p.Event.Request = p.ID
		pending = append(pending, p)
	}
	return pending, nil
}

// parseRequest reads what a file asks for; bad is why it is no request.
func parseRequest(name string, b []byte, readErr error) (e epic.Event, bad string) {
	switch err := json.Unmarshal(b, &e); {
	case readErr != nil:
		return epic.Event{}, text.Clause(readErr.Error(), 200)
	case filepath.Ext(name) != ".json":
		return epic.Event{}, "its name does not end in .json"
	case err != nil:
		return epic.Event{}, "it is not the JSON of an event"
	case !e.Requestable() && !isRefusal(e):
		return epic.Event{}, "nobody may ask for that"
	case e.Request != "" && e.Request != strings.TrimSuffix(name, ".json"):
		return epic.Event{}, "it is a copy of the request " + text.Clause(e.Request, 80)
	}
	if f, next := e.Fact.(epic.NextRequested); next && f.Holder.IsZero() {
		return epic.Event{}, "it does not say who wants a task"
	}
	return e, ""
}

// isRefusal reports whether an event says that a request was refused.
func isRefusal(e epic.Event) bool {
	_, ok := e.Fact.(epic.RequestRefused)
	return ok
}

// refusalEvent is the event for a file that is no request.
func (p Pending) refusalEvent() epic.Event {
	return epic.Event{Fact: epic.RequestRefused{}, Request: p.ID, Reason: fmt.Sprintf("%s is no request: %s; it is kept in %s/%s", text.Clause(filepath.Base(p.file), 80), p.Bad, requestDir, badDir)}
}

// remove takes the file of a request away once the journal has it; one that is no request is kept
// aside. What cannot be removed is known by its id, and does nothing again.
func (p Pending) remove(dir string) error {
	files, err := epicdir.Open(dir)
	if err != nil {
		return err
	}
	defer files.Close()
	if p.Bad == "" {
		err = files.Remove(p.file)
	} else if err = files.MkdirAll(filepath.Join(dir, requestDir, badDir)); err == nil {
		err = files.Rename(p.file, filepath.Join(dir, requestDir, badDir, filepath.Base(p.file)))
	}
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// requestEvery is how often a run looks for requests.
const requestEvery = 200 * time.Millisecond

// takeRequests hands the requests to the loop until ctx ends. Each file is
// removed when its event is in the journal.
func takeRequests(ctx context.Context, dir string, to chan<- Request) {
	tick := time.NewTicker(requestEvery)
	defer tick.Stop()
	taken := takenRequests{all: map[string]bool{}}
	for {
		var next []Request
		pending, err := PendingRequests(dir)
		if err != nil {
			pending = nil
		}
		pending, told := taken.fresh(dir, pending)
		within, tooMany := limitPending(dir, pending)
		told = append(told, tooMany...)
		for _, e := range told {
			next = append(next, Request{Event: e})
		}
		for _, p := range within {
			r := Request{Event: p.Event, Done: func() { taken.removed(p, p.remove(dir)) }} // its id is in the journal
			if p.Bad != "" {
				r.Event = p.refusalEvent()
			}
			next = append(next, r)
		}
		for _, r := range next {
			select {
			case to <- r:
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

// takenRequests are those that a run has handed to its loop. It is safe for concurrent use.
type takenRequests struct {
	mu  sync.Mutex
	all map[string]bool // by id: whether its file was removed
	// again says that it was told of a file that was put back: who does it twice would fill the journal.
	again bool
}

// removed notes that the file of a request was taken away, where that has not failed.
func (t *takenRequests) removed(p Pending, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all[p.ID] = err == nil
}

// fresh are the pending requests that were not taken before. A file that is there again, once it was removed, asks for
// nothing and is removed; it is told once.
func (t *takenRequests) fresh(dir string, pending []Pending) (fresh []Pending, told []epic.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range pending {
		gone, taken := t.all[p.ID]
		if !taken {
			t.all[p.ID] = false
			fresh = append(fresh, p)
			continue
		}
		if !gone || p.Bad != "" { // it is being taken, or is kept aside again
			continue
		}
		if p.remove(dir) == nil && !t.again {
			t.again = true
			told = append(told, replayedEvent(p))
		}
	}
	return fresh, told
}

// replayedEvent tells of a request whose file was put back after it had been taken.
func replayedEvent(p Pending) epic.Event {
	return epic.Event{Fact: epic.LeftoverFound{Path: p.file}, Reason: fmt.Sprintf("the request %s was taken before; somebody has put its file back, which asks for nothing and is removed", p.ID)}
}

// applyPending applies the requests that were left while no run was going on. A stop that came too late for its
// run is not meant for this one. A session that waits for a task is answered once the run goes on; a
// request of one that does not wait any more is dropped.
func (o *Orchestrator) applyPending() error {
	pending, err := PendingRequests(o.fx.Dir)
	if err != nil {
		return err
	}
	within, told := limitPending(o.fx.Dir, pending)
	for _, e := range told {
		if err := o.loop.request(Request{Event: e}); err != nil {
			return err
		}
	}
	dropped := 0
	for _, p := range within {
		e := p.Event
		if p.Bad != "" {
			e = p.refusalEvent()
		}
		if f, next := e.Fact.(epic.NextRequested); next {
			if !hasEnded(f.Asker) && o.fx.Now().Sub(e.At) <= answerLife {
				continue
			}
			dropped++
		}
		_, withdrawn := e.Fact.(epic.NextWithdrawn)
		if e.Task != "" || p.Bad != "" || withdrawn {
			if err := o.loop.request(Request{Event: e}); err != nil {
				return err
			}
		}
		if err := p.remove(o.fx.Dir); err != nil {
			return fmt.Errorf("taking a request: %w", err)
		}
	}
	if dropped == 0 {
		return nil
	}
	return o.loop.request(Request{Event: epic.Event{Fact: epic.RequestRefused{}, Reason: fmt.Sprintf("requests for a task that nobody waits for any more were dropped: %d", dropped)}})
}
