package worktree

import (
	"context"
	"strings"

	"github.com/beadsorch/orch/orchestrator/engine"
	"github.com/beadsorch/orch/orchestrator/git"
)

// Attic makes tip reachable from the attic reference of attempt n at task. When the
// reference keeps other work already, it then points at a commit that has both as parents
// and the tree of tip. It fails as git does.
func (s *Store) Attic(ctx context.Context, task string, n int, tip git.Commit) error {
	names := s.Name(task, n)
	was, err := s.tip(ctx, names.Attic)
	if err != nil {
		return err
	}
	if was != "" {
		if kept, err := s.repo.IsAncestor(ctx, tip, was); err != nil || kept {
			return err
		}
	}
	change, err := s.join(ctx, names.Attic, was, []git.Commit{tip})
	if err != nil {
		return err
	}
	return s.repo.UpdateRefs(ctx, []git.RefChange{change})
}

// atticChanges is the change, if one is needed, that makes tips reachable from the attic. Those
// that are reachable from head or from a reference other than the attempt's branch need none.
func (s *Store) atticChanges(ctx context.Context, names engine.Names, head git.Commit, tips ...git.Commit) ([]git.RefChange, error) {
	lost, err := s.unreachable(ctx, names.Branch, head, tips)
	if err != nil || len(lost) == 0 {
		return nil, err
	}
	was, err := s.tip(ctx, names.Attic)
	if err != nil {
		return nil, err
	}
	change, err := s.join(ctx, names.Attic, was, lost)
	return []git.RefChange{change}, err
}

// join is the change that makes tips reachable from ref beside what it has.
func (s *Store) join(ctx context.Context, ref string, was git.Commit, tips []git.Commit) (git.RefChange, error) {
	change := git.RefChange{Name: ref, New: tips[0], Old: was}
	forward := was == ""
	var err error
	if was != "" && len(tips) == 1 {
		forward, err = s.repo.IsAncestor(ctx, was, tips[0])
	}
	if err != nil || forward && len(tips) == 1 {
		return change, err
	}
	tree, err := s.repo.Tree(ctx, tips[0])
	if err != nil {
		return change, err
	}
	if was != "" {
		tips = append(tips[:len(tips):len(tips)], was)
	}
	change.New, err = s.commit(ctx, tree, "orch: keep work that landed nowhere", tips...)
	return change, err
}

// commit makes a commit that no reference knows yet.
func (s *Store) commit(ctx context.Context, tree, message string, parents ...git.Commit) (git.Commit, error) {
	args := []string{"commit-tree", "-F", "-"}
	for _, p := range parents {
		args = append(args, "-p", string(p))
	}
	res, err := s.repo.Do(ctx, git.Call{Args: append(args, tree), Stdin: []byte(strings.ReplaceAll(message, "\x00", "") + "\n")})
	return git.Commit(strings.TrimSuffix(string(res.Stdout), "\n")), err
}

// unreachable are those of tips, without their own ancestors, that neither head nor any
// reference but branch leads to. Ids of objects that are gone are left out.
func (s *Store) unreachable(ctx context.Context, branch string, head git.Commit, tips []git.Commit) ([]git.Commit, error) {
	var stdin strings.Builder
	for _, tip := range tips {
		if tip != "" {
			stdin.WriteString(string(tip) + "\n")
		}
	}
	if stdin.Len() == 0 {
		return nil, nil
	}
	args := []string{"rev-list", "--ignore-missing", "--parents", "--topo-order", "--stdin", "--not",
		"--exclude=" + branch, "--glob=refs/heads/", "--glob=refs/tags/", "--glob=refs/remotes/", "--glob=refs/orch/"}
	if head != "" {
		args = append(args, string(head))
	}
	res, err := s.repo.Do(ctx, git.Call{Args: args, Stdin: []byte(stdin.String())})
	if err != nil {
		return nil, err
	}
	return headsOf(string(res.Stdout)), nil
}

// headsOf are the commits in "id parent..." lines that are no other's parent, in their order.
func headsOf(list string) (out []git.Commit) {
	isParent := map[string]bool{}
	for line := range strings.Lines(list) {
		ids := strings.Fields(line)
		if !isParent[ids[0]] { // children come first, by --topo-order
			out = append(out, git.Commit(ids[0]))
		}
		for _, p := range ids[1:] {
			isParent[p] = true
		}
	}
	return out
}
