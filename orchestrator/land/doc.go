// Package land puts an attempt's commit on a branch.
//
// Landing is optimistic: [Build] merges without a work tree and makes a candidate commit
// that no reference knows; when the caller is satisfied with its exact tree, [Move] is one
// transaction that moves the branch from where it was and verifies the lease that [Acquire]
// has given. A lost race is [git.ErrRefMoved], and nothing has changed.
//
// What has landed is read from the branch itself: each landed commit carries the trailers
// Orch-Epic, Orch-Task and Orch-Attempt, whose values are compared whole. They are
// percent-encoded where an id has other characters than a URL's path segment allows, so that a
// value is one line always.
//
// Merges honour the .gitattributes files of the branch (see [git.Repo.Merge]); no hook of
// the repository runs and nothing is signed.
package land
