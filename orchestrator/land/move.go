package land

import (
	"context"
	"errors"
	"fmt"

	"github.com/beadsorch/orch/orchestrator/git"
	"github.com/beadsorch/orch/orchestrator/slug"
)

// Step is one move of a branch.
type Step struct {
	// Branch is its full name.
	Branch string
	// From is where it has to be; empty where it must not exist.
	From git.Commit
	// To is where it is then.
	To git.Commit
	// Lease is verified in the same transaction; without a name it is not asked for.
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
	lease := git.Ref{Name: "refs/orch/" + slug.Of(epic) + "/lease"}
	old, err := repo.Resolve(ctx, lease.Name)
	if err != nil && !errors.Is(err, git.ErrNoSuchRef) {
		return git.Ref{}, err
	}
	if lease.Commit, err = repo.WriteBlob(ctx, content); err != nil {
		return git.Ref{}, fmt.Errorf("writing the lease: %w", err)
	}
	return lease, repo.UpdateRefs(ctx, []git.RefChange{{Name: lease.Name, New: lease.Commit, Old: old}})
}

// Renew writes a lease that was deleted again. It fails with [git.ErrRefMoved] when another one
// has acquired it meanwhile, else as git does.
func Renew(ctx context.Context, repo *git.Repo, lease git.Ref) error {
	return repo.UpdateRefs(ctx, []git.RefChange{{Name: lease.Name, New: lease.Commit}})
}

// Release gives a lease back; one that is gone was given back. It fails with [git.ErrRefMoved]
// when it is another's by now, else as git does.
func Release(ctx context.Context, repo *git.Repo, lease git.Ref) error {
	if _, err := repo.Resolve(ctx, lease.Name); errors.Is(err, git.ErrNoSuchRef) {
		return nil
	}
	return repo.UpdateRefs(ctx, []git.RefChange{{Name: lease.Name, Old: lease.Commit}})
}
