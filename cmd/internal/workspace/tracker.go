package workspace

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/beadsorch/orch/beads"
	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/orchestrator"
	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/tracker"
)

// Tracker opens the one that the settings name: bd where it is installed and has a database
// here, else the embedded file. It fails where that one is not there, and says what to do.
func (w *Workspace) Tracker(ctx context.Context) (orchestrator.Tracker, error) {
	beadsDir, hasBD, _ := beads.Find(w.Root)
	if w.usesBD() {
		return w.openBD(ctx, w.bdPath(), beadsDir)
	}
	if w.Config.Tracker.Kind == "auto" && hasBD {
		return nil, &cli.Error{Code: "NO_BD", What: "the tasks here are kept by bd, and bd is not on PATH", Exit: cli.ExitNotReady,
			Fix: []string{"install bd, or use the embedded tracker: workflow.tracker.kind: file"}}
	}
	return w.Files()
}

// usesBD reports whether the tracker is bd.
func (w *Workspace) usesBD() bool {
	_, hasBD, _ := beads.Find(w.Root)
	kind := w.Config.Tracker.Kind
	return kind == "bd" || kind == "auto" && hasBD && w.bdPath() != ""
}

func (w *Workspace) openBD(ctx context.Context, bd, beadsDir string) (orchestrator.Tracker, error) {
	if bd == "" {
		return nil, &cli.Error{Code: "NO_BD", What: "bd is not on PATH", Exit: cli.ExitNotReady, Why: "workflow.tracker.kind is bd",
			Fix: []string{"install bd, or use the embedded tracker: workflow.tracker.kind: file"}}
	}
	if err := os.MkdirAll(w.Home, 0o700); err != nil {
		return nil, fmt.Errorf("making orch's folder: %w", err)
	}
	return beads.OpenBD(ctx, w.bdOptions(bd, beadsDir))
}

func (w *Workspace) bdOptions(bd, beadsDir string) beads.BDOptions {
	most := 0
	if w.hasty {
		most = hastyBytes
	}
	return beads.BDOptions{
		MaxBytes: most, Run: w.Proc.Run, Binary: bd, Dir: w.Root, BeadsDir: beadsDir, Env: w.SystemEnv(),
		Timeout: BDTimeout, Lock: filepath.Join(w.Home, "bd.lock"),
	}
}

func (w *Workspace) bdPath() string { return w.LookPath("bd") }

// hastyBytes is how much a hook reads of what bd prints: a tracker of 10,000 issues is 12 MB.
const hastyBytes = 32 << 20

// BDTimeout is how long one call of bd may take; it waits for ever by itself when another
// process holds its database.
const BDTimeout = 60 * time.Second

// Files opens the embedded tracker. It fails when its file cannot be read.
func (w *Workspace) Files() (*beads.File, error) {
	beadsDir, _, _ := beads.Find(w.Root)
	if beadsDir == "" {
		beadsDir = filepath.Join(w.Root, ".beads")
	}
	return beads.OpenFile(beads.FileOptions{Dir: beadsDir, Now: w.Now, Actor: w.Person()})
}

// HasFile reports whether the embedded tracker has tasks here, and bd has none.
func (w *Workspace) HasFile() bool {
	beadsDir, hasBD, _ := beads.Find(w.Root)
	return !hasBD && beadsDir != "" && cli.Exists(filepath.Join(beadsDir, beads.FileName))
}

// Person is who gives the commands, as far as the environment tells.
func (w *Workspace) Person() string {
	for _, name := range []string{"BD_ACTOR", "BEADS_ACTOR", "GIT_AUTHOR_NAME", "USER", "LOGNAME"} {
		if v := w.Getenv(name); v != "" {
			return v
		}
	}
	return "person"
}

// TasksCommand is what agents and people type to see the tracker.
func (w *Workspace) TasksCommand() string {
	if w.usesBD() {
		return "bd"
	}
	return "orch tasks"
}

// Epic is an epic with all that the tracker had when it was found.
type Epic struct {
	tracker.Issue
	// Issues are all that the tracker has.
	Issues []tracker.Issue
	// Tracker is where it was found.
	Tracker orchestrator.Tracker
}

// FindEpic looks an epic up in the tracker. It fails as Tracker does, with a [TrackerError],
// and with a [*core.ErrNotEpic].
func (w *Workspace) FindEpic(ctx context.Context, id epic.TaskID) (e Epic, err error) {
	if e.Tracker, err = w.Tracker(ctx); err != nil {
		return e, err
	}
	if e.Issues, err = e.Tracker.Survey(ctx); err != nil {
		return e, TrackerError(err)
	}
	e.Issue, err = epic.FindEpic(e.Issues, id)
	return e, err
}

// Survey reads the tracker once, as cheaply as can be. It fails as Tracker does, and when the
// tracker does not answer.
func (w *Workspace) Survey(ctx context.Context) ([]tracker.Issue, error) {
	beadsDir, hasBD, _ := beads.Find(w.Root)
	if w.usesBD() {
		return beads.SurveyBD(ctx, w.bdOptions(w.bdPath(), beadsDir))
	}
	if w.hasty && !(w.Config.Tracker.Kind == "auto" && hasBD) {
		return beads.SurveyFile(ctx, beadsDir)
	}
	t, err := w.Tracker(ctx)
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

// TrackerError is the error of a tracker that does not answer; one that says by itself what
// to do stays as it is.
func TrackerError(err error) error {
	u := cli.Explain(err)
	if u.Code != "UNEXPECTED" {
		return err
	}
	return &cli.Error{Code: "TRACKER_DOWN", What: "the tracker does not answer", Why: err.Error(), Exit: cli.ExitNotReady, Err: err, Fix: []string{"orch doctor"}}
}
