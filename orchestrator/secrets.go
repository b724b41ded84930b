package orchestrator

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/redact"
	"github.com/beadsorch/orch/orchestrator/text"
	"github.com/beadsorch/orch/orchestrator/tracker"
)

// WithoutSecrets is the event with all text in it redacted that comes from outside. It is done
// before the event is applied, so that the state, the journal, and all that is told by them,
// agree. Ids, commits and paths that orch made stay.
func WithoutSecrets(r *redact.Redactor, e epic.Event) epic.Event {
	if r == nil {
		return e
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

const (
	maxScanned  = 8 << 20 // bytes of a difference that are looked through for secrets
	maxReported = 20      // findings that an event names
)

// secretsIn lists what looks secret in the lines that come between two commits, as
// "FILE (NAME)". Commits stay as they are: a person has to know. What cannot be looked
// through, or is too much, is said too.
func (x *Effects) secretsIn(ctx context.Context, from, to epic.Commit) (found []string) {
	if x.Redact == nil {
		return nil
	}
	out, err := x.Repo.Out(ctx, "diff-tree", "-r", "-p", "--unified=0", "--no-color", "--no-renames", "--no-ext-diff", "--no-textconv", "--text", "--src-prefix=a/", "--dst-prefix=b/",
		"--end-of-options", string(from), string(to), "--")
	if err != nil {
		return []string{"not looked through for secrets: " + text.FirstLine(err.Error(), "git failed")}
	}
	cut := len(out) > maxScanned
	found = addedSecrets(x.Redact, out[:min(len(out), maxScanned)])
	if len(found) > maxReported {
		found = append(found[:maxReported], fmt.Sprintf("and %d more", len(found)-maxReported))
	}
	if cut {
		found = append(found, fmt.Sprintf("only the first %d MiB of the difference were looked through", maxScanned>>20))
	}
	return found
}

// addedSecrets looks through the added lines of a patch without context, a file at a time.
func addedSecrets(r *redact.Redactor, patch string) (found []string) {
	var file string
	var added []byte
	done := func() {
		for _, name := range r.Names(added) {
			found = append(found, fmt.Sprintf("%s (%s)", r.String(file), name))
		}
		added = added[:0]
	}
	left := 0 // lines of the hunk, which may look like anything
	for line := range strings.Lines(patch) {
		switch {
		case left > 0:
			left--
			if line[0] == '\\' {
				left++ // "No newline at end of file" is no line
			}
			if line[0] == '+' {
				added = append(added, line[1:]...)
			}
		case strings.HasPrefix(line, "diff --git "):
			done()
			file = ""
		case strings.HasPrefix(line, "+++ "):
			file = strings.TrimPrefix(unquotedPath(strings.TrimRight(line[4:], "\n\t")), "b/")
		case strings.HasPrefix(line, "@@ "):
			left = hunkLines(line)
		}
	}
	done()
	return found
}

// unquotedPath is a path as git prints it, which quotes one with unusual bytes.
func unquotedPath(path string) string {
	if plain, err := strconv.Unquote(path); err == nil {
		return plain
	}
	return path
}

// hunkLines is how many lines follow "@@ -1,2 +3 @@".
func hunkLines(head string) (n int) {
	fields := strings.Fields(head)
	for _, field := range fields[1:min(3, len(fields))] {
		count := 1
		if _, body, ok := strings.Cut(field, ","); ok {
			if c, err := strconv.Atoi(body); err == nil {
				count = c
			}
		}
		n += count
	}
	return n
}
