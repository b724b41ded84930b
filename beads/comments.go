package beads

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/beadsorch/orch/orchestrator/tracker"
)

// comment adds one to an issue.
func (tx *transaction) comment(i *tracker.Issue, actor, text string) error {
	if strings.TrimSpace(text) == "" {
		return fmt.Errorf("the comment is empty: %w", tracker.ErrRefused)
	}
	all, err := i.Comments()
	if err != nil {
		return fmt.Errorf("the comments of %s: %w", i.ID, err)
	}
	i.Keep("comments", append(all, tracker.CommentRecord{ID: json.RawMessage(strconv.Quote(newUUID())), IssueID: i.ID, Author: actor, Text: text, CreatedAt: tx.now}))
	i.UpdatedAt = tx.now
	return nil
}

// newUUID is a random one, as RFC 9562 has them.
func newUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // which never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// Comments gives those of an issue, oldest first. It fails with tracker.ErrNotFound, and as Survey does.
func (f *File) Comments(ctx context.Context, id string) ([]tracker.CommentRecord, error) {
	issues, err := f.Survey(ctx)
	if err != nil {
		return nil, err
	}
	i, ok := tracker.NewIndex(issues).Issue(id)
	if !ok {
		return nil, fmt.Errorf("%s: %w", id, tracker.ErrNotFound)
	}
	return i.Comments()
}

// Comments gives those of an issue, oldest first, by one call of bd. It fails with tracker.ErrNotFound, and as Survey does.
func (b *BD) Comments(ctx context.Context, id string) (all []tracker.CommentRecord, err error) {
	if !isPlainID(id) {
		return nil, fmt.Errorf("%q is no id of bd's: %w", id, tracker.ErrNotFound)
	}
	res, err := b.call(ctx, nil, "comments", id, "--json")
	if err != nil {
		return nil, refusedError(id, err)
	}
	raw, err := firstValue(ctx, res.Stdout)
	if err == nil {
		err = json.Unmarshal(raw, &all)
	}
	if err != nil {
		return nil, fmt.Errorf("bd's comments of %s: %w", id, err)
	}
	return all, nil
}

// comment adds one to an issue. Where the answer was lost it is read back.
func (a *applying) comment(ctx context.Context, c tracker.Change) error {
	_, err := a.bd.call(ctx, []byte(c.Note), "--actor", a.actor, "comment", c.ID, "--stdin", "--json")
	if !maybeDone(err) {
		return err
	}
	all, back := a.bd.Comments(ctx, c.ID)
	if back != nil {
		return errors.Join(err, back)
	}
	same := func(r tracker.CommentRecord) bool {
		return strings.TrimSpace(r.Text) == strings.TrimSpace(c.Note) && time.Since(r.CreatedAt) < time.Hour
	}
	if slices.ContainsFunc(all, same) {
		return nil
	}
	return err
}

// parted takes the edge to its parent out of an issue that is to be made.
func parted(i tracker.Issue) (without tracker.Issue, parent string) {
	var rest []tracker.Dependency
	for _, d := range i.Dependencies {
		if d.Type == tracker.DepParent {
			parent = d.DependsOnID
			continue
		}
		rest = append(rest, d)
	}
	i.Dependencies = rest
	return i, parent
}
