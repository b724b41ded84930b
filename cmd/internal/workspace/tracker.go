package workspace

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/beadsorch/orch/beads"
	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/config"
	"github.com/beadsorch/orch/cmd/internal/explain"
	"github.com/beadsorch/orch/orchestrator"
	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/private"
	"github.com/beadsorch/orch/orchestrator/tracker"
)

// Tracker opens the one that the settings name: bd where it is installed and has a database
// here, else the embedded file. It fails where that one is not there, and says what to do.
func (w *Workspace) Tracker(ctx context.Context) (orchestrator.Tracker, error) {
	kind := w.trackerKind()
	if err := w.checkProgram(kind); err != nil {
		return nil, err
	}
	if err := private.MkdirBelow(w.Project.Home, 1); err != nil {
		return nil, fmt.Errorf("making orch's folder: %w", err)
	}
	return kind.open(ctx, w.place())
}

// trackerKind is the kind of tracker that the settings name, or else the first that is found.
func (w *Workspace) trackerKind() trackerKind {
	at, all := w.place(), trackerKinds()
	for _, t := range all {
		if t.name == w.Project.Config.Tracker.Kind || w.Project.Config.Tracker.Kind == config.TrackerAuto && t.found(at) {
			return t
		}
	}
	return all[len(all)-1]
}

// checkProgram fails where a tracker needs a program that is not on PATH.
func (w *Workspace) checkProgram(t trackerKind) error {
	if t.program == "" || w.Project.Invocation.LookPath(t.program) != "" {
		return nil
	}
	e := &cli.Error{Code: "NO_TRACKER_PROGRAM", What: t.program + " is not on PATH", Exit: cli.ExitNotReady, Why: "workflow.tracker.kind is " + t.name,
		Fix: []string{"install " + t.program + ", or use the embedded tracker: workflow.tracker.kind: file"}}
	if t.program == "bd" {
		e.Code = "NO_BD"
	}
	if w.Project.Config.Tracker.Kind == config.TrackerAuto {
		e.What, e.Why = "the tasks here are kept by "+t.name+", and "+t.program+" is not on PATH", ""
	}
	return e
}

// place is where trackers are looked for.
func (w *Workspace) place() place {
	here := w.Project
	return place{Root: here.Root, Home: here.Home, Run: here.Proc.Run, Env: here.SystemEnv(), LookPath: here.Invocation.LookPath, Person: w.Person(), Hasty: here.Hasty, Now: w.Now,
		Clean: func(text string) string { return here.Invocation.Redact.String(text) }}
}

// Files opens the embedded tracker. It fails when its file cannot be read.
func (w *Workspace) Files() (*beads.File, error) { return openFileTracker(w.place()) }

// HasFile reports whether the embedded tracker has tasks here, and bd has none.
func (w *Workspace) HasFile() bool {
	beadsDir, hasBD, _ := beads.Find(w.Project.Root)
	return !hasBD && beadsDir != "" && cli.Exists(filepath.Join(beadsDir, beads.FileName))
}

// Person is who gives the commands, as far as the environment tells.
func (w *Workspace) Person() string {
	for _, name := range []string{"BD_ACTOR", "BEADS_ACTOR", "GIT_AUTHOR_NAME", "USER", "LOGNAME"} {
		if v := w.Project.Invocation.Getenv(name); v != "" {
			return v
		}
	}
	return "person"
}

// TasksCommand is what agents and people type to see the tracker.
func (w *Workspace) TasksCommand() string { return w.trackerKind().tasks }

// Epic is an epic with all that the tracker had when it was found.
type Epic struct {
	Issue tracker.Issue
	// Issues are all that the tracker has.
	Issues []tracker.Issue
	// Tracker is where it was found.
	Tracker orchestrator.Tracker
}

// FindEpic looks an epic up in the tracker. It fails with a [TrackerError], also where it does not open,
// and with a [*epic.ErrNotEpic].
func (w *Workspace) FindEpic(ctx context.Context, id epic.TaskID) (e Epic, err error) {
	if e.Tracker, err = w.Tracker(ctx); err != nil {
		return e, TrackerError(err)
	}
	if e.Issues, err = e.Tracker.Survey(ctx); err != nil {
		return e, TrackerError(err)
	}
	if fault := w.TrackerFault(e.Issues, nil, id); fault != nil {
		return e, fault.Err
	}
	e.Issue, err = epic.FindEpic(e.Issues, id)
	return e, err
}

// Survey reads the tracker once, as cheaply as can be. It fails as Tracker does, and when the
// tracker does not answer.
func (w *Workspace) Survey(ctx context.Context) ([]tracker.Issue, error) {
	kind := w.trackerKind()
	if err := w.checkProgram(kind); err != nil {
		return nil, err
	}
	if kind.survey != nil {
		return kind.survey(ctx, w.place())
	}
	t, err := kind.open(ctx, w.place())
	if err != nil {
		return nil, err
	}
	return t.Survey(ctx)
}

// Issue is what the tracker says of a task; ok is false where it does not know it, or does
// not answer.
func (w *Workspace) Issue(ctx context.Context, task string) (tracker.Issue, bool) {
	issues, err := w.Survey(ctx)
	if err != nil {
		return tracker.Issue{}, false
	}
	return tracker.NewIndex(issues).Issue(task)
}

// CheckTask fails with NOT_FOUND where the tracker does not know a task, and with a [TrackerError].
func (w *Workspace) CheckTask(ctx context.Context, task string) error {
	issues, err := w.Survey(ctx)
	if err != nil {
		return TrackerError(err)
	}
	if _, known := tracker.NewIndex(issues).Issue(task); !known {
		return &cli.Error{Code: "NOT_FOUND", What: "the tracker knows no task " + epic.TaskID(task).String(), Exit: cli.ExitNotFound, Fix: []string{w.TasksCommand() + " list"}}
	}
	return nil
}

// TrackerError is the error of a tracker that does not answer; one that says by itself what
// to do stays as it is.
func TrackerError(err error) error {
	u := explain.Error(err)
	if u.Code != "UNEXPECTED" {
		return err
	}
	return &cli.Error{Code: "TRACKER_DOWN", What: "the tracker does not answer", Why: err.Error(), Exit: cli.ExitNotReady, Err: err, Fix: []string{"orch doctor"}}
}
