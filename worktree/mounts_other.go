//go:build !linux

package worktree

// mountsBelow lists none where the system has no table of mounts to read.
func mountsBelow(string) []string { return nil }
