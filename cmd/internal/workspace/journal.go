package workspace

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
	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/epicstore"
	"github.com/beadsorch/orch/orchestrator/journal"
	"github.com/beadsorch/orch/orchestrator/land"
	"github.com/beadsorch/orch/orchestrator/refname"
	"github.com/beadsorch/orch/orchestrator/tracker"
)

// All that answer from an epic's journal, or write it, learn here whether it can be believed: from
// [Workspace.ViewIn], which reads one that has begun, and [Workspace.CheckJournal] of one that has not.

// CheckJournal fails with JOURNAL_CORRUPT where the journal of an epic was lost, and nobody has put
// that right with orch doctor --fix. One that has begun is for [Workspace.ViewIn] to judge. It fails
// too where git does not answer.
func (w *Workspace) CheckJournal(ctx context.Context, id epic.TaskID) error {
	dir := w.EpicDir(id)
	lost, err := w.lostJournal(ctx, dir)
	if err == nil && lost {
		err = LostError(dir)
	}
	return err
}

// lostJournal reports whether the journal in an epic's folder holds no record or is gone, though
// there was one: the reference to the tip of the branch is made after the first record.
func (w *Workspace) lostJournal(ctx context.Context, dir string) (bool, error) {
	if !cli.Exists(dir) || journal.Begun(dir) {
		return false, nil
	}
	if _, held, err := epicstore.HeldBy(dir); held || err != nil {
		return false, err // a run begins
	}
	if kept, err := filepath.Glob(filepath.Join(dir, journal.Damaged+"*")); err != nil || len(kept) > 0 {
		return false, err // orch doctor has put it aside
	}
	c, err := land.Tip(ctx, w.Project.Repo, refname.Epic(filepath.Base(dir)).Tip())
	return c != "", err
}

// LostJournals lists the folders of epics whose journal was lost, as [Workspace.CheckJournal] has it. It
// fails as that and [Workspace.Epics] do.
func (w *Workspace) LostJournals(ctx context.Context) (dirs []string, err error) {
	entries, err := os.ReadDir(filepath.Join(w.Project.Home, "epics"))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("looking for epics: %w", err)
	}
	for _, e := range entries {
		dir := filepath.Join(w.Project.Home, "epics", e.Name())
		if !e.IsDir() {
			continue
		}
		lost, err := w.lostJournal(ctx, dir)
		if err != nil {
			return nil, err
		}
		if lost {
			dirs = append(dirs, dir)
		}
	}
	return dirs, nil
}

// LostError says that the journal in an epic's folder is empty or gone, and what helps.
func LostError(dir string) error {
	name := filepath.Base(dir)
	return &cli.Error{Code: "JOURNAL_CORRUPT", What: "the journal of " + name + " is empty or gone", Exit: cli.ExitNotReady, Promise: epic.LoopError,
		Why: "git has the tip of that epic's branch, so there was one; what it said is lost, and the work is not",
		Fix: []string{"bring " + cli.Quote(filepath.Join(dir, journal.File)) + " back from a backup", "or orch doctor --fix: it puts aside what is left, and the next run finds by git and the tracker what has landed"}}
}

// unreadable is the error of a journal that cannot be read: its epic is LOOP_ERROR until it is mended. A
// fault of the machine, or another error, stays as it is.
func unreadable(err error) error {
	e := explain.Error(err)
	if !strings.HasPrefix(e.Code, "JOURNAL_") {
		return err
	}
	with := *e
	with.Promise, with.Err = epic.LoopError, err
	return &with
}

// JournalFault is the error with which an epic's journal was refused, with its promise; nil for any other error.
func JournalFault(err error) *cli.Error {
	var e *cli.Error
	if errors.As(err, &e) && e.Promise == epic.LoopError && strings.HasPrefix(e.Code, "JOURNAL_") {
		return e
	}
	return nil
}

// whyNone is why a view of what was asked for cannot be had: none, or unread where the journal is damaged or
// lost that would tell. unread are the errors of such journals by their folders.
func (w *Workspace) whyNone(ctx context.Context, args []string, none error, unread map[string]error) error {
	lost, err := w.LostJournals(ctx)
	if err != nil {
		return err
	}
	for _, dir := range lost {
		unread[dir] = LostError(dir)
	}
	if len(unread) == 0 {
		return none
	}
	if len(args) > 0 {
		if err, ok := unread[w.EpicDir(epic.TaskID(args[0]))]; ok {
			return err
		}
		issues, err := w.Survey(ctx)
		if err == nil {
			return unreadEpicOf(w, issues, args[0], none, unread)
		}
	}
	for _, err := range unread { // it may be of any
		return err
	}
	return none
}

// unreadEpicOf is the error of the journal of the epic that an issue is of by the tracker; none where
// it is of none of these.
func unreadEpicOf(w *Workspace, issues []tracker.Issue, id string, none error, unread map[string]error) error {
	x := tracker.NewIndex(issues)
	for _, i := range issues {
		if err, ok := unread[w.EpicDir(epic.TaskID(i.ID))]; ok && slices.Contains(x.Descendants(i.ID), id) {
			return err
		}
	}
	return none
}
