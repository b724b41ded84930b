package engine

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/beadsorch/orch/orchestrator/object"
)

// Bench is where attempts are worked at: a worktree and a branch for each. Its methods may be
// called concurrently for different tasks. n is the number of an attempt, from 1.
type Bench interface {
	// Name is what the things of an attempt are called, whether they are there or not.
	Name(task string, n int) Names
	// Add makes the worktree and the branch of an attempt at base. It does nothing where they are there.
	Add(ctx context.Context, task string, n int, base object.Commit) error
	// Exists reports whether an attempt has a worktree that is whole.
	Exists(task string, n int) bool
	// ChangedSince reports whether something in the worktree has changed since a time.
	ChangedSince(ctx context.Context, task string, n int, since time.Time) bool
	// Harvest finds what an agent left, commits with message what is not committed, and makes all
	// of it reachable. No process may work in the worktree meanwhile.
	Harvest(ctx context.Context, task string, n int, base object.Commit, message string) (Harvest, error)
	// Oversized says in a clause which limit of size the commits of head are over; "" none.
	Oversized(ctx context.Context, base, head object.Commit) (string, error)
	// Attic makes a commit reachable as work of an attempt that landed nowhere.
	Attic(ctx context.Context, task string, n int, tip object.Commit) error
	// Remove takes the worktree and the branch away once all of their content, and keep, is
	// reachable. It fails with an [*UnsavedError] where that is not possible.
	Remove(ctx context.Context, task string, n int, keep object.Commit) error
	// SetAside moves what Remove has refused to lose out of the way, and says into which folder.
	SetAside(task string, n int, unsaved *UnsavedError) (dir string, err error)
}

// Names is what an attempt's things are called.
type Names struct {
	// Dir is the worktree, absolute; attempts of one task use it one after the other.
	Dir string
	// Branch is the attempt's branch, "refs/heads/...".
	Branch string
	// Attic is the reference that keeps work which landed nowhere, "refs/orch/...".
	Attic string
}

// Harvest is what an agent left in a worktree.
type Harvest struct {
	// Head is its newest work, which the attempt's branch now points at; the base when there is none.
	Head object.Commit
	// Beside is what the branch or HEAD has, whichever is not Head, where Head has not all of it: two lines of work, of
	// which one is kept and does not count; "" there is none.
	Beside object.Commit
	// Gone is the folder that is not there any more: the worktree, or git's record of it; "" none is
	// missing. Head is then what was committed, and whether there was more is not known.
	Gone string
	// Salvaged says that uncommitted work was committed by orch.
	Salvaged bool
	// Unmerged are paths with conflict entries, with conflict markers while a merge is under
	// way, or whose uncommitted content does not fit Head. What was uncommitted is then in the
	// attic, and not in Head.
	Unmerged []string
	// Ignored counts ignored files, which go with the worktree; an ignored directory is one.
	Ignored int
	// Nested are git repositories below the worktree, submodules among them. Their content is not in Head.
	Nested []string
	// Embedded are those that keep the work from being taken: Head links to a commit of them that no remote of
	// theirs has, or which are no submodules; or nothing else has changed, and they have what is saved nowhere.
	Embedded []string
	// Apart are those, no submodules, that are beside changes which Head has, with what is saved nowhere: the work can be
	// taken, and goes without them.
	Apart []string
	// Unread are paths that git would not take, for their names or since it may not read them.
	Unread []string
	// Large are, of Unread, those that are over a limit of size, each with its size.
	Large []string
	// Blocking are pipes and devices that stood where git reads a file, and were removed: what
	// the index had there was put back.
	Blocking []string
	// Ended are the files of operations of git (a bisect, a squash) that waited to be gone on with, and were put aside since
	// all of the work is in Head.
	Ended []string
	// Lost are the commits that the branch or HEAD named and that cannot be read; they are not in
	// Head, and what of them is in the files is.
	Lost []object.Commit
}

// UnsavedError says that a worktree has something that no reference can be made to keep. The worktree is as it was.
type UnsavedError struct {
	// Dir is the worktree.
	Dir string
	// Paths are, below it, git repositories whose remotes have not all of them, and files that cannot be read.
	Paths []string
	// Large says that some of them are over a limit of size.
	Large bool
}

// Error names the worktree and the paths.
func (e *UnsavedError) Error() string {
	return fmt.Sprintf("%s has what is saved nowhere: %s", e.Dir, strings.Join(e.Paths, ", "))
}
