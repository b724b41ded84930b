package land

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/beadsorch/orch/orchestrator/command"
	"github.com/beadsorch/orch/orchestrator/fault"
	"github.com/beadsorch/orch/orchestrator/git"
	"github.com/beadsorch/orch/orchestrator/refname"
)

// TipRef is the reference that keeps the tip which the last landing left an epic branch at,
// whatever becomes of the branch.
func TipRef(epic string) string { return refname.Of(epic).Tip() }

// Difference is how a branch differs from where it was left.
type Difference struct {
	// To is where it is now; empty where it is gone.
	To git.Commit
	// Forward says that To has the commit where it was left among its ancestors.
	Forward bool
	// Foreign are the commits that came, newest first, each "id subject"; the first few.
	Foreign []string
	// Lost are the landings whose work To does not hold.
	Lost []string
}

// maxForeign is how many commits a Difference names.
const maxForeign = 20

// Compare says how a branch that was left at from differs from that now; landings are the
// commits that landed, by any names. It fails as git does.
func Compare(ctx context.Context, repo *git.Repo, branch string, from git.Commit, landings map[string]git.Commit) (d Difference, err error) {
	d.To, err = Tip(ctx, repo, branch)
	if err == nil && d.To == "" {
		for name := range landings {
			d.Lost = append(d.Lost, name)
		}
		slices.Sort(d.Lost)
		return d, nil
	}
	if err != nil || d.To == from {
		return d, err
	}
	d.Forward, err = repo.IsAncestor(ctx, from, d.To)
	known := !errors.Is(err, git.ErrNoSuchRef) // from may have been collected
	if err != nil && known {
		return d, err
	}
	since := from
	if !known {
		since = ""
	}
	if d.Foreign, err = Since(ctx, repo, since, d.To); err != nil {
		return d, err
	}
	if !d.Forward {
		d.Lost, err = Lost(ctx, repo, d.To, landings)
	}
	return d, err
}

// Since names the commits of to that from does not have, newest first, each "id subject"; the first few.
// An empty from has none. It fails as git does.
func Since(ctx context.Context, repo *git.Repo, from, to git.Commit) ([]string, error) {
	span := []string{string(to)}
	if from != "" {
		span = append(span, "^"+string(from))
	}
	out, err := repo.Out(ctx, append([]string{"log", "--no-show-signature", "--format=%h %s", "-n", strconv.Itoa(maxForeign), "--end-of-options"}, span...)...)
	if err != nil || out == "" {
		return nil, err
	}
	return strings.Split(out, "\n"), nil
}

// Tip is the commit that a branch is at; empty where there is none, or the reference is broken:
// it holds garbage, or names what is no commit here. It fails as git does.
func Tip(ctx context.Context, repo *git.Repo, branch string) (git.Commit, error) {
	c, err := repo.Resolve(ctx, branch)
	if err == nil {
		if _, treeErr := repo.Tree(ctx, c); treeErr != nil {
			c, err = "", treeErr
		}
	}
	var exit *command.ExitError
	_, machine := fault.Machine(err)
	if errors.Is(err, git.ErrNoSuchRef) || errors.As(err, &exit) && !machine {
		return "", nil
	}
	return c, err
}

// Clear takes a broken reference away, so that it can be written again; one that is whole
// stays. It fails when its file cannot be removed.
func Clear(ctx context.Context, repo *git.Repo, ref string) error {
	if c, err := Tip(ctx, repo, ref); err != nil || c != "" {
		return err
	}
	path := filepath.Join(repo.CommonDir(), filepath.FromSlash(ref))
	if info, err := os.Lstat(path); err != nil || info.IsDir() {
		return nil // there is none, or one below it
	}
	return os.Remove(path)
}

// Lost lists the landings whose work tip does not hold, in order of their names. One is held
// when its commit is an ancestor of tip, or merging it into tip leaves the tree of tip as it is
// (after a squash, a rebase, a cherry-pick), or that is so of a landing which was built on it.
// It fails as git does.
func Lost(ctx context.Context, repo *git.Repo, tip git.Commit, landings map[string]git.Commit) (lost []string, err error) {
	left := map[git.Commit][]string{}
	for name, c := range landings {
		left[c] = append(left[c], name)
	}
	newest, err := takeAncestors(ctx, repo, tip, left)
	if err != nil {
		return nil, err
	}
	tree, err := repo.Tree(ctx, tip)
	if err != nil {
		return nil, err
	}
	for _, c := range newest {
		if left[c] == nil {
			continue // a newer one holds it
		}
		m, err := repo.Merge(ctx, tip, c)
		if err != nil {
			return nil, err
		}
		if !m.Clean() || m.Tree != tree {
			lost = append(lost, left[c]...)
			continue
		}
		for other := range left {
			below, err := repo.IsAncestor(ctx, other, c)
			if err != nil {
				return nil, err
			}
			if below {
				delete(left, other)
			}
		}
	}
	for c, names := range left {
		if !slices.Contains(newest, c) {
			lost = append(lost, names...) // its commit is gone
		}
	}
	slices.Sort(lost)
	return lost, nil
}

// takeAncestors removes ancestors of tip from left, and lists those of the rest that exist, children
// before parents.
func takeAncestors(ctx context.Context, repo *git.Repo, tip git.Commit, left map[git.Commit][]string) (newest []git.Commit, err error) {
	var there []string
	for c := range left {
		if _, err := repo.Tree(ctx, c); errors.Is(err, git.ErrNoSuchRef) {
			continue
		} else if err != nil {
			return nil, err
		}
		there = append(there, string(c))
	}
	if len(there) == 0 {
		return nil, nil
	}
	slices.Sort(there)
	res, err := repo.Do(ctx, git.Call{Args: []string{"rev-list", "--topo-order", "--stdin"}, Stdin: []byte(strings.Join(there, "\n") + "\n^" + string(tip) + "\n")})
	if err != nil {
		return nil, err
	}
	outside := map[git.Commit]bool{}
	for _, id := range strings.Fields(string(res.Stdout)) {
		if c := git.Commit(id); left[c] != nil {
			outside[c] = true
			newest = append(newest, c)
		}
	}
	for _, id := range there {
		if c := git.Commit(id); !outside[c] {
			delete(left, c)
		}
	}
	return newest, nil
}

// Keep has a reference of its own, which it names, keep a commit that was a tip of the epic
// branch. It fails as git does.
func Keep(ctx context.Context, repo *git.Repo, epic string, c git.Commit) (ref string, err error) {
	prefix := TipRef(epic) + "-"
	all, err := repo.Refs(ctx, refname.Of(epic).Own())
	if err != nil {
		return "", err
	}
	last := 0
	for _, r := range all {
		rest, ok := strings.CutPrefix(r.Name, prefix)
		if n, err := strconv.Atoi(rest); ok && err == nil {
			if r.Commit == c {
				return r.Name, nil
			}
			last = max(last, n)
		}
	}
	ref = fmt.Sprintf("%s%d", prefix, last+1)
	return ref, repo.UpdateRefs(ctx, []git.RefChange{{Name: ref, New: c}})
}

// Pin makes the epic's tip reference point at c. It fails as git does.
func Pin(ctx context.Context, repo *git.Repo, epic string, c git.Commit) error {
	if now, err := repo.Resolve(ctx, TipRef(epic)); err == nil && now == c {
		return nil
	}
	if err := Clear(ctx, repo, TipRef(epic)); err != nil {
		return err
	}
	return repo.UpdateRefs(ctx, []git.RefChange{{Name: TipRef(epic), New: c, Old: git.AnyOld}})
}
