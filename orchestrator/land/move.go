package land

import (
	"context"
	"errors"
	"fmt"

	"github.com/beadsorch/orch/orchestrator/git"
	"github.com/beadsorch/orch/orchestrator/slug"
)

// Move moves branch from one commit to another and verifies the lease, in one
// transaction. A lease without a name is not asked for. It fails with [git.ErrRefMoved]
// when the branch or the lease is not what it was, else as git does.
func Move(ctx context.Context, repo *git.Repo, branch string, from, to git.Commit, lease git.Ref) error {
	var verify []git.Ref
	if lease.Name != "" {
		verify = append(verify, lease)
	}
	return repo.UpdateRefs(ctx, []git.RefChange{{Name: branch, New: to, Old: from}}, verify...)
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

// Release gives a lease back. It fails with [git.ErrRefMoved] when it is another's by now, else as git does.
func Release(ctx context.Context, repo *git.Repo, lease git.Ref) error {
	return repo.UpdateRefs(ctx, []git.RefChange{{Name: lease.Name, Old: lease.Commit}})
}
