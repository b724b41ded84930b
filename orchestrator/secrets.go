package orchestrator

import (
	"context"
	"maps"
	"slices"

	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/redact"
	"github.com/beadsorch/orch/orchestrator/tracker"
)

// WithoutSecrets is the event with all text in it redacted that comes from outside. It is done
// before the event is applied, so that the state, the journal, and all that follows from them,
// agree. Ids, commits and paths that orch made stay.
func WithoutSecrets(r *redact.Redactor, e epic.Event) epic.Event {
	if r == nil {
		return e
	}
	if f, ok := e.Fact.(epic.RunStarted); ok { // of settings a command may have one
		f.Settings = maps.Clone(f.Settings)
		for key, value := range f.Settings {
			f.Settings[key] = r.String(value)
		}
		e.Fact = f
	}
	return e.EditTexts(func(t epic.Text) string { return r.String(t.Body) })
}

// cleanTracker reads and writes a tracker without secrets. What is read is redacted too, since
// it goes into briefs and into the journal, and is compared with what is there.
type cleanTracker struct {
	Tracker
	r *redact.Redactor
}

// Survey implements Tracker.
func (t cleanTracker) Survey(ctx context.Context) ([]tracker.Issue, error) {
	issues, err := t.Tracker.Survey(ctx)
	return IssuesWithoutSecrets(t.r, issues), err
}

// Apply implements Tracker.
func (t cleanTracker) Apply(ctx context.Context, actor string, changes []tracker.Change) ([]tracker.Outcome, error) {
	changes = slices.Clone(changes)
	for i := range changes {
		c := &changes[i]
		c.Note, c.Reason = t.r.String(c.Note), t.r.String(c.Reason)
		if c.Issue != nil {
			issue := c.Issue.EditTexts(t.r.String)
			c.Issue = &issue
		}
	}
	return t.Tracker.Apply(ctx, actor, changes)
}

// IssuesWithoutSecrets are the issues with their texts redacted.
func IssuesWithoutSecrets(r *redact.Redactor, issues []tracker.Issue) []tracker.Issue {
	if r == nil {
		return issues
	}
	issues = slices.Clone(issues)
	for i := range issues {
		issues[i] = issues[i].EditTexts(r.String)
	}
	return issues
}
