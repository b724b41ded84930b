package cmd

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/beadsorch/orch/beads"
	"github.com/beadsorch/orch/cmd/config"
	"github.com/beadsorch/orch/orchestrator"
	"github.com/beadsorch/orch/orchestrator/core"
	"github.com/beadsorch/orch/orchestrator/git"
	"github.com/beadsorch/orch/orchestrator/journal"
)

// The exit codes.
const (
	exitDone     = 0
	exitFailed   = 1 // unexpected
	exitUsage    = 2 // usage or settings
	exitNeedsYou = 3 // finished, but tasks need you
	exitNotReady = 4 // a tool is missing, or not set up
	exitNotFound = 5 // no such epic or task
	exitHeld     = 6 // another orch holds it
	exitLimit    = 7 // a set limit was reached; resumable
	exitNotYet   = 8 // status --exit-status: not finished
)

// userError is what a person is shown: what happened, why, and what to do.
type userError struct {
	Code string
	What string
	Why  string
	Fix  []string // commands or advice, one a line
	Exit int
	Err  error // nil, or what it comes from
}

func (e *userError) Error() string { return e.What }
func (e *userError) Unwrap() error { return e.Err }

func usage(format string, args ...any) error {
	return &userError{Code: "USAGE", What: fmt.Sprintf(format, args...), Fix: []string{"orch help"}, Exit: exitUsage}
}

// report prints the error and returns its exit code.
func report(p Process, asJSON bool, err error) int {
	var done *exitError
	if errors.As(err, &done) {
		return done.code
	}
	u := explainError(err)
	if asJSON {
		writeJSON(p.Stdout, map[string]any{"schema": "orch.error/1", "code": u.Code, "message": u.What, "why": u.Why, "fix": u.Fix, "exit": u.Exit})
		return u.Exit
	}
	fmt.Fprintf(p.Stderr, "error: %s  [%s]\n", u.What, u.Code)
	if u.Why != "" {
		fmt.Fprintf(p.Stderr, "  why   %s\n", strings.ReplaceAll(u.Why, "\n", "\n        "))
	}
	for i, fix := range u.Fix {
		word := "fix"
		if i > 0 {
			word = "   "
		}
		fmt.Fprintf(p.Stderr, "  %s   %s\n", word, fix)
	}
	return u.Exit
}

// exitError ends the program with a code after everything was said.
type exitError struct{ code int }

func (e *exitError) Error() string { return fmt.Sprintf("exit %d", e.code) }

func exitWith(code int) error {
	if code == exitDone {
		return nil
	}
	return &exitError{code}
}

// explainError sorts every error that the packages below return into what a
// person is shown. It is the one place that knows them all.
func explainError(err error) *userError {
	var (
		u       *userError
		setting *config.Error
		held    *orchestrator.HeldError
		noEpic  *core.ErrNotEpic
		corrupt *journal.CorruptError
		version *beads.VersionError
		refused *git.UnsupportedError
		out     *git.CheckedOutError
	)
	switch {
	case errors.As(err, &u):
		return u
	case errors.As(err, &setting):
		return settingError(setting)
	case errors.As(err, &held):
		return &userError{Code: "RUN_ACTIVE", What: held.Error(), Exit: exitHeld, Err: err,
			Why: "one orch at a time may drive an epic",
			Fix: []string{"orch status " + arg(held.Epic), "orch stop " + arg(held.Epic)}}
	case errors.As(err, &noEpic):
		return noEpicError(noEpic)
	case errors.As(err, &corrupt):
		return &userError{Code: "JOURNAL_CORRUPT", What: corrupt.Error(), Exit: exitFailed, Err: err,
			Why: "a record before the end of the journal is damaged; orch never guesses what it said, and nothing was changed",
			Fix: []string{"restore the file from a backup, or move its folder away: orch then finds what has landed by the epic branch itself"}}
	case errors.As(err, &version):
		return &userError{Code: "TRACKER_TOO_OLD", What: version.Error(), Exit: exitNotReady, Err: err,
			Fix: []string{"install bd 1.0.4 or later, or use the embedded tracker: workflow.tracker.kind: file"}}
	case errors.As(err, &refused):
		return &userError{Code: "REPOSITORY", What: refused.Reason, Exit: exitNotReady, Err: err, Fix: []string{refused.Fix}}
	case errors.As(err, &out):
		return &userError{Code: "EPIC_CHECKED_OUT", What: out.Error(), Exit: exitNotReady, Err: err,
			Why: "orch moves the epic branch; a checkout of it would be left stale",
			Fix: []string{"git -C " + out.Path + " switch --detach"}}
	case errors.Is(err, git.ErrNotRepository):
		return &userError{Code: "NO_REPOSITORY", What: "this is not a git repository", Exit: exitNotReady, Err: err,
			Fix: []string{"run orch inside one, or name it: orch -C DIR ...", "orch demo needs none"}}
	case errors.Is(err, beads.ErrNoDatabase):
		return &userError{Code: "NO_TRACKER", What: "there is no tracker here", Exit: exitNotReady, Err: err, Why: err.Error(),
			Fix: []string{"bd init --stealth, or without bd: orch tasks create --type epic \"...\""}}
	}
	return &userError{Code: "UNEXPECTED", What: err.Error(), Exit: exitFailed, Err: err}
}

func settingError(e *config.Error) *userError {
	u := &userError{Code: "SETTINGS", What: e.Error(), Why: e.Snippet, Exit: exitUsage, Err: e}
	if e.Fix != "" {
		u.Fix = []string{e.Fix}
	}
	return u
}

func noEpicError(e *core.ErrNotEpic) *userError {
	u := &userError{Code: "EPIC_NOT_FOUND", What: e.Error(), Exit: exitNotFound, Err: e}
	there := "neither an epic nor a task"
	if e.Exists {
		there = "a task, not an epic"
	}
	u.Why = fmt.Sprintf("the tracker has %d open %s; %s is %s", len(e.Open), plural(len(e.Open), "epic", "epics"), e.ID, there)
	if near, ok := nearest(string(e.ID), e.Open); ok {
		u.Fix = []string{fmt.Sprintf("did you mean %s (%s)?   orch run %s", near.ID, near.Title, near.ID)}
	} else {
		u.Fix = []string{"orch tasks list --type epic, or bd list --type epic"}
	}
	return u
}

// nearest is the issue whose id differs least from id.
func nearest(id string, issues []beads.Issue) (best beads.Issue, ok bool) {
	least := max(3, len(id)/2)
	for _, i := range issues {
		if d := config.Distance(id, i.ID); d < least {
			best, least, ok = i, d, true
		}
	}
	return best, ok
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

func writeJSON(w io.Writer, v any) {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		fmt.Fprintln(w, `{"schema":"orch.error/1","code":"UNEXPECTED"}`)
	}
}
