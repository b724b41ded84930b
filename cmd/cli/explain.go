package cli

import (
	"errors"
	"fmt"

	"github.com/beadsorch/orch/beads"
	"github.com/beadsorch/orch/cmd/config"
	"github.com/beadsorch/orch/orchestrator"
	"github.com/beadsorch/orch/orchestrator/core"
	"github.com/beadsorch/orch/orchestrator/git"
	"github.com/beadsorch/orch/orchestrator/journal"
)

// Explain sorts every error that the packages below return into what a
// person is shown. It is the one place that knows them all.
func Explain(err error) *Error {
	var (
		u       *Error
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
		return &Error{Code: "RUN_ACTIVE", What: held.Error(), Exit: ExitHeld, Err: err,
			Why: "one orch at a time may drive an epic",
			Fix: []string{"orch status " + Quote(held.Epic), "orch stop " + Quote(held.Epic)}}
	case errors.As(err, &noEpic):
		return noEpicError(noEpic)
	case errors.As(err, &corrupt):
		return &Error{Code: "JOURNAL_CORRUPT", What: corrupt.Error(), Exit: ExitFailed, Err: err,
			Why: "a record before the end of the journal is damaged; orch never guesses what it said, and nothing was changed",
			Fix: []string{"restore the file from a backup, or move its folder away: orch then finds what has landed by the epic branch itself"}}
	case errors.As(err, &version):
		return &Error{Code: "TRACKER_TOO_OLD", What: version.Error(), Exit: ExitNotReady, Err: err,
			Fix: []string{"install bd 1.0.4 or later, or use the embedded tracker: workflow.tracker.kind: file"}}
	case errors.As(err, &refused):
		return &Error{Code: "REPOSITORY", What: refused.Reason, Exit: ExitNotReady, Err: err, Fix: []string{refused.Fix}}
	case errors.As(err, &out):
		return &Error{Code: "EPIC_CHECKED_OUT", What: out.Error(), Exit: ExitNotReady, Err: err,
			Why: "orch moves the epic branch; a checkout of it would be left stale",
			Fix: []string{"git -C " + out.Path + " switch --detach"}}
	case errors.Is(err, git.ErrNotRepository):
		return &Error{Code: "NO_REPOSITORY", What: "this is not a git repository", Exit: ExitNotReady, Err: err,
			Fix: []string{"run orch inside one, or name it: orch -C DIR ...", "orch demo needs none"}}
	case errors.Is(err, beads.ErrNoDatabase):
		return &Error{Code: "NO_TRACKER", What: "there is no tracker here", Exit: ExitNotReady, Err: err, Why: err.Error(),
			Fix: []string{"bd init --stealth, or without bd: orch tasks create --type epic \"...\""}}
	}
	return &Error{Code: "UNEXPECTED", What: err.Error(), Exit: ExitFailed, Err: err}
}

func settingError(e *config.Error) *Error {
	u := &Error{Code: "SETTINGS", What: e.Error(), Why: e.Snippet, Exit: ExitUsage, Err: e}
	if e.Fix != "" {
		u.Fix = []string{e.Fix}
	}
	return u
}

func noEpicError(e *core.ErrNotEpic) *Error {
	u := &Error{Code: "EPIC_NOT_FOUND", What: e.Error(), Exit: ExitNotFound, Err: e}
	there := "neither an epic nor a task"
	if e.Exists {
		there = "a task, not an epic"
	}
	u.Why = fmt.Sprintf("the tracker has %d open %s; %s is %s", len(e.Open), Plural(len(e.Open), "epic", "epics"), e.ID, there)
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
