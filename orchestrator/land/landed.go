package land

import (
	"context"
	"errors"
	"net/url"
	"strings"

	"github.com/beadsorch/orch/orchestrator/git"
)

const (
	trailerEpic    = "Orch-Epic"
	trailerTask    = "Orch-Task"
	trailerAttempt = "Orch-Attempt"
	trailerSandbox = "Orch-Sandbox"
)

// LandedAll maps "<task>/<attempt>", with the task's id as the tracker has it, to the
// commit on branch, after base, that landed it; an empty base means the whole history. It
// fails as git does.
func LandedAll(ctx context.Context, repo *git.Repo, branch string, base git.Commit) (map[string]git.Commit, error) {
	all, err := listLandings(ctx, repo, branch, base)
	if err != nil {
		return nil, err
	}
	landed := map[string]git.Commit{}
	for _, l := range all {
		task, n, _ := strings.Cut(l.attempt, "/")
		id, err := url.PathUnescape(task)
		if _, newer := landed[id+"/"+n]; err == nil && n != "" && !newer {
			landed[id+"/"+n] = l.commit
		}
	}
	return landed, nil
}

// Genuine reports whether a commit is what Build makes: the merge of an attempt that changes
// something. It fails as git does.
func Genuine(ctx context.Context, repo *git.Repo, c git.Commit) (bool, error) {
	out, err := repo.Out(ctx, "log", "-1", "--no-show-signature", "--format=%P", "--end-of-options", string(c))
	parents := strings.Fields(out)
	if err != nil || len(parents) != 2 {
		return false, err
	}
	was, err := repo.Tree(ctx, git.Commit(parents[0]))
	if err != nil {
		return false, err
	}
	now, err := repo.Tree(ctx, c)
	return now != was, err
}

// landing is a commit that carries the trailers.
type landing struct {
	commit  git.Commit
	attempt string // "<task>/<attempt>", the task's id escaped
}

// listLandings reads the first parents from branch back to base, newest first.
func listLandings(ctx context.Context, repo *git.Repo, branch string, base git.Commit) ([]landing, error) {
	span := branch
	if base != "" {
		span = string(base) + ".." + branch
	}
	out, err := repo.Out(ctx, "log", "-z", "--first-parent", "--no-show-signature",
		"--format=%H%n"+trailerFormat(trailerEpic)+"%n"+trailerFormat(trailerAttempt), "--end-of-options", span)
	if err != nil {
		return nil, err
	}
	return parseLandings(out), nil
}

// parseLandings reads "id NL epic NL attempt NUL" records. A commit with several trailers of
// one kind is none of ours: their values would be joined by a comma, which ours never have.
func parseLandings(out string) (all []landing) {
	for record := range strings.SplitSeq(out, "\x00") {
		fields := strings.Split(record, "\n")
		if len(fields) != 3 || fields[1] == "" || fields[2] == "" || strings.Contains(fields[1]+fields[2], ",") {
			continue
		}
		all = append(all, landing{git.Commit(fields[0]), fields[2]})
	}
	return all
}

// Named is the commit which landed a task, in whatever epic that was then, and whose id begins with prefix; empty where
// this repository has none. It fails as git does.
func Named(ctx context.Context, repo *git.Repo, prefix, task string) (git.Commit, error) {
	if prefix == "" {
		return "", nil
	}
	out, err := repo.Out(ctx, "rev-parse", "--disambiguate="+prefix) // never a reference of that name
	if err != nil {
		return "", err
	}
	for id := range strings.FieldsSeq(out) {
		c, err := repo.Resolve(ctx, id+"^{commit}")
		if errors.Is(err, git.ErrNoSuchRef) {
			continue // no commit
		}
		if err != nil {
			return "", err
		}
		said, err := repo.Out(ctx, "log", "-1", "--no-show-signature", "--format="+trailerFormat(trailerTask), "--end-of-options", string(c))
		if err != nil {
			return "", err
		}
		if said == url.PathEscape(task) {
			return c, nil
		}
	}
	return "", nil
}

// trailerFormat is git's format for the values of a trailer.
func trailerFormat(key string) string {
	return "%(trailers:key=" + key + ",valueonly,separator=%x2C)"
}
