// Package checkpoint keeps an iteration loop and its checkpoints on disk.
//
// A log is a folder with a journal: each step is on disk before it takes effect, and opening
// the log replays the steps. So a process that is killed between any two of them loses nothing.
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

// The triggers of checkpoints that orch makes itself; people and agents name their own.
const (
	AutoIteration = "auto_iteration" // an iteration has begun
	Turn          = "turn"           // an agent of a run has ended a turn
	Manual        = "manual"         // a person or an agent asked for it
)

// Checkpoint is a point that an agent can resume from.
type Checkpoint struct {
	ID              string          `json:"checkpointId"`              // names it among those of the task
	TaskID          string          `json:"taskId"`                    // the id of the task in the tracker
	Sequence        int             `json:"sequence"`                  // its number among them, from 1
	Trigger         string          `json:"trigger"`                   // why it was made
	ExecutionPhase  string          `json:"executionPhase,omitempty"`  // what the agent worked on, such as implementation
	ExecutionStep   int             `json:"executionStep,omitempty"`   // which step of that
	AgentContext    json.RawMessage `json:"agentContext,omitempty"`    // what the agent wants to have when it resumes, any JSON; absent for nothing
	FilesModified   []string        `json:"filesModified,omitempty"`   // as the agent names them
	DraftContent    string          `json:"draftContent,omitempty"`    // a draft that is in no file yet
	DraftType       string          `json:"draftType,omitempty"`       // what kind of draft that is
	Notes           string          `json:"notes,omitempty"`           // on the iteration before, by its agent, or how a turn ended
	IterationNumber int             `json:"iterationNumber,omitempty"` // of the current iteration, from 1; 0 without a loop
	CreatedAt       time.Time       `json:"createdAt"`                 // when it was made, UTC
	ExpiresAt       time.Time       `json:"expiresAt,omitzero"`        // when it can no longer be resumed from, UTC; zero: never by itself
	Expired         bool            `json:"expired,omitempty"`         // it has expired by hand
}

// usable reports whether it can be resumed from.
func (c Checkpoint) usable(now time.Time) bool {
	return !c.Expired && (c.ExpiresAt.IsZero() || now.Before(c.ExpiresAt))
}

// The errors of a log that refuses a step; nothing has changed then.
var (
	// ErrNoLoop says that no loop was started.
	ErrNoLoop = errors.New("no iteration loop was started for this task")
	// ErrActive says that a loop is active already.
	ErrActive = errors.New("an iteration loop goes on already for this task")
	// ErrNotFound says that there is no such checkpoint that can be resumed from.
	ErrNotFound = errors.New("no such checkpoint")
	// ErrHeld says that another process has the log open.
	ErrHeld = errors.New("another process works on this loop")
	// ErrContext says that an agent's context is not JSON, or too large.
	ErrContext = errors.New("no agent context")
)

// The bounds on an agent's context, draft and output, in bytes.
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

// Log is a task's loop with its checkpoints, open for one process.
type Log struct {
	journal     *journal.Journal
	lock        *flock.Flock
	now         func() time.Time
	loop        *iteration.Loop // nil before one was started
	checkpoints []Checkpoint    // in order
	created     int             // how many checkpoints were ever created, for their sequence
	secrets     *redact.Redactor
	onStep      func(Step) error // nil for none
}

// RedactBy takes secrets out of all steps from now on.
func (log *Log) RedactBy(r *redact.Redactor) { log.secrets = r }

// DirName is the name of the folder of an attempt's log, in the attempt's own folder.
const DirName = "iterations"

// Dir is the folder of the log of an attempt, which has the folder attempt.
func Dir(attempt string) string { return filepath.Join(attempt, DirName) }

// Prune removes the log in dir: the loop and its checkpoints. Other files there stay.
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

// lockWait is how long Open waits for another process.
const lockWait = 5 * time.Second

// Open opens the log in dir, a private folder that is made where it is missing. It fails
// with [ErrHeld], or as a journal does.
func Open(ctx context.Context, dir string, now func() time.Time) (*Log, error) {
	lock := filepath.Join(dir, "lock")
	files, err := openParent(dir)
	if err == nil {
		err = errors.Join(files.Plain(lock), files.Close())
	}
	if err != nil {
		return nil, fmt.Errorf("opening the loop: %w", err)
	}
	log := &Log{lock: flock.New(lock, flock.SetPermissions(0o600), flock.SetFlag(private.LockFlags)), now: now}
	wait, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	if ok, err := log.lock.TryLockContext(wait, 20*time.Millisecond); !ok {
		return nil, errors.Join(ErrHeld, err)
	}
	j, recovered, err := journal.Open(dir, now)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening the loop: %w", err), log.lock.Unlock())
	}
	log.journal = j
	if err := log.replay(recovered); err != nil {
		return nil, errors.Join(err, log.Close())
	}
	return log, nil
}

// Read reads the log in dir, without a lock; it cannot be written to. It fails with
// [ErrNoLoop] when there is none.
func Read(dir string, now func() time.Time) (*Log, error) {
	recovered, err := journal.Read(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, ErrNoLoop
	}
	if err != nil {
		return nil, fmt.Errorf("reading the loop: %w", err)
	}
	log := &Log{now: now}
	return log, log.replay(recovered)
}

// ReadLoop reads the loop of the log in dir. It fails with [ErrNoLoop] where there is
// no log, or checkpoints alone.
func ReadLoop(dir string, now func() time.Time) (iteration.Loop, error) {
	log, err := Read(dir, now)
	if err != nil {
		return iteration.Loop{}, err
	}
	return log.Loop()
}

func (log *Log) replay(recovered journal.Recovery) error {
	for _, r := range recovered.Records {
		var e event
		if err := json.Unmarshal(r.Event, &e); err != nil {
			return fmt.Errorf("reading step %d of the loop: %w", r.Seq, err)
		}
		if err := log.apply(e); err != nil {
			return fmt.Errorf("step %d of the loop: %w", r.Seq, err)
		}
	}
	return nil
}

// Close closes the log for this process.
func (log *Log) Close() error {
	return errors.Join(log.journal.Close(), log.lock.Unlock())
}

// record tries steps, appends them to the journal together, and only then applies them.
func (log *Log) record(steps ...event) error {
	trial, events := *log, make([]any, 0, len(steps))
	for n := range steps {
		steps[n] = steps[n].redacted(log.secrets)
		steps[n].At = log.now().UTC()
		if err := trial.apply(steps[n]); err != nil {
			return err
		}
		events = append(events, steps[n])
	}
	if err := log.report(steps, trial.loop); err != nil {
		return err
	}
	if _, err := log.journal.AppendAll(events...); err != nil {
		return fmt.Errorf("recording the step %s: %w", steps[0].Kind, err)
	}
	log.loop, log.checkpoints, log.created = trial.loop, trial.checkpoints, trial.created
	return nil
}

// redacted is the step with the texts of agents, rules and hooks redacted.
func (e event) redacted(r *redact.Redactor) event {
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

// apply applies a step. It is a function of the log and the event alone.
func (log *Log) apply(e event) error {
	switch e.Kind {
	case started:
		if log.loop != nil && log.loop.Done == "" {
			return ErrActive
		}
		l, err := iteration.Start(e.TaskID, *e.Config)
		if err != nil {
			return err
		}
		log.loop = &l
		return nil
	case checkpointed:
		log.created++
		log.checkpoints = append(slices.Clone(log.checkpoints), *e.Checkpoint)
		if log.loop != nil && e.Checkpoint.AgentContext != nil {
			l := *log.loop
			l.AgentContext = e.Checkpoint.AgentContext
			log.loop = &l
		}
		return nil
	case expired:
		log.checkpoints = slices.Clone(log.checkpoints)
		for n := range log.checkpoints {
			log.checkpoints[n].Expired = log.checkpoints[n].Expired || slices.Contains(e.IDs, log.checkpoints[n].ID)
		}
		return nil
	case removed:
		log.checkpoints = slices.DeleteFunc(slices.Clone(log.checkpoints), func(c Checkpoint) bool { return slices.Contains(e.IDs, c.ID) })
		return nil
	}
	if log.loop == nil {
		return ErrNoLoop
	}
	l, err := applyStep(*log.loop, e)
	if err == nil {
		log.loop = &l
	}
	return err
}

// applyStep applies a step to the loop itself.
func applyStep(l iteration.Loop, e event) (iteration.Loop, error) {
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

// Loop is the current state of the loop. It fails with [ErrNoLoop].
func (log *Log) Loop() (iteration.Loop, error) {
	if log.loop == nil {
		return iteration.Loop{}, ErrNoLoop
	}
	return *log.loop, nil
}

// Start begins a loop, with the checkpoint of its first iteration. It fails with
// [ErrActive], or [iteration.ErrConfig].
func (log *Log) Start(task string, c iteration.Config) (Checkpoint, error) {
	point := log.stamp(Checkpoint{TaskID: task, Trigger: AutoIteration, ExecutionPhase: "iteration", ExecutionStep: 1, IterationNumber: 1})
	return point, log.record(event{Kind: started, TaskID: task, Config: &c}, event{Kind: checkpointed, Checkpoint: &point})
}

// Validate ends the iteration by a verdict, by what the agent has said, and by what the
// task's hooks say.
func (log *Log) Validate(v validation.Verdict, output string, hook iteration.Hook) (iteration.Outcome, error) {
	if len(output) > maxOutput {
		output = strings.ToValidUTF8(output[len(output)-maxOutput:], "")
	}
	if err := log.record(event{Kind: validated, Verdict: &v, Output: output, Hook: hook}); err != nil {
		return iteration.Outcome{}, err
	}
	return *log.loop.Last, nil
}

// Next goes on to the next iteration, with a checkpoint for it: the agent's context carries
// over, a draft does not. The notes are the agent's on the iteration that it leaves.
func (log *Log) Next(notes string) (Checkpoint, error) {
	l, err := log.Loop()
	if err != nil {
		return Checkpoint{}, err
	}
	if len(notes) > maxOutput {
		notes = strings.ToValidUTF8(notes[:maxOutput], "")
	}
	n := l.Iteration + 1
	point := log.stamp(Checkpoint{TaskID: l.TaskID, Trigger: AutoIteration, ExecutionPhase: "iteration", ExecutionStep: n, IterationNumber: n, AgentContext: l.AgentContext, Notes: notes})
	return point, log.record(event{Kind: advanced}, event{Kind: checkpointed, Checkpoint: &point})
}

// End completes the loop, or abandons it.
func (log *Log) End() (iteration.Loop, error) {
	if err := log.record(event{Kind: ended}); err != nil {
		return iteration.Loop{}, err
	}
	return *log.loop, nil
}

// SetLimit sets the maximum number of iterations of the loop that is active.
func (log *Log) SetLimit(n int) (iteration.Loop, error) {
	if err := log.record(event{Kind: limited, Limit: n}); err != nil {
		return iteration.Loop{}, err
	}
	return *log.loop, nil
}

// Create makes a checkpoint; its id, sequence, time and iteration are set here. It fails
// with [ErrContext].
func (log *Log) Create(c Checkpoint) (Checkpoint, error) {
	switch {
	case c.AgentContext != nil && !json.Valid(c.AgentContext):
		return Checkpoint{}, fmt.Errorf("%w: not JSON", ErrContext)
	case len(c.AgentContext) > maxContext:
		return Checkpoint{}, fmt.Errorf("%w: %d bytes; %d at most", ErrContext, len(c.AgentContext), maxContext)
	case len(c.DraftContent) > maxDraft:
		return Checkpoint{}, fmt.Errorf("%w: a draft of %d bytes; %d at most", ErrContext, len(c.DraftContent), maxDraft)
	}
	c.IterationNumber = 0
	if log.loop != nil {
		c.IterationNumber = log.loop.Iteration
	}
	c = log.stamp(c)
	return c, log.record(event{Kind: checkpointed, Checkpoint: &c})
}

// stamp gives a checkpoint its id, its sequence and its time.
func (log *Log) stamp(c Checkpoint) Checkpoint {
	now, prefix := log.now().UTC(), "CP"
	if c.Trigger == AutoIteration {
		prefix = "IT"
	}
	c.CreatedAt, c.Sequence, c.Expired = now, log.created+1, false
	c.ID = fmt.Sprintf("%s-%d-%s", prefix, now.UnixMilli(), strings.ToLower(rand.Text()[:6]))
	return c
}

// Find is the checkpoint with an id, or with "" the newest, that can be resumed from. It
// fails with [ErrNotFound].
func (log *Log) Find(id string) (Checkpoint, error) {
	for _, c := range slices.Backward(log.checkpoints) {
		if (id == "" || c.ID == id) && c.usable(log.now()) {
			return c, nil
		}
	}
	if id != "" {
		return Checkpoint{}, fmt.Errorf("%w: %s, or it has expired", ErrNotFound, id)
	}
	return Checkpoint{}, ErrNotFound
}

// Began is when the current iteration began, if its checkpoint is still there; else now.
func (log *Log) Began() time.Time {
	for _, c := range slices.Backward(log.checkpoints) {
		if c.Trigger == AutoIteration {
			return c.CreatedAt
		}
	}
	return log.now().UTC()
}

// List are all checkpoints, oldest first.
func (log *Log) List() []Checkpoint { return slices.Clone(log.checkpoints) }

// Expire marks a checkpoint as one not to be resumed from. It fails with [ErrNotFound].
func (log *Log) Expire(id string) error {
	if _, err := log.Find(id); err != nil {
		return err
	}
	return log.record(event{Kind: expired, IDs: []string{id}})
}

// CleanUp removes checkpoints that have expired, and of the others all but the newest keep.
// It returns how many.
func (log *Log) CleanUp(keep int) (int, error) {
	var ids []string
	kept := 0
	for _, c := range slices.Backward(log.checkpoints) {
		if c.usable(log.now()) && kept < keep {
			kept++
			continue
		}
		ids = append(ids, c.ID)
	}
	if len(ids) == 0 {
		return 0, nil
	}
	return len(ids), log.record(event{Kind: removed, IDs: ids})
}
