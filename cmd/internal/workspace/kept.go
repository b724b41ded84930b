package workspace

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/slug"
	"github.com/beadsorch/orch/worktree"
)

// keptNames is how many of what a folder holds are named.
const keptNames = 5

// Kept lists what could be put into no commit and is kept for a person: folders beside the worktrees, with what was set aside,
// and worktrees of tasks that are over.
func (p *EpicView) Kept() (kept []Unremoved) {
	root := filepath.Join(p.Workspace.Project.Worktrees(), slug.Of(string(p.State.Epic)))
	dirs, _ := os.ReadDir(root) // one that is not there keeps nothing
	for _, d := range dirs {
		if dir := filepath.Join(root, d.Name()); d.IsDir() && strings.HasPrefix(d.Name(), worktree.KeptPrefix) {
			kept = append(kept, Unremoved{Path: dir, Why: "git repositories of their own, or files that cannot be read, which no commit has: " + namesIn(dir)})
		}
	}
	for _, t := range p.State.Tasks {
		a := t.Last()
		over := (t.State == epic.Landed || t.State == epic.Skipped) && a.Phase == epic.Ended && len(a.Apart) > 0
		if dir := worktree.NamesOf(p.Workspace.Project.Worktrees(), string(p.State.Epic), string(t.ID), a.Number).Dir; over && cli.Exists(dir) {
			kept = append(kept, Unremoved{Path: dir, Why: fmt.Sprintf("%s of %s, which no commit has: the work landed without", strings.Join(a.Apart, ", "), t.ID)})
		}
	}
	return kept
}

// namesIn are the names of the first things in a folder.
func namesIn(dir string) string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err.Error()
	}
	var names []string
	for _, e := range entries[:min(len(entries), keptNames)] {
		names = append(names, e.Name())
	}
	if more := len(entries) - keptNames; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}
