package worktree

import "context"

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

// Repair mends what a crash left.
func (s *Store) Repair(ctx context.Context) ([]Leftover, error) {
	return nil, ctx.Err()
}
