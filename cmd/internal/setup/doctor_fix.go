package setup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/explain"
	"github.com/beadsorch/orch/orchestrator/checkpoint"
	"github.com/beadsorch/orch/orchestrator/engine"
	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/epicstore"
	"github.com/beadsorch/orch/orchestrator/journal"
	"github.com/beadsorch/orch/orchestrator/text"
	"github.com/beadsorch/orch/worktree"
)

// mend repairs what of orch's own files can be repaired, and says what it did. What it changes is
// kept beside it first.
func (w doctor) mend(ctx context.Context) (out []finding) {
	dirs, err := w.workspace.Epics()
	if err != nil {
		return []finding{{"epics", false, err.Error(), ""}}
	}
	for _, dir := range dirs {
		m, err := epicstore.Mend(ctx, dir, func(id epic.TaskID) bool { return w.workspace.EpicDir(id) == dir }, w.workspace.Now, false)
		var held *epicstore.HeldError
		if errors.As(err, &held) {
			out = append(out, finding{"journal", true, held.Error() + "; its journal is left alone", ""})
			continue
		}
		out = append(out, mendFindings(filepath.Base(dir), m, err)...)
		out = append(out, w.mendRelocated(ctx, dir)...)
		for _, loop := range loopDirs(dir) {
			out = append(out, w.mendLoop(loop)...)
		}
	}
	out = append(append(out, w.setAside(ctx)...), w.mendForgotten(ctx)...)
	loops, _ := filepath.Glob(filepath.Join(w.workspace.Project.Home, "iterations", "*")) // a constant pattern is never malformed
	for _, loop := range loops {
		out = append(out, w.mendLoop(loop)...)
	}
	return append(append(out, w.closeFolders()...), w.clearScratch()...)
}

// setAside has the next run of each epic whose journal was lost begin a new one.
func (w doctor) setAside(ctx context.Context) (out []finding) {
	lost, err := w.workspace.LostJournals(ctx)
	if err != nil {
		return []finding{{"epics", false, err.Error(), ""}}
	}
	for _, dir := range lost {
		m, err := epicstore.SetAside(ctx, dir, w.workspace.Now)
		out = append(out, mendFindings(filepath.Base(dir), m, err)...)
	}
	return out
}

// mendRelocated settles an epic's worktrees that are not any more where git has them.
func (w doctor) mendRelocated(ctx context.Context, dir string) []finding {
	store, paths, err := w.relocated(ctx, dir)
	if err != nil || len(paths) == 0 {
		return nil // which checkRelocated says
	}
	var out []finding
	_, err = store.Sweep(ctx, false)
	var left *engine.LeftError
	if closeErr := store.Close(ctx); errors.As(closeErr, &left) {
		for _, l := range left.Left {
			out = append(out, finding{"left", false, l.Path + ": " + l.What, l.Fix})
		}
	} else {
		err = errors.Join(err, closeErr)
	}
	if err != nil {
		u := explain.Error(err)
		return append(out, finding{"worktrees", false, u.What, strings.Join(u.Fix, "; ")})
	}
	return append(out, finding{"mended", true, relocatedText(len(paths), filepath.Base(dir)) + ": settled", ""})
}

// checkRelocated looks for what mendRelocated settles.
func (w doctor) checkRelocated(ctx context.Context, dir string) []finding {
	_, paths, err := w.relocated(ctx, dir)
	switch {
	case err != nil:
		u := explain.Error(err)
		return []finding{{"worktrees", false, u.What, strings.Join(u.Fix, "; ")}}
	case len(paths) == 0:
		return nil
	}
	return []finding{{"worktrees", false, relocatedText(len(paths), filepath.Base(dir)) + ": " + text.Cut(strings.Join(paths, ", "), 200), "orch gc EPIC, or orch doctor --fix, or the next run of the epic"}}
}

func relocatedText(n int, epicDir string) string {
	return fmt.Sprintf("git has %d %s of %s from where the repository was before it was moved", n, cli.Plural(n, "worktree", "worktrees"), epicDir)
}

// relocated are the worktrees of the epic in a folder that are not any more where git has them; none while a run has it.
func (w doctor) relocated(ctx context.Context, dir string) (*worktree.Store, []string, error) {
	p, err := w.workspace.ViewIn(dir)
	if err != nil || p.Held || p.State.Epic == "" {
		return nil, nil, nil // what is wrong with its journal is said elsewhere
	}
	store, err := w.workspace.Store(p.State.Epic)
	if err != nil {
		return nil, nil, err
	}
	paths, err := store.Relocated(ctx)
	return store, paths, err
}

// loopDirs are the folders of the loops of an epic's agents.
func loopDirs(dir string) []string {
	dirs, _ := filepath.Glob(filepath.Join(dir, "attempts", "*", "*", checkpoint.DirName)) // the epic's folder is a slug
	return dirs
}

// mendLoop repairs the journal of an iteration loop, where it cannot be read.
func (w doctor) mendLoop(dir string) []finding {
	if _, err := journal.Read(dir); errors.Is(err, os.ErrNotExist) || err == nil && journal.Check(dir) == nil {
		return nil
	}
	m, err := journal.Mend(dir, func(recs []journal.Record) int { return len(recs) }, w.workspace.Now, false)
	return mendFindings(dir, m, err)
}

func mendFindings(name string, m journal.Mended, err error) (out []finding) {
	if err != nil {
		u := explain.Error(err)
		return []finding{{"journal", false, name + ": " + u.What, strings.Join(u.Fix, "; ")}}
	}
	for _, did := range m.Did {
		out = append(out, finding{"mended", true, "the journal of " + name + ": " + did, ""})
	}
	return out
}

// clearScratch removes what killed commands left in orch's folder for short-lived files.
func (w doctor) clearScratch() (out []finding) {
	removed, left, err := w.workspace.Project.Repo.Sweep(w.workspace.Now())
	if err != nil {
		u := explain.Error(err)
		return []finding{{"scratch", false, u.What, strings.Join(u.Fix, "; ")}}
	}
	for _, u := range left {
		out = append(out, finding{"scratch", false, u.Path + ": " + u.Err.Error(), ""})
	}
	if len(removed) == 0 {
		return out
	}
	return append(out, finding{"mended", true, fmt.Sprintf("%d scratch %s of killed commands removed", len(removed), cli.Plural(len(removed), "folder", "folders")), ""})
}

// checkScratch looks for what clearScratch removes.
func (w doctor) checkScratch() []finding {
	left, err := w.workspace.Project.Repo.Abandoned(w.workspace.Now())
	switch {
	case err != nil:
		return []finding{{"scratch", false, err.Error(), ""}}
	case len(left) == 0:
		return nil
	}
	return []finding{{"scratch", false, fmt.Sprintf("%d %s of killed commands in %s", len(left), cli.Plural(len(left), "folder", "folders"), w.workspace.Project.Repo.ScratchDir()), "orch gc, or orch doctor --fix"}}
}
