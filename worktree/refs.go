package worktree

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/beadsorch/orch/orchestrator/engine"
	"github.com/beadsorch/orch/orchestrator/git"
)

// maxLog bounds the reflog of a worktree, in bytes.
const maxLog = 64 << 20

// view is where an attempt's branch and the HEAD of its worktree are.
type view struct {
	branchRef git.Commit   // what the branch points at; empty when it is gone
	branch    git.Commit   // the same, where that commit can be read
	head      git.Commit   // HEAD; empty when unborn or gone
	attached  bool         // HEAD is the branch, by name
	merging   []git.Commit // the other parents of a merge under way
	picking   bool         // a cherry-pick or a revert is under way
	rebasing  bool         // a rebase is under way
	log       []git.Commit // where HEAD has been
	lost      []git.Commit // what of the branch and HEAD cannot be read
}

// readRefs reads the references; none of the agent's files.
func (s *Store) readRefs(ctx context.Context, l linked, names engine.Names) (v view, err error) {
	if v.branchRef, err = s.tip(ctx, names.Branch); err != nil {
		return v, err
	}
	v.branch = v.branchRef
	if l.hasAdmin() {
		if v, err = s.readAdmin(ctx, l, names, v); err != nil {
			return v, err
		}
	}
	return s.onlyReadable(ctx, v)
}

// readAdmin adds what the admin directory says.
func (s *Store) readAdmin(ctx context.Context, l linked, names engine.Names, v view) (view, error) {
	file := func(name string) string {
		content, err := l.common.ReadFile(filepath.Join(l.admin, name), maxLog)
		if err != nil {
			return ""
		}
		return string(content)
	}
	v.attached = strings.TrimSpace(file("HEAD")) == "ref: "+names.Branch
	v.picking = l.isOperation("CHERRY_PICK_HEAD") || l.isOperation("REVERT_HEAD")
	v.rebasing = l.isOperation("rebase-merge") || l.isOperation("rebase-apply")
	for _, id := range strings.Fields(file("MERGE_HEAD")) {
		if isID(id) {
			v.merging = append(v.merging, git.Commit(id))
		}
	}
	v.log = parseReflog(file("logs/HEAD"))
	for _, name := range []string{"MERGE_AUTOSTASH", "rebase-merge/autostash", "rebase-apply/autostash"} {
		if stash := strings.TrimSpace(file(name)); isID(stash) {
			v.log = append(v.log, git.Commit(stash))
		}
	}
	if v.attached {
		v.head = v.branch
		return v, nil
	}
	var err error
	if v.head, err = s.repo.Head(ctx, l.admin); errors.Is(err, git.ErrNoSuchRef) || exitCode(err) > 0 && ctx.Err() == nil && !ofMachine(err) {
		if id := strings.TrimSpace(file("HEAD")); isID(id) {
			v.lost = append(v.lost, git.Commit(id)) // a commit that is damaged
		}
		return v, nil
	}
	return v, err
}

// onlyReadable takes out of v what is no commit that can be read: an object may be gone, or be empty after a crash of
// the machine. What it was is in lost, as far as it was work.
func (s *Store) onlyReadable(ctx context.Context, v view) (view, error) {
	readable, err := s.repo.Readable(ctx, slices.Concat(v.tips(), v.merging, v.lost))
	if err != nil {
		return v, fmt.Errorf("asking what can be read: %w", err)
	}
	for _, c := range []*git.Commit{&v.branch, &v.head} {
		if *c != "" && !readable[*c] {
			v.lost = append(v.lost, *c)
			*c = ""
		}
	}
	damaged := func(c git.Commit) bool { return !readable[c] }
	v.log, v.merging = slices.DeleteFunc(v.log, damaged), slices.DeleteFunc(v.merging, damaged)
	slices.Sort(v.lost)
	v.lost = slices.Compact(v.lost)
	return v, nil
}

// parseReflog are the commits that a reflog names, "old new who when TAB what" a line.
func parseReflog(text string) (ids []git.Commit) {
	for line := range strings.Lines(text) {
		fields := strings.SplitN(line, " ", 3)
		if len(fields) < 3 {
			continue
		}
		for _, id := range fields[:2] {
			if isID(id) && strings.Trim(id, "0") != "" {
				ids = append(ids, git.Commit(id))
			}
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

func isID(s string) bool {
	return (len(s) == 40 || len(s) == 64) && strings.Trim(s, "0123456789abcdef") == ""
}

// tips is all that was committed here, newest first as far as that is known.
func (v view) tips() []git.Commit {
	return append([]git.Commit{v.head, v.branch}, v.log...)
}

// newestWork is the work that counts: the one of HEAD and the branch that has the other, or
// else the younger. While a rebase is under way the branch still has all of it. Without either,
// or with nothing that base has not, it is base.
func (s *Store) newestWork(ctx context.Context, v view, base git.Commit) (git.Commit, error) {
	c := v.head
	switch {
	case v.head == v.branch:
	case v.head == "" || v.rebasing && v.branch != "":
		c = v.branch
	case v.branch != "":
		var err error
		if c, err = s.younger(ctx, v.head, v.branch); err != nil {
			return "", err
		}
	}
	if c == "" {
		return base, nil
	}
	if old, err := s.repo.IsAncestor(ctx, c, base); err != nil || old {
		return base, err
	}
	return c, nil
}

// besideWork is what HEAD or the branch has of work that is in neither the work that counts nor base; "" for none. In the
// middle of a rebase HEAD has what the branch has.
func (s *Store) besideWork(ctx context.Context, v view, work, base git.Commit) (git.Commit, error) {
	if v.rebasing {
		return "", nil
	}
	for _, c := range []git.Commit{v.head, v.branch} {
		if c == "" || c == work {
			continue
		}
		within := false
		for _, of := range []git.Commit{work, base} {
			is, err := s.repo.IsAncestor(ctx, c, of)
			if err != nil {
				return "", err
			}
			within = within || is
		}
		if !within {
			return c, nil
		}
	}
	return "", nil
}

// younger is the descendant of the two, or where they have diverged the one committed later.
func (s *Store) younger(ctx context.Context, a, b git.Commit) (git.Commit, error) {
	if below, err := s.repo.IsAncestor(ctx, a, b); err != nil || below {
		return b, err
	}
	if below, err := s.repo.IsAncestor(ctx, b, a); err != nil || below {
		return a, err
	}
	times, err := s.repo.Out(ctx, "log", "--no-walk=unsorted", "--no-show-signature", "--format=%ct", "--end-of-options", string(a), string(b))
	if err != nil {
		return "", err
	}
	first, second, _ := strings.Cut(times, "\n")
	if parseSeconds(first) >= parseSeconds(second) {
		return a, nil
	}
	return b, nil
}

// parseSeconds is a time that git prints; one that it cannot print, as of a commit that an agent has written by
// hand, is the oldest.
func parseSeconds(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return math.MinInt64
	}
	return n
}
