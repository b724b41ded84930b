package show

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/slug"
	"github.com/beadsorch/orch/orchestrator/text"
	"github.com/beadsorch/orch/worktree"
)

// keptNames is how many of what a folder holds a person is shown.
const keptNames = 5

// keptText names what could be put into no commit and is kept for a person: folders beside the worktrees, with what was set aside,
// and worktrees of tasks that are over; with the command that shows each. "" for nothing.
func (p page) keptText() string {
	var b strings.Builder
	n := 0
	say := func(dir, what string) {
		n++
		fmt.Fprintf(&b, "  ! %s: %s\n      next  %-36s   %s\n", text.Clause(dir, 1000), text.Clause(what, 400), "ls -A "+cli.Quote(dir), "take what you need; then rm -r "+cli.Quote(dir))
	}
	root := filepath.Join(p.view.Workspace.Project.Worktrees(), slug.Of(string(p.view.State.Epic)))
	dirs, _ := os.ReadDir(root) // one that is not there keeps nothing
	for _, d := range dirs {
		if dir := filepath.Join(root, d.Name()); d.IsDir() && strings.HasPrefix(d.Name(), worktree.KeptPrefix) {
			say(dir, "git repositories of their own, or files that cannot be read, which no commit has: "+namesIn(dir))
		}
	}
	for _, t := range p.view.State.Tasks {
		a := t.Last()
		over := (t.State == epic.Landed || t.State == epic.Skipped) && a.Phase == epic.Ended && len(a.Apart) > 0
		if dir := worktree.NamesOf(p.view.Workspace.Project.Worktrees(), string(p.view.State.Epic), string(t.ID), a.Number).Dir; over && cli.Exists(dir) {
			say(dir, fmt.Sprintf("%s of %s, which no commit has: the work landed without", strings.Join(a.Apart, ", "), t.ID))
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("\nKept for you (%d)\n%s", n, b.String())
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
