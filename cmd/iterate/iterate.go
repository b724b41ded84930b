// Package iterate is the commands orch iteration and orch checkpoint: the iteration
// protocol for a person, and for a model whose client has no other tools.
package iterate

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/beadsorch/orch/orchestrator/checkpoint"
	"github.com/beadsorch/orch/orchestrator/iteration"
	"github.com/beadsorch/orch/orchestrator/proc"
	"github.com/beadsorch/orch/orchestrator/validation"
)

// Host is the program around the commands.
type Host struct {
	// Stdin is read where a file is "-".
	Stdin io.Reader
	// Now is the clock.
	Now func() time.Time
	// Place finds a task's loop and its work.
	Place func(ctx context.Context, task string) (Place, error)
	// Hooks has the hooks of a task decide on an iteration; the zero Hook where it has none.
	Hooks func(ctx context.Context, task string, n int, v validation.Verdict, output string, files []string) (iteration.Hook, error)
	// Limit tells a run that drives the task what its attempts may have; told is false where
	// none does.
	Limit func(ctx context.Context, task string, n int) (told bool, err error)
	// Print prints a document where JSON was asked for, else the text.
	Print func(doc map[string]any, text string) error
	// Fail is an error that says what to do about it.
	Fail func(Problem) error
	// NeedsYou is the error with which a command ends well that a person has to look at.
	NeedsYou error
}

// Place is where a task's loop is kept, and where its work is.
type Place struct {
	// Book is the folder of the loop.
	Book string
	// Dir is the folder that is validated, absolute.
	Dir string
	// Env is the whole environment of a rule's command.
	Env []string
	// Run runs a rule's command.
	Run proc.Runner
	// Changed lists the files that the work has changed.
	Changed func(ctx context.Context) ([]string, error)
	// Products is the text of the task's work products.
	Products func() (string, error)
	// Blocked reports whether a person has set the task to blocked in the tracker.
	Blocked func(ctx context.Context) bool
	// Config is how the task's agent iterates, by the settings.
	Config func(ctx context.Context) (iteration.Config, error)
}

// Problem is an error for a person.
type Problem struct {
	Code, What, Why string
	Fix             []string
	Kind            Kind
	Err             error
}

// Kind sorts problems by their exit codes.
type Kind int

// The kinds of problems.
const (
	Usage Kind = iota
	NotFound
	Held
)

// Commands are both commands.
func Commands(h Host) []*cobra.Command {
	return []*cobra.Command{iterationCommand(h), checkpointCommand(h)}
}

// problem says what to do about an error of a book.
func (h Host) problem(task string, err error) error {
	if err == nil {
		return nil
	}
	p := Problem{What: err.Error(), Err: err}
	switch {
	case errors.Is(err, checkpoint.ErrNoLoop):
		p.Code, p.Kind, p.Fix = "NO_LOOP", NotFound, []string{"orch iteration start " + task}
	case errors.Is(err, checkpoint.ErrNotFound):
		p.Code, p.Kind, p.Fix = "NOT_FOUND", NotFound, []string{"orch checkpoint list " + task, "orch checkpoint create " + task}
	case errors.Is(err, checkpoint.ErrHeld):
		p.Code, p.Kind, p.Fix = "HELD", Held, []string{"try again when it has ended"}
	case errors.Is(err, checkpoint.ErrActive):
		p.Code, p.Fix = "LOOP_ACTIVE", []string{"orch iteration status " + task, "orch iteration next " + task}
	case errors.Is(err, iteration.ErrMaximum):
		p.Code, p.Fix = "MAX_ITERATIONS", []string{"orch iteration complete " + task + " gives it up", "orch iteration limit " + task + " N raises the maximum"}
	case errors.Is(err, iteration.ErrNotYet):
		p.Code, p.Fix = "NOT_VALIDATED", []string{"orch iteration validate " + task}
	case errors.Is(err, iteration.ErrNotPassed):
		p.Code, p.Fix = "NOT_PASSED", []string{"orch iteration next " + task}
	case errors.Is(err, iteration.ErrDone):
		p.Code, p.Fix = "LOOP_ENDED", []string{"orch iteration status " + task, "orch iteration complete " + task}
	case errors.Is(err, iteration.ErrConfig), errors.Is(err, checkpoint.ErrContext):
		p.Code, p.Fix = "BAD_VALUE", []string{"orch help iteration start", "orch help checkpoint create"}
	default:
		return err
	}
	return h.Fail(p)
}

// write opens a task's book, does one thing to it, and closes it.
func (h Host) write(ctx context.Context, task string, do func(*checkpoint.Book, Place) error) error {
	place, err := h.Place(ctx, task)
	if err != nil {
		return err
	}
	b, err := checkpoint.Open(ctx, place.Book, h.Now)
	if err != nil {
		return h.problem(task, err)
	}
	return h.problem(task, errors.Join(do(b, place), b.Close()))
}

// read looks at a task's book as it stands.
func (h Host) read(ctx context.Context, task string, do func(*checkpoint.Book) error) error {
	place, err := h.Place(ctx, task)
	if err != nil {
		return err
	}
	b, err := checkpoint.Read(place.Book, h.Now)
	if err != nil {
		return h.problem(task, err)
	}
	return h.problem(task, do(b))
}

// judge asks the loop's rules, and then the task's hooks.
func (h Host) judge(ctx context.Context, p Place, l iteration.Loop, output string) (v validation.Verdict, hook iteration.Hook, err error) {
	files, err := p.Changed(ctx)
	if err != nil {
		return v, hook, err
	}
	products, err := p.Products()
	if err != nil {
		return v, hook, err
	}
	v, err = validation.Judge(ctx, p.Run, l.Config.ValidationRules, validation.Input{Dir: p.Dir, Env: p.Env, Output: output, Products: products, Files: files, Now: h.Now})
	if err != nil {
		return v, hook, err
	}
	hook, err = h.Hooks(ctx, l.TaskID, l.Iteration, v, output, files)
	return v, hook, err
}
