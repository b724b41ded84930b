package tracker

import (
	"errors"
	"fmt"
)

// ChangeKind is what a Change does.
type ChangeKind string

// The kinds of change.
const (
	Claim     ChangeKind = "claim"   // in progress, in the actor's hands; only when no one else has it
	SetStatus ChangeKind = "status"  // with a note, if there is one; open also takes the assignee away
	Reopen    ChangeKind = "reopen"  // open and unassigned; only when it is closed. One that is open counts as made
	Close     ChangeKind = "close"   // whatever blocks it
	Create    ChangeKind = "create"  // an issue of its own; unless Anew is set, one that is open with the same title and labels counts as made
	AddNote   ChangeKind = "note"    // appended to the issue's notes
	Comment   ChangeKind = "comment" // a new one of the actor's
)

// Change is one thing that the tracker is asked to write.
type Change struct {
	ID     string // of the issue; "" for Create
	Kind   ChangeKind
	Status Status // SetStatus
	Note   string // SetStatus, AddNote: appended to the issue's notes; Comment: its text
	Reason string // Close
	Anew   bool   // Create: whatever is there; asking again for one whose answer was lost makes another
	Issue  *Issue // Create: title, description, type, priority, labels, dependencies; IssueID of these is not read
}

// Outcome is the answer to one Change. Err is nil, or wraps one of the errors
// below when the tracker refused; nothing else has changed then.
type Outcome struct {
	ID  string // of the issue; for Create the new one
	Err error
}

var (
	// ErrNotFound says that the tracker has no such issue.
	ErrNotFound = errors.New("no such issue")
	// ErrRefused says that the tracker does not make this change.
	ErrRefused = errors.New("refused")
)

// ClaimedError says who holds an issue that was to be claimed.
type ClaimedError struct {
	ID string
	By string
}

// Error names the holder.
func (e *ClaimedError) Error() string { return fmt.Sprintf("%s is claimed by %s", e.ID, e.By) }

// Is makes a ClaimedError an ErrRefused.
func (e *ClaimedError) Is(target error) bool { return target == ErrRefused }
