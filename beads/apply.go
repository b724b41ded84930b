package beads

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/beadsorch/orch/orchestrator/text"
	"github.com/beadsorch/orch/orchestrator/tracker"
)

// applying is one Apply of bd: changes by place, sorted by how they are made.
type applying struct {
	bd       *BD
	actor    string
	changes  []tracker.Change
	outcomes []tracker.Outcome
	claims   []int
	reopens  []int
	batch    []int
	notes    []int // of those in the batch that have one
	single   []int
}

// claimRefusals are the lines with which bd refuses a claim, as 1.0.5 prints
// them.
var claimRefusals = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^Error (?:claiming|resolving) (\S+): (.*)$`) })

// claim makes all claims in one call. Who got one is in the answer; who did not
// is printed on standard error, whatever the exit code.
func (a *applying) claim(ctx context.Context) error {
	if len(a.claims) == 0 {
		return nil
	}
	args := []string{"--actor", a.actor, "update"}
	for _, n := range a.claims {
		if id := a.changes[n].ID; isPlainID(id) {
			args = append(args, id)
		}
	}
	res, err := a.bd.call(ctx, nil, append(args, "--claim", "--json")...)
	if maybeDone(err) {
		return err // the same actor may claim again
	}
	refused := map[string]string{}
	for _, m := range claimRefusals().FindAllStringSubmatch(string(res.Stderr), -1) {
		refused[m[1]] = m[2]
	}
	got := map[string]bool{}
	if issues, err := Parse(ctx, res.Stdout); err == nil {
		for _, i := range issues {
			got[i.ID] = i.Assignee == a.actor
		}
	}
	for _, n := range a.claims {
		id := a.changes[n].ID
		switch why := refused[id]; {
		case got[id]:
		case !isPlainID(id):
			a.outcomes[n].Err = fmt.Errorf("%q is no id of bd's: %w", id, tracker.ErrRefused)
		case why != "":
			a.outcomes[n].Err = claimError(id, why)
		default:
			return fmt.Errorf("bd neither made nor refused the claim of %s: %w", id, orError(err))
		}
	}
	return nil
}

var errNoAnswer = errors.New("no answer")

func orError(err error) error {
	if err != nil {
		return err
	}
	return errNoAnswer
}

func claimError(id, why string) error {
	if by, ok := strings.CutPrefix(why, "issue already claimed by "); ok {
		return &tracker.ClaimedError{ID: id, By: by}
	}
	if strings.Contains(why, "no issue found") {
		return fmt.Errorf("%s: %w", id, tracker.ErrNotFound)
	}
	return fmt.Errorf("%s: %s: %w", id, why, tracker.ErrRefused)
}

// reopen looks which issues are closed now, and has those opened. bd itself opens an issue whatever its status is, also
// one that somebody has claimed meanwhile: so it is asked right before, and whoever reopens has to look afterwards.
func (a *applying) reopen(ctx context.Context) error {
	if len(a.reopens) == 0 {
		return nil
	}
	issues, err := a.bd.Survey(ctx)
	if err != nil {
		return err
	}
	x := tracker.NewIndex(issues)
	for _, n := range a.reopens {
		i, ok := x.Issue(a.changes[n].ID)
		switch {
		case !ok:
			a.outcomes[n].Err = fmt.Errorf("%s: %w", a.changes[n].ID, tracker.ErrNotFound)
		case i.Status != tracker.StatusClosed:
			a.outcomes[n].Err = mayReopen(i)
		case a.bd.version.before(batchSince) || !isPlainID(i.ID):
			a.single = append(a.single, n)
		default:
			a.batch = append(a.batch, n)
		}
	}
	return nil
}

// inBatch makes closes and bare statuses in one transaction. bd's batch checks
// nothing but that the issues exist; a transaction that fails is taken apart, so
// that one bad id holds nothing else up.
func (a *applying) inBatch(ctx context.Context) error {
	if len(a.batch) == 0 {
		return nil
	}
	var lines bytes.Buffer
	for _, n := range a.batch {
		c := a.changes[n]
		if c.Kind == tracker.Close {
			fmt.Fprintf(&lines, "close %s %s\n", c.ID, batchWord(c.Reason))
			continue
		}
		if c.Kind == tracker.Reopen {
			c.Status = tracker.StatusOpen
		}
		fmt.Fprintf(&lines, "update %s status=%s", c.ID, c.Status)
		if c.Status == tracker.StatusOpen {
			lines.WriteString(" assignee=")
		}
		lines.WriteByte('\n')
	}
	res, err := a.bd.call(ctx, lines.Bytes(), "--actor", a.actor, "batch", "--json")
	if err == nil && countOperations(res.Stdout) == len(a.batch) {
		return nil
	}
	left, back := a.undone(ctx, a.batch)
	if back != nil {
		return errors.Join(err, back)
	}
	a.single = append(left, a.single...)
	a.notes = slices.DeleteFunc(a.notes, func(n int) bool { return slices.Contains(left, n) })
	return nil
}

// countOperations is how many lines of a batch bd says it made; 0 when it does not say.
func countOperations(answer []byte) int {
	var said struct {
		Operations int `json:"operations"`
	}
	raw, err := firstValue(context.Background(), answer)
	if err != nil || json.Unmarshal(raw, &said) != nil {
		return 0
	}
	return said.Operations
}

// batchWord is a reason as one line of a batch takes it.
func batchWord(s string) string {
	s = strings.Join(strings.Fields(strings.NewReplacer(`"`, "'", `\`, "/", "#", "no.").Replace(s)), " ")
	if s == "" {
		return "closed"
	}
	return text.CutBytes(s, maxSaid)
}

// undone reads the tracker back and returns the changes that it does not show.
func (a *applying) undone(ctx context.Context, places []int) (left []int, err error) {
	issues, err := a.bd.Survey(ctx)
	if err != nil {
		return nil, err
	}
	x := tracker.NewIndex(issues)
	for _, n := range places {
		if !hasChange(x, a.changes[n]) {
			left = append(left, n)
		}
	}
	return left, nil
}

// hasChange reports whether the tracker has what the change wants.
func hasChange(x *tracker.Index, c tracker.Change) bool {
	i, ok := x.Issue(c.ID)
	switch c.Kind {
	case tracker.Close:
		return ok && i.Status == tracker.StatusClosed
	case tracker.Reopen:
		return ok && i.Status == tracker.StatusOpen
	case tracker.AddNote:
		return ok && strings.Contains(i.Notes, c.Note)
	case tracker.SetStatus:
		return ok && i.Status == c.Status && (c.Note == "" || strings.Contains(i.Notes, c.Note))
	}
	return false
}

// oneByOne makes what needs a call of its own.
func (a *applying) oneByOne(ctx context.Context) error {
	a.single = append(a.single, a.notes...)
	for _, n := range a.single {
		c := a.changes[n]
		if c.Kind == tracker.Create {
			id, err := a.create(ctx, *c.Issue, c.Anew)
			if err != nil {
				return err
			}
			a.outcomes[n].ID = id
			continue
		}
		err := a.alone(ctx, n)
		if maybeDone(err) {
			left, back := a.undone(ctx, []int{n})
			if back != nil || len(left) > 0 {
				return errors.Join(err, back)
			}
			err = nil
		}
		a.outcomes[n].Err = refusedError(c.ID, err)
	}
	return nil
}

// refusedError is the error of a call that bd refused.
func refusedError(id string, err error) error {
	var call *CallError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &call) && (strings.Contains(call.Said, "no issue") || strings.Contains(call.Said, "not found")):
		return fmt.Errorf("%s: %w", id, tracker.ErrNotFound)
	case errors.As(err, &call):
		return fmt.Errorf("%s: %s: %w", id, text.FirstLine(call.Said, ""), tracker.ErrRefused)
	}
	return err
}

// maxNote bounds a note: an argument of a process has a limit, and every update
// prints the whole issue back.
const maxNote = 8 << 10

func (a *applying) alone(ctx context.Context, n int) error {
	c := a.changes[n]
	if c.Kind == tracker.Reopen {
		c.Status = tracker.StatusOpen
	}
	args := []string{"--actor", a.actor}
	switch c.Kind {
	case tracker.Comment:
		return a.comment(ctx, c)
	case tracker.Close:
		args = append(args, "close", c.ID, "--reason", batchWord(c.Reason), "--force", "--json")
	default:
		args = append(args, "update", c.ID, "--json")
		if !slices.Contains(a.notes, n) {
			args = append(args, "--status", string(c.Status))
		}
		if c.Note != "" {
			args = append(args, "--append-notes", c.Note[:min(len(c.Note), maxNote)])
		}
		if c.Status == tracker.StatusOpen {
			args = append(args, "--assignee", "")
		}
	}
	res, err := a.bd.call(ctx, nil, args...)
	if err != nil {
		return err
	}
	issues, err := Parse(ctx, res.Stdout)
	if err != nil {
		return err // exit 0, and yet: it is read back
	}
	for _, i := range issues {
		if i.ID == c.ID {
			return nil
		}
	}
	return fmt.Errorf("bd did not answer for %s: %w", c.ID, errNoAnswer)
}

// create makes an issue; unless anew is set, not where one is open that looks the same: the answer to
// an earlier try may have been lost.
func (a *applying) create(ctx context.Context, want tracker.Issue, anew bool) (string, error) {
	if !anew {
		issues, err := a.bd.Survey(ctx)
		if err != nil {
			return "", err
		}
		for _, i := range issues {
			if sameIssue(i, want) {
				return i.ID, nil
			}
		}
	}
	title := want.Title
	if strings.HasPrefix(title, "-") {
		title = "--title=" + title // else it would be an option
	}
	args := []string{"--actor", a.actor, "create", title, "--type", want.Type, "--priority", fmt.Sprint(want.Priority), "--body-file", "-", "--json"}
	if len(want.Labels) > 0 {
		args = append(args, "--labels", strings.Join(want.Labels, ","))
	}
	if want.Design != "" {
		args = append(args, "--design", want.Design)
	}
	if want.AcceptanceCriteria != "" {
		args = append(args, "--acceptance", want.AcceptanceCriteria)
	}
	want, parent := parted(want)
	if parent != "" {
		args = append(args, "--parent", parent)
	}
	for _, d := range want.Dependencies {
		args = append(args, "--deps", d.Type+":"+d.DependsOnID)
	}
	res, err := a.bd.call(ctx, []byte(want.Description), args...)
	if err != nil {
		return "", err
	}
	made, err := Parse(ctx, res.Stdout)
	if err != nil || len(made) == 0 {
		return "", orError(err)
	}
	return made[0].ID, nil
}
