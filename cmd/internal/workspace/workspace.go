// Package workspace is a repository with its settings, its tracker and its epics.
package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/project"
	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/journal"
	"github.com/beadsorch/orch/orchestrator/slug"
)

// Workspace is a project with its tracker and its epics.
type Workspace struct {
	// Project is the repository, with what was read of its settings and what runs there.
	Project *project.Project
}

// Now is the time by the clock of the invocation.
func (w *Workspace) Now() time.Time { return w.Project.Invocation.Now() }

// Open is [project.Open]. The tracker is opened when it is asked for.
func Open(ctx context.Context, a *cli.Invocation) (*Workspace, error) {
	return fromProject(project.Open(ctx, a, Kinds()))
}

// Read is [project.Read]: Open for a command that runs nothing by the settings.
func Read(ctx context.Context, a *cli.Invocation) (*Workspace, error) {
	return fromProject(project.Read(ctx, a, Kinds()))
}

// OpenForHook is [project.OpenForHook], for a hook, which has no time to ask git: only the settings and the
// tracker can be read.
func OpenForHook(a *cli.Invocation, root, common string) *Workspace {
	return &Workspace{project.OpenForHook(a, root, common, Kinds())}
}

func fromProject(p *project.Project, err error) (*Workspace, error) {
	if p == nil {
		return nil, err
	}
	return &Workspace{p}, err
}

// EpicDir is where an epic's journal, logs and requests are.
func (w *Workspace) EpicDir(epicID epic.TaskID) string {
	return filepath.Join(w.Project.Home, "epics", slug.Of(string(epicID)))
}

// Epics lists the folders of the epics whose journal has begun, as [journal.Begun], newest first. It
// fails when they cannot be listed.
func (w *Workspace) Epics() ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(w.Project.Home, "epics"))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("looking for epics: %w", err)
	}
	var dirs []string
	newest := map[string]time.Time{}
	for _, e := range entries {
		dir := filepath.Join(w.Project.Home, "epics", e.Name())
		info, err := os.Lstat(filepath.Join(dir, journal.File))
		if err != nil || !journal.Begun(dir) { // a run that got no further
			continue
		}
		dirs = append(dirs, dir)
		newest[dir] = info.ModTime()
	}
	slices.SortFunc(dirs, func(a, b string) int { return newest[b].Compare(newest[a]) })
	return dirs, nil
}
