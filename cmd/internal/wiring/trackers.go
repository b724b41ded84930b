// Package wiring has the lists of what can be chosen by a word in the settings: trackers, and
// engines. A new one is a package of its own and a line here.
package wiring

import (
	"context"
	"path/filepath"
	"time"

	"github.com/beadsorch/orch/beads"
	"github.com/beadsorch/orch/orchestrator"
	"github.com/beadsorch/orch/orchestrator/command"
	"github.com/beadsorch/orch/orchestrator/tracker"
)

// Place is where a tracker is looked for, and what it is opened with.
type Place struct {
	Root     string              // the main work tree
	Home     string              // orch's folder, which is there
	Run      command.Runner      // starts processes
	Env      []string            // their whole environment
	LookPath func(string) string // where a program is; "" not on PATH
	Person   string              // who gives the commands
	Hasty    bool                // there is no time
	Now      func() time.Time    // the clock
}

// Tracker is a kind of tracker.
type Tracker struct {
	// Name is what workflow.tracker.kind says.
	Name string
	// Program is what it needs on PATH; "" nothing.
	Program string
	// Tasks is the command that agents and people use for it.
	Tasks string
	// Found reports whether there is one at a place: the first of the list that is found is it.
	Found func(Place) bool
	// Open opens it. It fails where it is not there.
	Open func(context.Context, Place) (orchestrator.Tracker, error)
	// Survey reads it once, as cheaply as can be, for who has no time to open it.
	Survey func(context.Context, Place) ([]tracker.Issue, error)
}

// Trackers are all kinds, in the order in which they are looked for. The last is always found.
func Trackers() []Tracker {
	return []Tracker{
		{"bd", "bd", "bd", hasBD, openBD, surveyBD},
		{"file", "", "orch tasks", always, openFile, surveyFile},
	}
}

// TrackerNames are the words of workflow.tracker.kind; auto is the first that is found.
func TrackerNames() []string {
	names := []string{"auto"}
	for _, t := range Trackers() {
		names = append(names, t.Name)
	}
	return names
}

func always(Place) bool { return true }

func hasBD(p Place) bool {
	_, has, _ := beads.Find(p.Root)
	return has
}

func openBD(ctx context.Context, p Place) (orchestrator.Tracker, error) {
	return beads.OpenBD(ctx, bdOptions(p))
}

func surveyBD(ctx context.Context, p Place) ([]tracker.Issue, error) {
	return beads.SurveyBD(ctx, bdOptions(p))
}

const (
	// BDTimeout is how long one call of bd may take; it waits for ever by itself when another
	// process holds its database.
	BDTimeout = 60 * time.Second
	// hastyBytes is how much a hook reads of what bd prints: a tracker of 10,000 issues is 12 MB.
	hastyBytes = 32 << 20
)

func bdOptions(p Place) beads.BDOptions {
	dir, _, _ := beads.Find(p.Root)
	o := beads.BDOptions{Run: p.Run, Binary: p.LookPath("bd"), Dir: p.Root, BeadsDir: dir, Env: p.Env, Timeout: BDTimeout, Lock: filepath.Join(p.Home, "bd.lock")}
	if p.Hasty {
		o.MaxBytes = hastyBytes
	}
	return o
}

func openFile(_ context.Context, p Place) (orchestrator.Tracker, error) { return File(p) }

// File opens the embedded tracker. It fails when its file cannot be read.
func File(p Place) (*beads.File, error) {
	return beads.OpenFile(beads.FileOptions{Dir: fileDir(p), Now: p.Now, Actor: p.Person})
}

func surveyFile(ctx context.Context, p Place) ([]tracker.Issue, error) {
	if p.Hasty {
		return beads.SurveyFile(ctx, fileDir(p))
	}
	f, err := File(p)
	if err != nil {
		return nil, err
	}
	return f.Survey(ctx)
}

func fileDir(p Place) string {
	if dir, _, _ := beads.Find(p.Root); dir != "" {
		return dir
	}
	return filepath.Join(p.Root, ".beads")
}
