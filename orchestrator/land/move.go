package land

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/beadsorch/orch/orchestrator/git"
	"github.com/beadsorch/orch/orchestrator/refname"
)

// Step is one move of a branch.
type Step struct {
	// Branch is its full name.
	Branch string
	// From is where it has to be; empty where it must not exist.
	From git.Commit
	// To is where it is then.
	To git.Commit
	// Lease is verified in the same transaction; one without a name is not verified.
	Lease git.Ref
	// Pin is a reference that is moved to To in the same transaction, wherever it was; empty for none.
	Pin string
}

// Move makes a step, all of it or nothing. It fails with [git.ErrRefMoved] when the branch or
// the lease is not what it was, else as git does.
func Move(ctx context.Context, repo *git.Repo, s Step) error {
	changes := []git.RefChange{{Name: s.Branch, New: s.To, Old: s.From}}
	if s.Pin != "" {
		changes = append(changes, git.RefChange{Name: s.Pin, New: s.To, Old: git.AnyOld})
	}
	var verify []git.Ref
	if s.Lease.Name != "" {
		verify = append(verify, s.Lease)
	}
	return repo.UpdateRefs(ctx, changes, verify...)
}

// Acquire makes content the lease of an epic, whoever had it, and returns the lease that
// Move is to verify. The content has to differ from run to run: two runs with the same
// content hold the same lease. It fails with [git.ErrRefMoved] when another one acquires at
// the same moment, else as git does.
func Acquire(ctx context.Context, repo *git.Repo, epic string, content []byte) (git.Ref, error) {
	lease := git.Ref{Name: refname.Of(epic).Lease()}
	old, err := repo.Resolve(ctx, lease.Name)
	if err != nil && !errors.Is(err, git.ErrNoSuchRef) {
		return git.Ref{}, err
	}
	for tries := 0; ; tries++ {
		if lease.Commit, err = repo.WriteBlob(ctx, content); err != nil {
			return git.Ref{}, fmt.Errorf("writing the lease: %w", err)
		}
		err = repo.UpdateRefs(ctx, []git.RefChange{{Name: lease.Name, New: lease.Commit, Old: old}})
		if err == nil || tries == maxPruned || IsLease(ctx, repo, epic, lease.Commit) || ctx.Err() != nil {
			return lease, err
		}
		// a prune has removed what no reference had yet
	}
}

// maxPruned is how often a lease is written again that was pruned before a reference had it.
const maxPruned = 5

// Renew puts a lease back that was deleted, or moved to was, by something that is no run. It fails with
// [git.ErrRefMoved] when another one has acquired it meanwhile, else as git does.
func Renew(ctx context.Context, repo *git.Repo, lease git.Ref, was git.Commit) error {
	return repo.UpdateRefs(ctx, []git.RefChange{{Name: lease.Name, New: lease.Commit, Old: was}})
}

// LeaseContent is the content of the lease of a run; who names its holder.
func LeaseContent(epic string, run int, who string) []byte {
	return fmt.Appendf(nil, "%s run %d, %s\n", epic, run, who)
}

// IsLease reports whether an object is the lease of a run of the epic, and not something else that
// the reference was moved to.
func IsLease(ctx context.Context, repo *git.Repo, epic string, object git.Commit) bool {
	said, err := repo.Out(ctx, "cat-file", "blob", string(object))
	return err == nil && strings.HasPrefix(said, epic+" run ")
}

// Release gives a lease back; one that is gone was given back. It fails with [git.ErrRefMoved]
// when it is another's by now, else as git does.
func Release(ctx context.Context, repo *git.Repo, lease git.Ref) error {
	if _, err := repo.Resolve(ctx, lease.Name); errors.Is(err, git.ErrNoSuchRef) {
		return nil
	}
	return repo.UpdateRefs(ctx, []git.RefChange{{Name: lease.Name, Old: lease.Commit}})
}
