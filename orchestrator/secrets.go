package orchestrator

import (
	"context"
	"slices"

	"github.com/beadsorch/orch/beads"
	"github.com/beadsorch/orch/orchestrator/core"
	"github.com/beadsorch/orch/orchestrator/redact"
)

// withoutSecrets is the event with all text in it redacted that comes from agents, gates,
// hooks, the tracker and errors. It is done before the event is applied, so that the state, the
// journal, and all that is told by them, agree. Ids, commits and paths that orch made stay.
func withoutSecrets(r *redact.Redactor, e core.Event) core.Event {
	if e.Kind != core.EpicLandedInto { // which names a branch
		e.Reason = r.String(e.Reason)
	}
	if e.Kind != core.MetaFiled { // which names an issue
		e.Text = r.String(e.Text)
	}
	e.Files = cleanAll(r, e.Files)
	if e.Read != nil {
		read := *e.Read
		read.Nodes = slices.Clone(read.Nodes)
		for i := range read.Nodes {
			read.Nodes[i].Title = r.String(read.Nodes[i].Title)
		}
		e.Read = &read
	}
	e.Wrote = slices.Clone(e.Wrote)
	for i := range e.Wrote {
		e.Wrote[i].Refused = r.String(e.Wrote[i].Refused)
	}
	if e.Land != nil {
		l := *e.Land
		l.Secrets = cleanAll(r, l.Secrets)
		e.Land = &l
	}
	if e.Agent != nil {
		a := *e.Agent
		a.Session, a.Signal, a.Unmerged = r.String(a.Session), r.String(a.Signal), cleanAll(r, a.Unmerged)
		e.Agent = &a
	}
	if e.Round != nil {
		round := *e.Round
		round.Feedback, round.Failure, round.FirstUnmet = r.String(round.Feedback), r.String(round.Failure), r.String(round.FirstUnmet)
		e.Round = &round
	}
	return e
}

func cleanAll(r *redact.Redactor, texts []string) []string {
	texts = slices.Clone(texts)
	for i := range texts {
		texts[i] = r.String(texts[i])
	}
	return texts
}

// cleanTracker reads and writes a tracker without secrets. What is read is redacted too, since
// it goes into briefs and into the journal, and is compared with what is there.
type cleanTracker struct {
	Tracker
	r *redact.Redactor
}

// Survey implements Tracker.
func (t cleanTracker) Survey(ctx context.Context) ([]beads.Issue, error) {
	issues, err := t.Tracker.Survey(ctx)
	issues = slices.Clone(issues)
	for i := range issues {
		issues[i] = withoutSecretsIn(t.r, issues[i])
	}
	return issues, err
}

// Apply implements Tracker.
func (t cleanTracker) Apply(ctx context.Context, actor string, changes []beads.Change) ([]beads.Outcome, error) {
	changes = slices.Clone(changes)
	for i := range changes {
		c := &changes[i]
		c.Note, c.Reason = t.r.String(c.Note), t.r.String(c.Reason)
		if c.Issue != nil {
			issue := withoutSecretsIn(t.r, *c.Issue)
			c.Issue = &issue
		}
	}
	return t.Tracker.Apply(ctx, actor, changes)
}

func withoutSecretsIn(r *redact.Redactor, i beads.Issue) beads.Issue {
	for _, text := range []*string{&i.Title, &i.Description, &i.Design, &i.AcceptanceCriteria, &i.Notes, &i.CloseReason, &i.Assignee, &i.ClosedBy} {
		*text = r.String(*text)
	}
	return i
}
