package engine

import (
	"strings"

	"github.com/beadsorch/orch/orchestrator/object"
)

// Found is an attempt of which something is there.
type Found struct {
	// Task is the slug of the task's id.
	Task string
	// Attempt is its number.
	Attempt int
	// Branch is its name, "refs/heads/...", whether it is there or not.
	Branch string
	// Dir is where its worktree is, or would be.
	Dir string
	// HasDir says that the worktree is there and whole.
	HasDir bool
	// HasBranch says that the branch is there.
	HasBranch bool
	// Head is the branch's tip, empty without a branch.
	Head object.Commit
}

// Leftover is something that a crash left behind.
type Leftover struct {
	// Path is the file or directory, empty for a reference.
	Path string
	// Ref is the reference, empty for a file.
	Ref string
	// What says what it is, in a clause.
	What string
	// Fixed says that it is gone, or as it should be.
	Fixed bool
	// Fix is what a person can do about it, when it is not fixed.
	Fix string
}

// LeftError says what was to be deleted and could not be. Nothing of it is needed any more.
type LeftError struct {
	// Left are the things, each with the reason and what a person can do.
	Left []Leftover
}

// Error names the things.
func (e *LeftError) Error() string {
	var parts []string
	for _, l := range e.Left {
		parts = append(parts, l.Path+": "+l.What)
	}
	return "could not be removed: " + strings.Join(parts, "; ")
}
