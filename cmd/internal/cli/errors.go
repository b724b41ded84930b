package cli

import (
	"fmt"
	"strings"

	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/reason"
)

// Error is what a person is shown: what happened, why, and what to do.
type Error struct {
	// Code is the reason as a program reads it, such as NOT_FOUND.
	Code string
	// What happened.
	What string
	// Why it did; "" where What says all.
	Why string
	// Fix is commands or advice, one a line.
	Fix []string
	// Exit is the program's exit code.
	Exit int
	// Promise is what the epic that it is about needs next; "" where it is about none.
	Promise epic.Promise
	// Err is what it comes from, or nil.
	Err error
}

// Error is what happened.
func (e *Error) Error() string { return e.What }

// Unwrap is what it comes from, or nil.
func (e *Error) Unwrap() error { return e.Err }

// Usage is the error of a command line that is not understood.
func Usage(format string, args ...any) error {
	return &Error{Code: "USAGE", What: fmt.Sprintf(format, args...), Fix: []string{"orch help"}, Exit: ExitUsage}
}

// NoRepository is the error of a command that needs a repository, outside of one.
func NoRepository() error {
	return &Error{Code: "NO_REPOSITORY", What: "this is not a git repository", Exit: ExitNotReady, Fix: []string{"cd into one, or orch -C FOLDER"}}
}

// ShowError prints the error for a person, or as a document. Where it does not say what helps, the table of
// codes does; a document has from there what its code means too.
func (a *Invocation) ShowError(e *Error) {
	if rows := CodesOf(reason.Code(e.Code)); len(rows) > 0 {
		whole := *e
		if len(e.Fix) == 0 {
			whole.Fix = []string{rows[0].Do}
		}
		if e.Why == "" && a.JSON {
			whole.Why = rows[0].Means
		}
		e = &whole
	}
	if a.JSON {
		doc := ErrorDocument{Code: e.Code, Message: e.What, Why: e.Why, Fix: e.Fix, Exit: e.Exit, Promise: e.Promise}
		if a.Lines {
			_ = WriteLine(a.Stdout, doc) // nobody reads on where it cannot be written
		} else {
			WriteJSON(a.Stdout, doc)
		}
		return
	}
	a.showText(e)
}

func (a *Invocation) showText(e *Error) {
	fmt.Fprintf(a.Stderr, "error: %s  [%s]\n", e.What, e.Code)
	if e.Why != "" {
		fmt.Fprintf(a.Stderr, "  why   %s\n", strings.ReplaceAll(e.Why, "\n", "\n        "))
	}
	for i, fix := range e.Fix {
		word := "fix"
		if i > 0 {
			word = "   "
		}
		fmt.Fprintf(a.Stderr, "  %s   %s\n", word, fix)
	}
}
