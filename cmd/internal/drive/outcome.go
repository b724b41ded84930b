package drive

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/document"
	"github.com/beadsorch/orch/cmd/internal/explain"
	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/private"
	"github.com/beadsorch/orch/orchestrator/text"
)

// Outcome is how a run ended, as the process that drove it would say it.
type Outcome struct {
	// Run is its number.
	Run int `json:"run"`
	// Exit is the exit code.
	Exit int `json:"exit"`
	// Text is the text for a person: the summary and the promise.
	Text string `json:"text,omitempty"`
	// Document is the same for a program.
	Document json.RawMessage `json:"document,omitempty"`
	// Error is why there is neither.
	Error *Error `json:"error,omitempty"`
}

// Error is a [cli.Error] that can be sent.
type Error struct {
	Code string   `json:"code"`
	What string   `json:"what"`
	Why  string   `json:"why,omitempty"`
	Fix  []string `json:"fix,omitempty"`
	Exit int      `json:"exit"`
	// Promise is what the epic needs next; "" where the error is about none.
	Promise epic.Promise `json:"promise,omitempty"`
}

func errorOf(e *cli.Error) *Error {
	return &Error{Code: e.Code, What: e.What, Why: e.Why, Fix: e.Fix, Exit: e.Exit, Promise: e.Promise}
}

func (e *Error) err() error {
	err := &cli.Error{What: e.What, Why: e.Why, Fix: e.Fix, Exit: e.Exit, Promise: e.Promise}
	err.Code = e.Code
	return err
}

// Failed is the outcome of a command that ends with the error; run is 0 where none has begun.
func Failed(run int, err error) Outcome {
	o := Outcome{Run: run, Exit: explain.ExitCode(err)}
	if !cli.Reported(err) {
		o.Error = errorOf(explain.Error(err))
	}
	return o
}

const (
	// outcomeFile is in an epic's folder: the outcome of the newest run that has ended.
	outcomeFile = "outcome.json"
	// maxOutcome bounds it, in bytes.
	maxOutcome = 16 << 20
	// levels is how deep an epic's folder is below the git directory: orch/epics/EPIC.
	levels = 3
)

// Keep leaves the outcome of a run in the epic's folder dir. It fails when it cannot be written.
func Keep(dir string, o Outcome) error {
	b, err := json.Marshal(o)
	if err != nil {
		return fmt.Errorf("keeping the outcome: %w", err)
	}
	files, err := private.OpenAbove(dir, levels)
	if err == nil {
		err = errors.Join(files.WriteFile(filepath.Join(dir, outcomeFile), b), files.Close())
	}
	if err != nil {
		return fmt.Errorf("keeping the outcome: %w", err)
	}
	return nil
}

// Kept is the outcome of a run of the epic in dir; ok is false where none was left. What an
// agent put there drives no terminal.
func Kept(dir string, run int) (o Outcome, ok bool) {
	b, err := private.ReadFile(filepath.Join(dir, outcomeFile), maxOutcome)
	if err != nil || json.Unmarshal(b, &o) != nil || o.Run != run || o.Exit < 0 || o.Exit > 255 {
		return Outcome{}, false
	}
	o.Text = text.Clean(o.Text)
	return o, true
}

// Say prints the outcome as its run would have, and is the error that a command ends with then.
func (o Outcome) Say(a *cli.Invocation) error {
	if o.Error != nil {
		return o.Error.err()
	}
	if a.JSON {
		var doc document.Status
		if err := json.Unmarshal(o.Document, &doc); err != nil {
			return fmt.Errorf("reading how the run ended: %w", err)
		}
		cli.WriteJSON(a.Stdout, doc)
	} else {
		fmt.Fprint(a.Stdout, o.Text)
	}
	return cli.ExitWith(o.Exit)
}
