package worktree

import (
	"context"
	"errors"
	"path/filepath"
	"slices"

	"github.com/beadsorch/orch/orchestrator/engine"
	"github.com/beadsorch/orch/orchestrator/git"
)

// Harvest finds what an agent left in the worktree of attempt n at task, wherever HEAD is:
// on another branch, detached, reset, in the middle of a merge or a rebase. What is not
// committed is committed on top, with message, through an index of its own. The attempt's branch
// then points at the newest work, and everything else that was committed is reachable from
// the attic. When the worktree is exactly that work, its HEAD is put back on the branch and its
// index made to match, as if the agent had committed; else both stay as they are.
//
// Where the worktree is gone, the work is what was committed, and the Harvest says so.
//
// It may be called again at any time while no process works in the worktree. It fails with
// [git.ErrRefMoved] when one does, or as git does.
func (s *Store) Harvest(ctx context.Context, task string, n int, base git.Commit, message string) (engine.Harvest, error) {
	names := s.Name(task, n)
	l := s.linked(names.Dir)
	v, err := s.readRefs(ctx, l, names)
	if err != nil {
		return engine.Harvest{}, err
	}
	h := harvest{s: s, l: l, names: names, v: v, base: base, message: message, work: engine.Harvest{Lost: v.lost}}
	if h.work.Head, err = s.newestWork(ctx, v, base); err != nil {
		return engine.Harvest{}, err
	}
	if h.work.Beside, err = s.besideWork(ctx, v, h.work.Head, base); err != nil {
		return engine.Harvest{}, err
	}
	if h.work.Gone = l.missing(); h.work.Gone != "" {
		return h.work, h.publish(ctx)
	}
	err = h.harvestFiles(ctx)
	return h.work, errors.Join(err, l.drop(h.scratch))
}

// harvest is one call of Harvest.
type harvest struct {
	s       *Store
	l       linked
	v       view
	names   engine.Names
	base    git.Commit
	message string
	work    engine.Harvest
	extra   []git.Commit // made by orch, for the attic
	scratch string
}

// harvestFiles commits the files, publishes all work, and tidies the worktree.
func (h *harvest) harvestFiles(ctx context.Context) error {
	parent := h.v.head
	if parent == "" {
		parent = h.work.Head
	}
	var snap snapshot
	var err error
	snap, h.scratch, err = h.l.snapshot(ctx, parent)
	if err != nil {
		return err
	}
	if snap.damaged {
		if parent, err = h.readableParent(ctx, parent); err != nil {
			return err
		}
	}
	h.work.Unmerged, h.work.Nested, h.work.Unread, h.work.Large = snap.unmerged, snap.nested, snap.unread, snap.large
	h.work.Blocking = snap.blocking
	if h.work.Ignored, err = h.l.ignored(ctx, snap.index); err != nil {
		return err
	}
	if len(h.work.Unmerged) == 0 && (h.v.picking || h.v.rebasing || len(h.v.merging) > 0) {
		if h.work.Unmerged, err = h.withConflictMarkers(ctx, parent, snap.tree); err != nil {
			return err
		}
	}
	if err := h.salvage(ctx, parent, snap.tree); err != nil {
		return err
	}
	if err := h.publish(ctx); err != nil {
		return err
	}
	if err := h.findEmbedded(ctx, snap); err != nil {
		return err
	}
	if err := h.tidy(ctx, snap); err != nil {
		return err
	}
	return h.endOperations(ctx, snap)
}

// endOperations ends what the agent has begun with git and not finished, or what somebody has planted as such, where all that is in the
// files is work: the next turn begins with nothing to go on with.
func (h *harvest) endOperations(ctx context.Context, snap snapshot) error {
	if len(h.work.Unmerged) > 0 || h.v.rebasing || h.v.picking {
		return nil
	}
	tree, err := h.s.repo.Tree(ctx, h.work.Head)
	if err != nil || tree != snap.tree {
		return err
	}
	h.work.Ended, err = h.s.endOperations(h.l)
	return err
}

// readableParent is parent if all objects that it adds to base are there. Else it is base: what was
// committed is for the attic, as far as it can be read, and the files alone are the work.
func (h *harvest) readableParent(ctx context.Context, parent git.Commit) (git.Commit, error) {
	_, err := h.s.repo.Out(ctx, "rev-list", "--objects", "--quiet", "--end-of-options", string(parent), "--not", string(h.base))
	if exitCode(err) <= 0 {
		return parent, err
	}
	h.work.Head = h.base
	return h.base, nil
}

// salvage commits tree, the content of the files, on top of the work; or for the attic
// alone, when it has conflicts or a rebase is under way.
func (h *harvest) salvage(ctx context.Context, parent git.Commit, tree string) error {
	was, err := h.s.repo.Tree(ctx, parent)
	if err != nil || was == tree && len(h.v.merging) == 0 {
		return err
	}
	c, err := h.s.commit(ctx, tree, h.message, append([]git.Commit{parent}, h.v.merging...)...)
	if err != nil {
		return err
	}
	switch {
	case len(h.work.Unmerged) > 0 || h.v.rebasing:
		h.extra = append(h.extra, c)
		return nil
	case h.work.Head == parent:
		h.work.Head, h.work.Salvaged = c, true
		return nil
	}
	return h.transplant(ctx, parent, c)
}

// transplant applies to the work what c changes since parent, which is elsewhere.
func (h *harvest) transplant(ctx context.Context, parent, c git.Commit) error {
	onto, err := h.s.repo.Tree(ctx, h.work.Head)
	if err != nil {
		return err
	}
	stand, err := h.s.commit(ctx, onto, "orch: "+string(h.work.Head)+" as if made from "+string(parent), parent)
	if err != nil { // merge-tree takes no base in git 2.38, so parent is made the base
		return err
	}
	merged, err := h.s.repo.Merge(ctx, stand, c)
	switch {
	case err != nil:
		return err
	case !merged.Clean():
		h.work.Unmerged, h.extra = merged.Files, append(h.extra, c)
	case merged.Tree != onto:
		h.work.Salvaged = true
		h.work.Head, err = h.s.commit(ctx, merged.Tree, h.message, h.work.Head)
	}
	return err
}

// withConflictMarkers lists the files changed since parent that have conflict markers.
func (h *harvest) withConflictMarkers(ctx context.Context, parent git.Commit, tree string) (marked []string, err error) {
	res, err := h.s.repo.Do(ctx, git.Call{Args: []string{"diff-tree", "-r", "-z", "--name-only", "--no-renames", "--diff-filter=d", string(parent), tree}})
	if err != nil {
		return nil, err
	}
	for paths := range slices.Chunk(zeroSplit(res.Stdout), 200) {
		args := append([]string{"grep", "-l", "-z", "-I", "--all-match", "-e", "^<<<<<<< ", "-e", "^=======$", "-e", "^>>>>>>> ", tree, "--"}, paths...)
		res, err := h.s.repo.Do(ctx, git.Call{Args: args, Env: []string{"GIT_LITERAL_PATHSPECS=1"}})
		if err != nil && exitCode(err) != 1 { // 1: none
			return nil, err
		}
		for _, name := range zeroSplit(res.Stdout) {
			marked = append(marked, name[len(tree)+1:]) // "tree:path"
		}
	}
	return marked, nil
}

// publish moves the branch to the work and keeps all else in the attic, in one transaction.
func (h *harvest) publish(ctx context.Context) error {
	changes, err := h.s.atticChanges(ctx, h.names, h.work.Head, append(h.extra, h.v.tips()...)...)
	if err != nil {
		return err
	}
	if h.work.Head != h.v.branchRef {
		changes = append(changes, git.RefChange{Name: h.names.Branch, New: h.work.Head, Old: h.v.branchRef})
	}
	if len(changes) == 0 {
		return nil
	}
	return h.s.repo.UpdateRefs(ctx, changes)
}

// tidy leaves the worktree as if the agent had committed everything on the branch itself.
func (h *harvest) tidy(ctx context.Context, snap snapshot) error {
	if !h.work.Salvaged && h.v.attached || len(h.work.Unmerged) > 0 || h.v.rebasing || h.v.picking {
		return nil
	}
	tree, err := h.s.repo.Tree(ctx, h.work.Head)
	if err != nil || tree != snap.tree {
		return err
	}
	if !h.v.attached {
		if err := h.l.setHead("ref: "+h.names.Branch, h.v.head, h.work.Head, h.s.now()); err != nil {
			return err
		}
	}
	if _, err := h.l.common.Lstat(filepath.Join(h.l.admin, "index.lock")); err == nil {
		return nil // another process has it; the index is only behind, and the next Harvest finds the same work
	}
	if err := h.l.common.Rename(snap.index, h.l.index()); err != nil || len(h.v.merging) == 0 {
		return err
	}
	return h.l.quitMerge()
}
