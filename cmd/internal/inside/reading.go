package inside

import (
	"context"
	"fmt"
	"sync"

	"github.com/beadsorch/orch/orchestrator/tracker"
)

// Tracker is where a run keeps its tasks.
type Tracker interface {
	Survey(ctx context.Context) ([]tracker.Issue, error)
	Apply(ctx context.Context, actor string, changes []tracker.Change) ([]tracker.Outcome, error)
	Name() string
}

// Discussed is a [Tracker] that keeps comments.
type Discussed interface {
	// Comments gives those of an issue, oldest first. It fails with [tracker.ErrNotFound].
	Comments(ctx context.Context, id string) ([]tracker.CommentRecord, error)
}

// Reading is a tracker with what was read of it last, so that the agents of a run ask it nothing. It is safe for concurrent use.
type Reading struct {
	Tracker
	clean func(string) string

	mu     sync.Mutex
	issues []tracker.Issue // nil where nothing was read, or something was changed since
	epoch  int             // how often something was changed
}

// NewReading is a reading of a tracker of which nothing was read; clean takes secrets out of what agents write.
func NewReading(t Tracker, clean func(string) string) *Reading {
	return &Reading{Tracker: t, clean: clean}
}

// Survey reads the tracker, and keeps what is there.
func (r *Reading) Survey(ctx context.Context) ([]tracker.Issue, error) {
	r.mu.Lock()
	epoch := r.epoch
	r.mu.Unlock()
	issues, err := r.Tracker.Survey(ctx)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if epoch == r.epoch {
		r.issues = issues
	}
	return issues, nil
}

// Issues are those that were read last.
func (r *Reading) Issues(ctx context.Context) ([]tracker.Issue, error) {
	r.mu.Lock()
	issues := r.issues
	r.mu.Unlock()
	if issues != nil {
		return issues, nil
	}
	return r.Survey(ctx)
}

// Apply makes changes; the tracker is read again before an agent is told anything of it.
func (r *Reading) Apply(ctx context.Context, actor string, changes []tracker.Change) ([]tracker.Outcome, error) {
	out, err := r.Tracker.Apply(ctx, actor, changes)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.issues = nil
	r.epoch++
	return out, err
}

// ByAgent is the same tracker for an agent, which sees what it has changed.
func (r *Reading) ByAgent() Asked { return Asked{r} }

// Asked is a [Reading] as an agent's requests have it.
type Asked struct{ reading *Reading }

// Issues are those that were read last.
func (a Asked) Issues(ctx context.Context) ([]tracker.Issue, error) { return a.reading.Issues(ctx) }

// Comments asks the tracker, whose readings have none. It fails where that keeps none.
func (a Asked) Comments(ctx context.Context, id string) ([]tracker.CommentRecord, error) {
	if kept, ok := a.reading.Tracker.(Discussed); ok {
		return kept.Comments(ctx, id)
	}
	return nil, fmt.Errorf("%s keeps no comments", a.reading.Name())
}

// Apply makes changes without the secrets in them.
func (a Asked) Apply(ctx context.Context, actor string, changes []tracker.Change) ([]tracker.Outcome, error) {
	r := a.reading
	for n := range changes {
		changes[n].Note = r.clean(changes[n].Note)
		if i := changes[n].Issue; i != nil {
			clean := i.EditTexts(r.clean)
			clean.Dependencies = i.Dependencies
			changes[n].Issue = &clean
		}
	}
	return r.Apply(ctx, actor, changes)
}
