// Package snapshot writes how an epic stands in files that people and other tools read:
// orchestrator-state.json, focus.md, history.md and issues/ID.md. They are made from the
// journal, which stays the only truth, when a run begins and ends and when a session has been given a
// task or has landed one; what happens between that is in the journal alone.
package snapshot

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/private"
	"github.com/beadsorch/orch/orchestrator/slug"
	"github.com/beadsorch/orch/orchestrator/text"
)

// State is orchestrator-state.json.
type State struct {
	Schema     string      `json:"schema"`
	Epic       epic.TaskID `json:"epic"`
	Run        int         `json:"run"`
	Phase      string      `json:"phase"` // the state of the task in focus, or of the run: done, blocked, stopped
	Iteration  int         `json:"iteration"`
	Promise    string      `json:"promise"`
	Reason     string      `json:"reason"`
	Counts     epic.Counts `json:"counts"`
	Focus      epic.TaskID `json:"focus,omitempty"`
	Tip        epic.Commit `json:"tip"`
	WrittenUTC time.Time   `json:"written"` // all of the snapshot is as of then
}

// Files are the files of a snapshot by their paths.
func Files(s epic.State, sum epic.Summary, now time.Time) (map[string]string, error) {
	focus := inFocus(s)
	doc := State{Schema: "orch.snapshot/1", Epic: s.Epic, Run: s.Run.Number, Phase: phaseOf(s, sum, focus), Iteration: s.Run.Iterations, Promise: string(sum.Promise),
		Reason: sum.Reason, Counts: sum.Counts, Tip: s.Tip, WrittenUTC: now.UTC()}
	files := map[string]string{"focus.md": "# Focus\n\nNothing: " + oneLine(sum.Reason) + "\n"}
	if focus != nil {
		doc.Focus = focus.ID
		files["focus.md"] = "# Focus\n\n" + describeTask(focus)
	}
	body, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("writing the snapshot: %w", err)
	}
	files["orchestrator-state.json"] = string(body) + "\n"
	history := "# History\n\n"
	for _, t := range s.Tasks {
		if t.Epic || t.External {
			continue
		}
		files[filepath.Join("issues", slug.Of(string(t.ID))+".md")] = describeTask(t)
		if t.State == epic.Landed {
			history += fmt.Sprintf("- %s  %s  %.12s  %s\n", t.Since.UTC().Format("2006-01-02 15:04"), t.ID, t.Commit, oneLine(t.Title))
		}
	}
	files["history.md"] = history
	return files, nil
}

// inFocus is the task that is shown first: one that an agent is at, else the first that
// needs a person.
func inFocus(s epic.State) *epic.Task {
	for _, state := range []epic.TaskState{epic.Validating, epic.Queued, epic.Running, epic.Parked} {
		for _, t := range s.Tasks {
			if t.State == state && !t.Epic && !t.External {
				return t
			}
		}
	}
	return nil
}

func phaseOf(s epic.State, sum epic.Summary, focus *epic.Task) string {
	switch {
	case sum.Counts.Total > 0 && sum.Counts.Done == sum.Counts.Total:
		return "done"
	case focus != nil && focus.State == epic.Parked:
		return "blocked"
	case focus != nil:
		return string(focus.State)
	case s.Run.Ended.IsZero():
		return "running"
	}
	return "stopped"
}

// describeTask is one task in a line.
func describeTask(t *epic.Task) string {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s  %s\n\n- state: %s\n", t.ID, oneLine(t.Title), t.State)
	if t.Code != "" {
		fmt.Fprintf(&b, "- why: %s %s\n", t.Code, oneLine(t.Why))
	}
	if t.Commit != "" {
		fmt.Fprintf(&b, "- commit: %s\n", t.Commit)
	}
	for _, a := range t.Attempts {
		word := "open"
		switch {
		case a.Failure != "":
			word = string(a.Failure)
		case !a.Open():
			word = "ended"
		}
		fmt.Fprintf(&b, "- attempt %d: %s, %d iterations %s\n", a.Number, word, a.Iteration, oneLine(a.Why))
	}
	return b.String()
}

// oneLine is text from outside as one line that is not too long.
func oneLine(s string) string { return text.Clause(s, 200) }

// levels is how deep a snapshot's folder is below the git directory: orch/epics/EPIC/snapshot.
const levels = 4

// Write replaces the snapshot in dir as a whole: a reader finds the old one or the new one.
// Whatever else stands there, or on the way there, is taken away and not followed.
func Write(dir string, files map[string]string) error {
	below, err := private.OpenAbove(dir, levels)
	if err == nil {
		err = errors.Join(writeFiles(below, dir, files), below.Close())
	}
	if err != nil {
		return fmt.Errorf("writing the snapshot: %w", err)
	}
	return nil
}

func writeFiles(below *private.Dir, dir string, files map[string]string) error {
	fresh, old := dir+".new", dir+".old"
	if err := below.MkdirAll(filepath.Dir(dir)); err != nil {
		return err
	}
	if err := errors.Join(below.RemoveAll(fresh), below.RemoveAll(old)); err != nil {
		return err
	}
	for path, body := range files {
		if err := below.WriteFile(filepath.Join(fresh, path), []byte(body)); err != nil {
			return err
		}
	}
	if err := below.Rename(dir, old); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return errors.Join(below.Rename(fresh, dir), below.RemoveAll(old))
}
