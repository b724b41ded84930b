package git

import (
	"errors"
	"fmt"
)

var (
	// ErrNotRepository says that a directory is in no git repository.
	ErrNotRepository = errors.New("not a git repository")
	// ErrNoSuchRef says that a name or an id stands for nothing here; so does HEAD before the first commit.
	ErrNoSuchRef = errors.New("no such revision")
	// ErrRefMoved says that a reference did not have the value that a change rests on; nothing was changed.
	ErrRefMoved = errors.New("reference moved")
)

// UnsupportedError says why a repository or a git cannot be worked with.
type UnsupportedError struct {
	// Reason is what stands in the way, in a clause.
	Reason string
	// Fix is what a person can do about it: a command line, or a sentence.
	Fix string
}

// Error is the reason.
func (e *UnsupportedError) Error() string { return e.Reason }

// CheckedOutError says that a branch that is to move is checked out in a work tree, which moving would leave stale.
type CheckedOutError struct {
	// Branch is the full name of the branch.
	Branch string
	// Path is the work tree.
	Path string
	// Reason says what in the work tree stands in the way; empty when being checked out is enough.
	Reason string
}

// Error names the branch, the path and the reason.
func (e *CheckedOutError) Error() string {
	text := fmt.Sprintf("%s is checked out in %s", Short(e.Branch), e.Path)
	if e.Reason != "" {
		text += ", which " + e.Reason
	}
	return text
}
