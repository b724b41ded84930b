// Package checkpoint keeps an iteration loop and its checkpoints on disk.
//
// A book is a folder with a journal: each step is written down, safe on disk, before it
// counts, and opening the book again goes through the steps once more. So a process that is
// killed between any two of them loses nothing.
package checkpoint

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/beadsorch/orch/orchestrator/iteration"
	"github.com/beadsorch/orch/orchestrator/journal"
	"github.com/beadsorch/orch/orchestrator/private"
	"github.com/beadsorch/orch/orchestrator/redact"
	"github.com/beadsorch/orch/orchestrator/validation"
)

// The triggers of checkpoints that orch makes itself; a person's or an agent's say their own.
const (
	AutoIteration = "auto_iteration" // an iteration has begun
	Turn          = "turn"           // an agent of a run has ended a turn
	Manual        = "manual"         // somebody asked for it
)

// Checkpoint is a point that an agent can go on from.
type Checkpoint struct {
	ID              string          `json:"checkpointId"`              // names it among those of the task
	TaskID          string          `json:"taskId"`                    // the id of the task in the tracker
	Sequence        int             `json:"sequence"`                  // its number among them, from 1
	Trigger         string          `json:"trigger"`                   // why it was made
	ExecutionPhase  string          `json:"executionPhase,omitempty"`  // what the agent was at, such as implementation
	ExecutionStep   int             `json:"executionStep,omitempty"`   // which step of that
	AgentContext    json.RawMessage `json:"agentContext,omitempty"`    // what the agent wanted to know again, any JSON; absent for nothing
	FilesModified   []string        `json:"filesModified,omitempty"`   // as the agent names them
	DraftContent    string          `json:"draftContent,omitempty"`    // a draft that is in no file yet
	DraftType       string          `json:"draftType,omitempty"`       // what kind of draft that is
	Notes           string          `json:"notes,omitempty"`           // on the iteration before, by its agent, or how a turn ended
	IterationNumber int             `json:"iterationNumber,omitempty"` // of the current iteration, from 1; 0 without a loop
	CreatedAt       time.Time       `json:"createdAt"`                 // when it was made, UTC
	ExpiresAt       time.Time       `json:"expiresAt,omitzero"`        // when it is no longer gone on from, UTC; zero: never by itself
	Expired         bool            `json:"expired,omitempty"`         // it has expired by hand
}

// live reports whether it can be gone on from.
func (c Checkpoint) live(now time.Time) bool {
	return !c.Expired && (c.ExpiresAt.IsZero() || now.Before(c.ExpiresAt))
}

// The ways in which a book refuses; nothing has changed then.
var (
	// ErrNoLoop says that no loop was started.
	ErrNoLoop = errors.New("no iteration loop was started for this task")
	// ErrActive says that a loop goes on already.
	ErrActive = errors.New("an iteration loop goes on already for this task")
	// ErrNotFound says that there is no such checkpoint that can be gone on from.
	ErrNotFound = errors.New("no such checkpoint")
	// ErrHeld says that another process has the book open.
	ErrHeld = errors.New("another process works on this loop")
	// ErrContext says that what an agent wants kept is not JSON, or too much.
	ErrContext = errors.New("no agent context")
)

// The bounds on what an agent may have kept, in bytes, and on its words.
const (
	maxContext = 256 << 10
	maxDraft   = 1 << 20
	maxOutput  = 64 << 10
)

// event is one step. Its names are what is on disk.
type event struct {
	Kind       string              `json:"kind"`
	TaskID     string              `json:"taskId,omitempty"`     // started
	Config     *iteration.Config   `json:"config,omitempty"`     // started
	Verdict    *validation.Verdict `json:"verdict,omitempty"`    // validated
	Output     string              `json:"output,omitempty"`     // validated: the end of what the agent said
	Hook       iteration.Hook      `json:"hook,omitzero"`        // validated
	At         time.Time           `json:"at"`                   // UTC
	Limit      int                 `json:"limit,omitempty"`      // limited
	Checkpoint *Checkpoint         `json:"checkpoint,omitempty"` // checkpointed
	IDs        []string            `json:"ids,omitempty"`        // expired, removed
}

// The kinds of events.
const (
	started      = "started"
	validated    = "validated"
	advanced     = "advanced"
	ended        = "ended"
	limited      = "limited"
	checkpointed = "checkpointed"
	expired      = "expired"
	removed      = "removed"
)

// Book is a task's loop with its checkpoints, open for one process.
type Book struct {
	journal *journal.Journal
	lock    *flock.Flock
	now     func() time.Time
	loop    *iteration.Loop // nil before one was started
	points  []Checkpoint    // in order
	made    int             // checkpoints ever, for their sequence
	secrets *redact.Redactor
	tell    func(Step) error // nil for nobody
}

// RedactBy has secrets taken out of all that is kept from now on.
func (b *Book) RedactBy(r *redact.Redactor) { b.secrets = r }

// Folder is where an attempt's book is, in the attempt's own folder.
const Folder = "iterations"

// In is where the book of an attempt is whose folder is given.
func In(attempt string) string { return filepath.Join(attempt, Folder) }

// Prune forgets the book in dir: the loop and its checkpoints. What else is there stays.
func Prune(dir string) error {
	files, err := filepath.Glob(filepath.Join(dir, "journal.*"))
	for _, path := range append(files, filepath.Join(dir, "lock")) {
		if rm := os.Remove(path); rm != nil && !errors.Is(rm, os.ErrNotExist) {
			err = errors.Join(err, rm)
		}
	}
	if err != nil {
		return fmt.Errorf("forgetting the checkpoints: %w", err)
	}
	return nil
}

// lockWait is how long another process is waited for.
const lockWait = 5 * time.Second

// Open opens the book in dir, a private folder that is made where it is missing. It fails
// with [ErrHeld], or as a journal does.
func Open(ctx context.Context, dir string, now func() time.Time) (*Book, error) {
	lock := filepath.Join(dir, "lock")
	files, err := below(dir)
	if err == nil {
		err = errors.Join(files.Plain(lock), files.Close())
	}
	if err != nil {
		return nil, fmt.Errorf("opening the loop: %w", err)
	}
	b := &Book{lock: flock.New(lock, flock.SetPermissions(0o600), flock.SetFlag(private.LockFlags)), now: now}
	wait, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	if ok, err := b.lock.TryLockContext(wait, 20*time.Millisecond); !ok {
		return nil, errors.Join(ErrHeld, err)
	}
	j, recovered, err := journal.Open(dir, now)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening the loop: %w", err), b.lock.Unlock())
	}
	b.journal = j
	if err := b.replay(recovered); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

// Read is the book in dir as it stands, not to be written to, without a lock. It fails with
// [ErrNoLoop] when there is none.
func Read(dir string, now func() time.Time) (*Book, error) {
	recovered, err := journal.Read(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, ErrNoLoop
	}
	if err != nil {
		return nil, fmt.Errorf("reading the loop: %w", err)
	}
	b := &Book{now: now}
	return b, b.replay(recovered)
}

// LoopIn is the loop of the book in dir as it stands. It fails with [ErrNoLoop] where there is
// no book, or checkpoints alone.
func LoopIn(dir string, now func() time.Time) (iteration.Loop, error) {
	b, err := Read(dir, now)
	if err != nil {
		return iteration.Loop{}, err
	}
	return b.Loop()
}

func (b *Book) replay(recovered journal.Recovery) error {
	for _, r := range recovered.Records {
		var e event
		if err := json.Unmarshal(r.Event, &e); err != nil {
			return fmt.Errorf("reading step %d of the loop: %w", r.Seq, err)
		}
		if err := b.apply(e); err != nil {
			return fmt.Errorf("step %d of the loop: %w", r.Seq, err)
		}
	}
	return nil
}

// Close ends the use of the book.
func (b *Book) Close() error {
	return errors.Join(b.journal.Close(), b.lock.Unlock())
}

// record tries steps, writes them down together, and only then does them.
func (b *Book) record(steps ...event) error {
	trial, events := *b, make([]any, 0, len(steps))
	for n := range steps {
		steps[n] = steps[n].without(b.secrets)
		steps[n].At = b.now().UTC()
		if err := trial.apply(steps[n]); err != nil {
			return err
		}
		events = append(events, steps[n])
	}
	if err := b.told(steps, trial.loop); err != nil {
		return err
	}
	if _, err := b.journal.AppendAll(events...); err != nil {
		return fmt.Errorf("writing down the step %s: %w", steps[0].Kind, err)
	}
	b.loop, b.points, b.made = trial.loop, trial.points, trial.made
	return nil
}

// without is the step with the texts of agents, rules and hooks redacted.
func (e event) without(r *redact.Redactor) event {
	if r == nil {
		return e
	}
	e.Output = r.String(e.Output)
	e.Hook.Reason, e.Hook.NextPrompt = r.String(e.Hook.Reason), r.String(e.Hook.NextPrompt)
	if e.Verdict != nil {
		v := *e.Verdict
		v.Checks = slices.Clone(v.Checks)
		for i := range v.Checks {
			v.Checks[i].Why, v.Checks[i].Output = r.String(v.Checks[i].Why), r.String(v.Checks[i].Output)
		}
		e.Verdict = &v
	}
	if e.Checkpoint != nil {
		c := *e.Checkpoint
		for _, text := range []*string{&c.Trigger, &c.ExecutionPhase, &c.DraftContent, &c.DraftType, &c.Notes} {
			*text = r.String(*text)
		}
		c.FilesModified = slices.Clone(c.FilesModified)
		for i := range c.FilesModified {
			c.FilesModified[i] = r.String(c.FilesModified[i])
		}
		if clean := r.Bytes(c.AgentContext); len(r.Names(c.AgentContext)) > 0 {
			if c.AgentContext = clean; !json.Valid(clean) {
				c.AgentContext = json.RawMessage(`"[redacted]"`)
			}
		}
		e.Checkpoint = &c
	}
	return e
}

// apply does a step. It is a function of the book and the event alone.
func (b *Book) apply(e event) error {
	switch e.Kind {
	case started:
		if b.loop != nil && b.loop.Done == "" {
			return ErrActive
		}
		l, err := iteration.Start(e.TaskID, *e.Config)
		if err != nil {
			return err
		}
		b.loop = &l
		return nil
	case checkpointed:
		b.made++
		b.points = append(slices.Clone(b.points), *e.Checkpoint)
		if b.loop != nil && e.Checkpoint.AgentContext != nil {
			l := *b.loop
			l.AgentContext = e.Checkpoint.AgentContext
			b.loop = &l
		}
		return nil
	case expired:
		b.points = slices.Clone(b.points)
		for n := range b.points {
			b.points[n].Expired = b.points[n].Expired || slices.Contains(e.IDs, b.points[n].ID)
		}
		return nil
	case removed:
		b.points = slices.DeleteFunc(slices.Clone(b.points), func(c Checkpoint) bool { return slices.Contains(e.IDs, c.ID) })
		return nil
	}
	if b.loop == nil {
		return ErrNoLoop
	}
	l, err := step(*b.loop, e)
	if err == nil {
		b.loop = &l
	}
	return err
}

// step is a step of the loop itself.
func step(l iteration.Loop, e event) (iteration.Loop, error) {
	switch e.Kind {
	case validated:
		l, _, err := l.Validate(*e.Verdict, e.Output, e.Hook, e.At)
		return l, err
	case advanced:
		return l.Next()
	case ended:
		return l.End()
	case limited:
		return l.Limit(e.Limit)
	}
	return l, fmt.Errorf("a step that is not known: %q", e.Kind)
}

// Loop is the loop as it stands. It fails with [ErrNoLoop].
func (b *Book) Loop() (iteration.Loop, error) {
	if b.loop == nil {
		return iteration.Loop{}, ErrNoLoop
	}
	return *b.loop, nil
}

// Start begins a loop, with the checkpoint of its first iteration. It fails with
// [ErrActive], or [iteration.ErrConfig].
func (b *Book) Start(task string, c iteration.Config) (Checkpoint, error) {
	point := b.point(Checkpoint{TaskID: task, Trigger: AutoIteration, ExecutionPhase: "iteration", ExecutionStep: 1, IterationNumber: 1})
	return point, b.record(event{Kind: started, TaskID: task, Config: &c}, event{Kind: checkpointed, Checkpoint: &point})
}

// Validate ends the iteration by a verdict, by what the agent has said, and by what the
// task's hooks say.
func (b *Book) Validate(v validation.Verdict, output string, hook iteration.Hook) (iteration.Outcome, error) {
	if len(output) > maxOutput {
		output = strings.ToValidUTF8(output[len(output)-maxOutput:], "")
	}
	if err := b.record(event{Kind: validated, Verdict: &v, Output: output, Hook: hook}); err != nil {
		return iteration.Outcome{}, err
	}
	return *b.loop.Last, nil
}

// Next goes on to the next iteration, with a checkpoint for it: the agent's context carries
// over, a draft does not. The notes are the agent's on the iteration that it leaves.
func (b *Book) Next(notes string) (Checkpoint, error) {
	l, err := b.Loop()
	if err != nil {
		return Checkpoint{}, err
	}
	if len(notes) > maxOutput {
		notes = strings.ToValidUTF8(notes[:maxOutput], "")
	}
	n := l.Iteration + 1
	point := b.point(Checkpoint{TaskID: l.TaskID, Trigger: AutoIteration, ExecutionPhase: "iteration", ExecutionStep: n, IterationNumber: n, AgentContext: l.AgentContext, Notes: notes})
	return point, b.record(event{Kind: advanced}, event{Kind: checkpointed, Checkpoint: &point})
}

// End completes the loop, or gives it up.
func (b *Book) End() (iteration.Loop, error) {
	if err := b.record(event{Kind: ended}); err != nil {
		return iteration.Loop{}, err
	}
	return *b.loop, nil
}

// Limit sets the maximum of iterations in flight.
func (b *Book) Limit(n int) (iteration.Loop, error) {
	if err := b.record(event{Kind: limited, Limit: n}); err != nil {
		return iteration.Loop{}, err
	}
	return *b.loop, nil
}

// Create makes a checkpoint; its id, sequence, time and iteration are set here. It fails
// with [ErrContext].
func (b *Book) Create(c Checkpoint) (Checkpoint, error) {
	switch {
	case c.AgentContext != nil && !json.Valid(c.AgentContext):
		return Checkpoint{}, fmt.Errorf("%w: not JSON", ErrContext)
	case len(c.AgentContext) > maxContext:
		return Checkpoint{}, fmt.Errorf("%w: %d bytes; %d at most", ErrContext, len(c.AgentContext), maxContext)
	case len(c.DraftContent) > maxDraft:
		return Checkpoint{}, fmt.Errorf("%w: a draft of %d bytes; %d at most", ErrContext, len(c.DraftContent), maxDraft)
	}
	c.IterationNumber = 0
	if b.loop != nil {
		c.IterationNumber = b.loop.Iteration
	}
	c = b.point(c)
	return c, b.record(event{Kind: checkpointed, Checkpoint: &c})
}

// point gives a checkpoint its id, its sequence and its time.
func (b *Book) point(c Checkpoint) Checkpoint {
	now, prefix := b.now().UTC(), "CP"
	if c.Trigger == AutoIteration {
		prefix = "IT"
	}
	c.CreatedAt, c.Sequence, c.Expired = now, b.made+1, false
	c.ID = fmt.Sprintf("%s-%d-%s", prefix, now.UnixMilli(), strings.ToLower(rand.Text()[:6]))
	return c
}

// Newest is the checkpoint of an id, or with "" the newest, that can be gone on from. It
// fails with [ErrNotFound].
func (b *Book) Newest(id string) (Checkpoint, error) {
	for _, c := range slices.Backward(b.points) {
		if (id == "" || c.ID == id) && c.live(b.now()) {
			return c, nil
		}
	}
	if id != "" {
		return Checkpoint{}, fmt.Errorf("%w: %s, or it has expired", ErrNotFound, id)
	}
	return Checkpoint{}, ErrNotFound
}

// Began is when the current iteration began, as far as its checkpoint is still there; else
// now.
func (b *Book) Began() time.Time {
	for _, c := range slices.Backward(b.points) {
		if c.Trigger == AutoIteration {
			return c.CreatedAt
		}
	}
	return b.now().UTC()
}

// List are all checkpoints, oldest first.
func (b *Book) List() []Checkpoint { return slices.Clone(b.points) }

// Expire keeps a checkpoint from being gone on from. It fails with [ErrNotFound].
func (b *Book) Expire(id string) error {
	if _, err := b.Newest(id); err != nil {
		return err
	}
	return b.record(event{Kind: expired, IDs: []string{id}})
}

// CleanUp forgets checkpoints that have expired, and of the others all but the newest keep.
// It says how many.
func (b *Book) CleanUp(keep int) (int, error) {
	var ids []string
	kept := 0
	for _, c := range slices.Backward(b.points) {
		if c.live(b.now()) && kept < keep {
			kept++
			continue
		}
		ids = append(ids, c.ID)
	}
	if len(ids) == 0 {
		return 0, nil
	}
	return len(ids), b.record(event{Kind: removed, IDs: ids})
}
