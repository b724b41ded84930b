package orchestrator

import (
	"context"
	"slices"

	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/iteration"
	"github.com/beadsorch/orch/orchestrator/redact"
	"github.com/beadsorch/orch/orchestrator/tracker"
)

// WithoutSecrets is the event with all text in it redacted that comes from agents, gates,
// hooks, the tracker and errors. It is done before the event is applied, so that the state, the
// journal, and all that is told by them, agree. Ids, commits and paths that orch made stay.
func WithoutSecrets(r *redact.Redactor, e epic.Event) epic.Event {
	if r == nil {
		return e
	}
	if e.Kind != epic.EpicLandedInto { // which names a branch
		e.Reason = r.String(e.Reason)
	}
	if e.Kind != epic.MetaFiled { // which names an issue
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
		l.Secrets, l.Rules = cleanAll(r, l.Secrets), cleanRules(r, l.Rules)
		e.Land = &l
	}
	if e.Tip != nil {
		tip := *e.Tip
		tip.Foreign = cleanAll(r, tip.Foreign)
		e.Tip = &tip
	}
	if e.Agent != nil {
		a := *e.Agent
		a.Session, a.Signal, a.Unmerged = r.String(a.Session), r.String(a.Signal), cleanAll(r, a.Unmerged)
		e.Agent = &a
	}
	if e.Round != nil {
		round := *e.Round
		round.Feedback, round.Failure, round.FirstUnmet = r.String(round.Feedback), r.String(round.Failure), r.String(round.FirstUnmet)
		round.Rules = cleanRules(r, round.Rules)
		e.Round = &round
	}
	return e
}

func cleanRules(r *redact.Redactor, rules []iteration.RuleOutcome) []iteration.RuleOutcome {
	rules = slices.Clone(rules)
	for i := range rules {
		rules[i].Message = r.String(rules[i].Message)
	}
	return rules
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
			issue := withoutSecretsIn(t.r, *c.Issue)
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
		issues[i] = withoutSecretsIn(r, issues[i])
	}
	return issues
}

func withoutSecretsIn(r *redact.Redactor, i tracker.Issue) tracker.Issue {
	for _, body := range []*string{&i.Title, &i.Description, &i.Design, &i.AcceptanceCriteria, &i.Notes, &i.CloseReason, &i.Assignee, &i.ClosedBy} {
		*body = r.String(*body)
	}
	return i
}
