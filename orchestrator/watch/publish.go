package watch

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"reflect"
	"sync"
	"time"

	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/private"
	"github.com/beadsorch/orch/orchestrator/redact"
	"github.com/beadsorch/orch/orchestrator/text"
)

// heartbeat is the longest time between two words of a run whose agents do the same all the time.
const heartbeat = 2 * time.Second

// maxRemarks is how many remarks are kept for readers that come a little late.
const maxRemarks = 8

// Publisher tells those who watch what a run's agents do. It writes from a goroutine of its own,
// so that neither a slow disk nor a reader delays the run.
type Publisher struct {
	dir    string
	redact *redact.Redactor
	now    func() time.Time

	doing func(epic.TaskID) string
	over  chan struct{}
	ended sync.WaitGroup

	mu      sync.Mutex // guards what follows, and is never held while something is waited for
	state   epic.State
	remarks []Remark
	number  int64
}

// NewPublisher makes the publisher of a run of the epic in dir. A nil Redactor knows no secret.
func NewPublisher(dir string, r *redact.Redactor, now func() time.Time) *Publisher {
	return &Publisher{dir: dir, redact: r, now: now, over: make(chan struct{})}
}

// Observe takes an event and the state after it. It never waits.
func (p *Publisher) Observe(e epic.Event, s epic.State) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.state = s
	if _, failed := e.Fact.(epic.TrackerFailed); failed { // what a person wants to know of what the journal does not keep
		p.number++
		p.remarks = append(p.remarks, Remark{Number: p.number, Event: e})
		p.remarks = p.remarks[max(0, len(p.remarks)-maxRemarks):]
	}
}

// Start begins to tell, until Close. doing says what the agent of a task does; it is called from
// another goroutine.
func (p *Publisher) Start(doing func(epic.TaskID) string) {
	p.doing = doing
	p.ended.Go(p.run)
}

func (p *Publisher) run() {
	tick := time.NewTicker(Every)
	defer tick.Stop()
	var was Activity
	for {
		if a := p.activity(); a.At.Sub(was.At) >= heartbeat || !reflect.DeepEqual(a.Agents, was.Agents) || !reflect.DeepEqual(a.Remarks, was.Remarks) {
			if p.write(a) == nil { // else it is tried again: only a view lacks it
				was = a
			}
		}
		select {
		case <-tick.C:
		case <-p.over:
			return
		}
	}
}

// activity is what there is to tell now.
func (p *Publisher) activity() Activity {
	p.mu.Lock()
	s := p.state
	a := Activity{At: p.now().UTC(), Run: s.Run.Number, Agents: []Agent{}, Remarks: append([]Remark(nil), p.remarks...)}
	p.mu.Unlock()
	for _, t := range s.Tasks {
		if t.State == epic.Running {
			doing := text.Clause(p.redact.String(p.doing(t.ID)), maxDoing)
			a.Agents = append(a.Agents, Agent{Task: t.ID, Attempt: t.Last().Number, Doing: doing})
		}
	}
	return a
}

func (p *Publisher) write(a Activity) error {
	data, err := json.Marshal(a)
	if err != nil {
		return err
	}
	files, err := private.OpenAbove(p.dir, levels)
	if err != nil {
		return err
	}
	return errors.Join(files.WriteFile(filepath.Join(p.dir, activityFile), data), files.Close())
}

// Close stops publishing, and removes the file. It fails where it cannot be removed.
func (p *Publisher) Close() error {
	close(p.over)
	p.ended.Wait()
	files, err := private.OpenAbove(p.dir, levels)
	if err == nil {
		err = errors.Join(files.Remove(filepath.Join(p.dir, activityFile)), files.Close())
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing what agents did: %w", err)
	}
	return nil
}
