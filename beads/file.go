package beads

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"github.com/beadsorch/orch/orchestrator/tracker"
)

// FileName is the embedded tracker's file, in the .beads folder. The lock is on
// the folder itself, so that no other file is left in it.
const FileName = "issues.jsonl"

// FileOptions say where an embedded tracker is.
type FileOptions struct {
	Dir   string // the .beads folder; made with the first write
	Now   func() time.Time
	Actor string // who makes issues, for created_by; may be ""
	// Clean takes secrets out of the texts of each issue that is made or changed; nil leaves them.
	Clean func(string) string
}

// File is the embedded tracker: one file in beads' interchange format, locked
// while it is changed, and replaced as a whole. A file that does not parse is
// never replaced.
type File struct {
	opt FileOptions

	mu    sync.Mutex
	stamp stamp // of what is cached
	cache []record
}

// stamp changes when the content of a file does.
type stamp struct {
	size int64
	mod  time.Time
}

// OpenFile opens the embedded tracker, which need not exist yet. It fails with a
// [*DamagedError] when the file is there and does not parse, and when it cannot be read.
func OpenFile(opt FileOptions) (*File, error) {
	f := &File{opt: opt}
	if _, err := f.read(); err != nil {
		return nil, err
	}
	return f, nil
}

// Name is "file".
func (f *File) Name() string { return "file" }

func (f *File) path() string { return filepath.Join(f.opt.Dir, FileName) }

// read returns the records; a file that has not changed is not read again.
func (f *File) read() ([]record, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	info, err := os.Stat(f.path())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the tasks: %w", err)
	}
	if err := notPlain(f.path(), info.Mode()); err != nil {
		return nil, err
	}
	now := stamp{info.Size(), info.ModTime()}
	if f.cache != nil && now == f.stamp {
		return f.cache, nil
	}
	if info.Size() > maxParseBytes {
		return nil, &DamagedError{Path: f.path(), Why: fmt.Sprintf("it has more than %d bytes", maxParseBytes)}
	}
	data, err := readPlain(f.path())
	if err != nil {
		return nil, err
	}
	records, all := []record{}, newLines(f.path())
	for line := range bytes.Lines(data) {
		r, ok, err := all.next(line)
		if err != nil {
			return nil, err
		}
		if ok {
			records = append(records, r)
		}
	}
	f.cache, f.stamp = records, now
	return records, nil
}

// readPlain reads the file of the tracker; it never waits.
func readPlain(path string) ([]byte, error) {
	file, _, err := openPlain(path)
	if err != nil {
		return nil, fmt.Errorf("reading the tasks: %w", err)
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxParseBytes+1))
	if err != nil {
		return nil, fmt.Errorf("reading the tasks: %w", err)
	}
	return data, nil
}

func issuesOf(records []record) []tracker.Issue {
	issues := []tracker.Issue{}
	for _, r := range records {
		if r.issue != nil {
			issues = append(issues, *r.issue)
		}
	}
	return issues
}

// Survey returns every issue. It fails when the file cannot be read or does
// not parse.
func (f *File) Survey(context.Context) ([]tracker.Issue, error) {
	records, err := f.read()
	return issuesOf(records), err
}

// transaction is a change of the tracker, made under its lock.
type transaction struct {
	records []record
	at      map[string]int
	now     time.Time
}

func (tx *transaction) issue(id string) (*tracker.Issue, error) {
	n, ok := tx.at[id]
	if !ok {
		return nil, fmt.Errorf("%s: %w", id, tracker.ErrNotFound)
	}
	return tx.records[n].issue, nil
}

func (tx *transaction) index() *tracker.Index { return tracker.NewIndex(issuesOf(tx.records)) }

func (tx *transaction) add(i tracker.Issue) {
	tx.at[i.ID] = len(tx.records)
	tx.records = append(tx.records, record{issue: &i})
}

// change runs edit on the tracker under its lock, and replaces the file when
// edit has no error. It fails when the lock is not had before ctx ends.
func (f *File) change(ctx context.Context, edit func(*transaction) error) error {
	if err := os.Mkdir(f.opt.Dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) { // the repository's folder is there, or was moved
		return fmt.Errorf("making the tasks' folder: %w", err)
	}
	lock := flock.New(f.opt.Dir, flock.SetFlag(os.O_RDONLY))
	if _, err := lock.TryLockContext(ctx, 10*time.Millisecond); err != nil {
		return fmt.Errorf("locking the tasks: %w", err)
	}
	err := f.changeLocked(edit)
	return errors.Join(err, lock.Unlock())
}

func (f *File) changeLocked(edit func(*transaction) error) error {
	records, err := f.read()
	if err != nil {
		return err
	}
	tx := &transaction{at: map[string]int{}, now: f.opt.Now().UTC().Truncate(time.Second)}
	for n, r := range records {
		if r.issue != nil {
			i := *r.issue
			i.Dependencies, i.Labels = slices.Clone(i.Dependencies), slices.Clone(i.Labels)
			r.issue, tx.at[i.ID] = &i, n
		}
		tx.records = append(tx.records, r)
	}
	if err := edit(tx); err != nil {
		return err
	}
	f.clean(tx.records, records)
	data, err := encodeRecords(tx.records, records)
	if err != nil {
		return err
	}
	return replace(f.path(), data)
}

// clean takes secrets out of the issues that are not as they were.
func (f *File) clean(records, were []record) {
	for n, r := range records {
		if f.opt.Clean != nil && r.issue != nil && !(n < len(were) && reflect.DeepEqual(r.issue, were[n].issue)) {
			*r.issue = r.issue.EditTexts(f.opt.Clean)
		}
	}
}

// encodeRecords writes records as lines. Those that are as they were keep their line byte
// for byte, so that what a person sees of a change is the change.
func encodeRecords(records, were []record) ([]byte, error) {
	var out bytes.Buffer
	for n, r := range records {
		line := r.raw
		same := n < len(were) && were[n].raw != nil && reflect.DeepEqual(r.issue, were[n].issue)
		if r.issue != nil && !same {
			var err error
			if line, err = r.issue.MarshalJSON(); err != nil {
				return nil, fmt.Errorf("writing %s: %w", r.issue.ID, err)
			}
		}
		out.Write(line)
		out.WriteByte('\n')
	}
	return out.Bytes(), nil
}

// replace writes a file beside, syncs it, renames it, and syncs the folder. The one
// beside has a name of its own: what a killed write leaves is taken by the next.
func replace(path string, data []byte) error {
	dir := filepath.Dir(path)
	tmp, err := os.OpenFile(filepath.Join(dir, ".issues.jsonl.new"), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return fmt.Errorf("writing the tasks: %w", err)
	}
	_, err = tmp.Write(data)
	if err = errors.Join(err, tmp.Sync(), tmp.Close()); err != nil {
		return errors.Join(fmt.Errorf("writing the tasks: %w", err), os.Remove(tmp.Name()))
	}
	if err := os.Rename(tmp.Name(), path); err != nil {
		return errors.Join(fmt.Errorf("writing the tasks: %w", err), os.Remove(tmp.Name()))
	}
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("writing the tasks: %w", err)
	}
	return errors.Join(d.Sync(), d.Close())
}

// Apply makes the changes in one replacement of the file. Each has an outcome of
// its own; an error means that none was made. It fails with [ErrNoDatabase] where there is no file.
func (f *File) Apply(ctx context.Context, actor string, changes []tracker.Change) ([]tracker.Outcome, error) {
	if !isFile(f.path()) { // a tracker that was taken away is not begun anew
		return nil, fmt.Errorf("%s: %w", f.opt.Dir, ErrNoDatabase)
	}
	var outcomes []tracker.Outcome
	err := f.change(ctx, func(tx *transaction) error {
		outcomes = nil
		for _, c := range changes {
			id, err := tx.apply(actor, c)
			outcomes = append(outcomes, tracker.Outcome{ID: id, Err: err})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return outcomes, nil
}

func (tx *transaction) apply(actor string, c tracker.Change) (string, error) {
	if c.Kind == tracker.Create {
		for _, r := range tx.records {
			if !c.Anew && r.issue != nil && sameIssue(*r.issue, *c.Issue) {
				return r.issue.ID, nil
			}
		}
		i, parent := parted(*c.Issue)
		return tx.create(i, parent, actor)
	}
	i, err := tx.issue(c.ID)
	if err != nil {
		return c.ID, err
	}
	switch c.Kind {
	case tracker.Claim:
		err = tx.claim(i, actor)
	case tracker.Reopen:
		if err = mayReopen(*i); err == nil && i.Status == tracker.StatusClosed {
			tx.status(i, tracker.StatusOpen)
		}
	case tracker.SetStatus:
		tx.status(i, c.Status)
		if c.Note != "" {
			i.Notes = strings.TrimPrefix(i.Notes+"\n"+c.Note, "\n")
		}
	case tracker.AddNote:
		i.Notes, i.UpdatedAt = strings.TrimPrefix(i.Notes+"\n"+c.Note, "\n"), tx.now
	case tracker.Comment:
		err = tx.comment(i, actor, c.Note)
	case tracker.Close:
		if i.Status != tracker.StatusClosed { // else another closed it
			i.ClosedBy = actor
		}
		tx.close(i, c.Reason)
	}
	return c.ID, err
}

// sameIssue reports whether a wanted issue is there already: open, with the same
// title and all the labels.
func sameIssue(have, want tracker.Issue) bool {
	if have.Title != want.Title || have.Status == tracker.StatusClosed {
		return false
	}
	for _, l := range want.Labels {
		if !slices.Contains(have.Labels, l) {
			return false
		}
	}
	return true
}

// claim follows bd: it takes only an open issue without an assignee, or the actor's own.
func (tx *transaction) claim(i *tracker.Issue, actor string) error {
	switch {
	case i.Assignee == actor && (i.Status == tracker.StatusOpen || i.Status == tracker.StatusInProgress):
	case i.Assignee != "" && i.Assignee != actor && !i.Status.Done():
		return &tracker.ClaimedError{ID: i.ID, By: i.Assignee}
	case i.Status != tracker.StatusOpen:
		return fmt.Errorf("%s is %s: %w", i.ID, i.Status, tracker.ErrRefused)
	}
	i.Assignee, i.Status, i.UpdatedAt = actor, tracker.StatusInProgress, tx.now
	if !i.Has("started_at") {
		i.Keep("started_at", tx.now)
	}
	return nil
}

// mayReopen fails where an issue is neither closed nor open already: with a [tracker.ClaimedError] where somebody is at it.
func mayReopen(i tracker.Issue) error {
	switch {
	case i.Status == tracker.StatusClosed, i.Status == tracker.StatusOpen:
		return nil
	case i.Status == tracker.StatusInProgress && i.Assignee != "":
		return &tracker.ClaimedError{ID: i.ID, By: i.Assignee}
	}
	return fmt.Errorf("%s is %s: %w", i.ID, i.Status, tracker.ErrRefused)
}

func (tx *transaction) status(i *tracker.Issue, s tracker.Status) {
	i.Status, i.UpdatedAt = s, tx.now
	if s != tracker.StatusClosed {
		i.ClosedAt, i.CloseReason, i.ClosedBy = nil, "", ""
	}
	if s == tracker.StatusOpen {
		i.Assignee = ""
	}
}

func (tx *transaction) close(i *tracker.Issue, reason string) {
	at := tx.now
	i.Status, i.UpdatedAt, i.ClosedAt, i.CloseReason = tracker.StatusClosed, at, &at, reason
}

// create adds an issue that somebody has filed, with an id of its own when it has none.
func (tx *transaction) create(i tracker.Issue, parent, by string) (string, error) {
	if err := validate(i); err != nil {
		return "", err
	}
	if parent != "" {
		if _, err := tx.issue(parent); err != nil {
			return "", err
		}
	}
	if i.ID == "" {
		i.ID = tx.newID(parent)
	} else if _, err := tx.issue(i.ID); err == nil {
		return "", fmt.Errorf("%s exists: %w", i.ID, tracker.ErrRefused)
	}
	i.Status, i.CreatedAt, i.UpdatedAt = tracker.StatusOpen, tx.now, tx.now
	for n := range i.Dependencies {
		i.Dependencies[n].IssueID, i.Dependencies[n].CreatedAt = i.ID, tx.now
	}
	i.Keep("_type", "issue")
	if by != "" {
		i.Keep("created_by", by)
	}
	if parent != "" {
		i.Dependencies = append(i.Dependencies, tracker.Dependency{IssueID: i.ID, DependsOnID: parent, Type: tracker.DepParent, CreatedAt: tx.now})
	}
	tx.add(i)
	return i.ID, nil
}

// maxTitle is bd's own limit.
const maxTitle = 500

func validate(i tracker.Issue) error {
	switch {
	case strings.TrimSpace(i.Title) == "":
		return fmt.Errorf("the title is empty: %w", tracker.ErrRefused)
	case len([]rune(i.Title)) > maxTitle:
		return fmt.Errorf("the title is over %d characters: %w", maxTitle, tracker.ErrRefused)
	case i.Priority < 0 || i.Priority > 4:
		return fmt.Errorf("priority %d is not between 0 and 4: %w", i.Priority, tracker.ErrRefused)
	case !slices.Contains([]string{tracker.TypeTask, tracker.TypeEpic, "bug", "feature", "chore", "decision"}, i.Type):
		return fmt.Errorf("type %q is none of task, epic, bug, feature, chore, decision: %w", i.Type, tracker.ErrRefused)
	case strings.ContainsAny(i.ID, " \t\r\n"):
		return fmt.Errorf("id %q has space in it: %w", i.ID, tracker.ErrRefused)
	}
	return nil
}

// newID is <parent>.<n>, with a number that no child of it ever had as far as
// the file tells, or <prefix>-<random base36>.
func (tx *transaction) newID(parent string) string {
	if parent != "" {
		most := 0
		for id := range tx.at {
			rest, ok := strings.CutPrefix(id, parent+".")
			if n, err := strconv.Atoi(rest); ok && err == nil {
				most = max(most, n)
			}
		}
		return fmt.Sprintf("%s.%d", parent, most+1)
	}
	length := 3
	for n := len(tx.at); n > 500; n /= 36 {
		length++
	}
	for {
		id := tx.prefix() + "-" + strings.ToLower(rand.Text()[:length])
		if _, taken := tx.at[id]; !taken {
			return id
		}
	}
}

// prefix is that of the ids that are there, else "or".
func (tx *transaction) prefix() string {
	for _, r := range tx.records {
		if r.issue != nil {
			if p, _, ok := strings.Cut(r.issue.ID, "-"); ok && p != "" {
				return p
			}
		}
	}
	return "or"
}
