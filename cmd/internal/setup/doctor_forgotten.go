package setup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/explain"
	"github.com/beadsorch/orch/orchestrator/engine"
	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/epicstore"
	"github.com/beadsorch/orch/orchestrator/git"
	"github.com/beadsorch/orch/orchestrator/journal"
	"github.com/beadsorch/orch/orchestrator/proc"
	"github.com/beadsorch/orch/orchestrator/refname"
	"github.com/beadsorch/orch/orchestrator/slug"
	"github.com/beadsorch/orch/orchestrator/text"
	"github.com/beadsorch/orch/orchestrator/tracker"
	"github.com/beadsorch/orch/worktree"
)

// forgotten is an epic of which git and the folder of worktrees have something, and orch has no journal: its folder, or
// all of orch's, was removed.
type forgotten struct {
	name     string          // the slug of its id
	store    *worktree.Store // nil where its id is not known
	attempts []engine.Found  // worktrees and branches of attempts
	refs     []git.Ref       // all others of its references
}

// forgotten lists such epics, by the ids of the tracker's issues where those tell. It fails as git does.
func (w doctor) forgotten(ctx context.Context, issues []tracker.Issue) (out []forgotten, err error) {
	names, others, err := w.namesInGit(ctx)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		dir := filepath.Join(w.workspace.Project.Home, "epics", name)
		if _, held, err := epicstore.HeldBy(dir); journal.Begun(dir) || held || err != nil {
			continue // what is wrong with it is said elsewhere
		}
		f := forgotten{name: name, refs: others[name]}
		if id, ok := idOf(name, issues); ok {
			if f.store, err = w.workspace.Store(id); err != nil {
				return nil, err
			}
			if f.attempts, err = f.store.List(ctx); err != nil {
				return nil, err
			}
		}
		if branch, err := w.workspace.Project.Repo.Resolve(ctx, refname.Epic(name).Branch()); err == nil {
			f.refs = append(f.refs, git.Ref{Name: refname.Epic(name).Branch(), Commit: branch})
		} else if !errors.Is(err, git.ErrNoSuchRef) {
			return nil, err
		}
		if len(f.attempts)+len(f.refs) > 0 {
			out = append(out, f)
		}
	}
	return out, nil
}

// namesInGit lists the slugs of the epics that git, or the folder of worktrees, has something of, with the references
// that are no attempt's.
func (w doctor) namesInGit(ctx context.Context) (names []string, others map[string][]git.Ref, err error) {
	others = map[string][]git.Ref{}
	for _, prefix := range []string{refname.Attempts, refname.Own} {
		refs, err := w.workspace.Project.Repo.Refs(ctx, prefix)
		if err != nil {
			return nil, nil, err
		}
		for _, r := range refs {
			name, _, _ := strings.Cut(strings.TrimPrefix(r.Name, prefix), "/")
			names = append(names, name)
			if prefix == refname.Own {
				others[name] = append(others[name], r)
			}
		}
	}
	entries, err := os.ReadDir(w.workspace.Project.Worktrees())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, nil, err
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	slices.Sort(names)
	return slices.Compact(names), others, nil
}

// idOf is the id of the epic with that slug.
func idOf(name string, issues []tracker.Issue) (epic.TaskID, bool) {
	for _, i := range issues {
		if slug.Of(i.ID) == name {
			return epic.TaskID(i.ID), true
		}
	}
	return epic.TaskID(name), slug.Of(name) == name
}

// mendForgotten takes away the worktrees and branches of attempts that no journal knows, as the next run of their epic
// would, once all of their work is reachable; while agents of a killed run are there, nothing.
func (w doctor) mendForgotten(ctx context.Context) (out []finding) {
	if left, err := proc.Survivors(w.workspace.Project.Marker()); err != nil || len(left) > 0 {
		return nil // which checkLeftovers says
	}
	issues, _ := w.workspace.Survey(ctx) // ids that are their own slugs need none
	all, err := w.forgotten(ctx, issues)
	if err != nil {
		return nil // which checkForgotten says
	}
	for _, f := range all {
		if f.store == nil {
			continue
		}
		for _, e := range f.attempts {
			if err := f.store.RemoveFound(ctx, e); err != nil {
				u := explain.Error(err)
				out = append(out, finding{"left", false, fmt.Sprintf("%s: %s", attemptText(e), u.What), strings.Join(u.Fix, "; ")})
				continue
			}
			out = append(out, finding{"mended", true, fmt.Sprintf("%s, which no journal knows: removed; its work is kept below %s%s", attemptText(e), refname.Own, f.name), ""})
		}
		_, err := f.store.Sweep(ctx, false)
		if err = errors.Join(err, f.store.Close(ctx)); err != nil {
			out = append(out, finding{"left", false, fmt.Sprintf("of %s: %v", f.name, err), ""})
		}
	}
	return out
}

// attemptText names what is there of an attempt.
func attemptText(e engine.Found) string {
	var parts []string
	if e.HasDir {
		parts = append(parts, "the worktree "+e.Dir)
	}
	if e.HasBranch {
		parts = append(parts, "the branch "+git.Short(e.Branch))
	}
	return strings.Join(parts, " and ")
}

// checkForgotten names what mendForgotten takes away, and the references that stay.
func (w doctor) checkForgotten(ctx context.Context, issues []tracker.Issue) (out []finding) {
	all, err := w.forgotten(ctx, issues)
	if err != nil {
		u := explain.Error(err)
		return []finding{{"worktrees", false, u.What, strings.Join(u.Fix, "; ")}}
	}
	for _, f := range all {
		for _, e := range f.attempts {
			out = append(out, finding{"worktrees", false, fmt.Sprintf("%s of %s, of which orch has no journal", attemptText(e), f.name),
				"orch doctor --fix, or the next run of the epic: its work is kept"})
		}
		if len(f.refs) == 0 {
			continue
		}
		var names []string
		for _, r := range f.refs {
			names = append(names, r.Name)
		}
		out = append(out, finding{"kept", true, fmt.Sprintf("of %s, of which orch has no journal, git has %d %s with its work: %s", f.name, len(names),
			cli.Plural(len(names), "reference", "references"), text.Cut(strings.Join(names, ", "), 400)), ""})
	}
	return out
}
