package workspace

import (
	"context"
	"path/filepath"
	"time"

	"github.com/beadsorch/orch/beads"
	"github.com/beadsorch/orch/orchestrator"
	"github.com/beadsorch/orch/orchestrator/command"
	"github.com/beadsorch/orch/orchestrator/tracker"
)

// place is where a tracker is looked for, and what it is opened with.
type place struct {
	Root     string              // the main work tree
	Home     string              // orch's folder, which is there
	Run      command.Runner      // starts processes
	Env      []string            // their whole environment
	LookPath func(string) string // where a program is; "" not on PATH
	Person   string              // who gives the commands
	Hasty    bool                // there is no time
	Now      func() time.Time    // the clock
	Clean    func(string) string // takes secrets out of what is kept
}

// trackerKind is a kind of tracker.
type trackerKind struct {
	name    string           // what workflow.tracker.kind says
	program string           // what it needs on PATH; "" nothing
	tasks   string           // the command that agents and people use for it
	found   func(place) bool // reports whether there is one at a place
	// open opens it. It fails where it is not there.
	open func(context.Context, place) (orchestrator.Tracker, error)
	// survey reads it once, as cheaply as can be, for who has no time to open it; nil opens it.
	survey func(context.Context, place) ([]tracker.Issue, error)
}

// trackerKinds are all kinds, in the order in which they are looked for; the last is always found. A
// new tracker is a package, and a line here.
func trackerKinds() []trackerKind {
	return []trackerKind{
		{name: "bd", program: "bd", tasks: "bd", found: hasBD, open: openBD, survey: surveyBD},
		{name: "file", tasks: "orch tasks", found: anyPlace, open: openFile, survey: surveyFile},
	}
}

func anyPlace(place) bool { return true }

func hasBD(p place) bool {
	_, has, _ := beads.Find(p.Root)
	return has
}

func openBD(ctx context.Context, p place) (orchestrator.Tracker, error) {
	return beads.OpenBD(ctx, bdOptions(p))
}

func surveyBD(ctx context.Context, p place) ([]tracker.Issue, error) {
	return beads.SurveyBD(ctx, bdOptions(p))
}

const (
	// BDTimeout is how long one call of bd may take; it waits for ever by itself when another
	// process holds its database.
	BDTimeout = 60 * time.Second
	// hastyBytes is how much a hook reads of what bd prints: a tracker of 10,000 issues is 12 MB.
	hastyBytes = 32 << 20
)

func bdOptions(p place) beads.BDOptions {
	dir, _, _ := beads.Find(p.Root)
	o := beads.BDOptions{Run: p.Run, Binary: p.LookPath("bd"), Dir: p.Root, BeadsDir: dir, Env: p.Env, Timeout: BDTimeout, Lock: filepath.Join(p.Home, "bd.lock")}
	if p.Hasty {
		o.MaxBytes = hastyBytes
	}
	return o
}

func openFile(_ context.Context, p place) (orchestrator.Tracker, error) { return openFileTracker(p) }

// openFileTracker opens the embedded tracker. It fails when its file cannot be read.
func openFileTracker(p place) (*beads.File, error) {
	return beads.OpenFile(beads.FileOptions{Dir: fileDir(p), Now: p.Now, Actor: p.Person, Clean: p.Clean})
}

func surveyFile(ctx context.Context, p place) ([]tracker.Issue, error) {
	if p.Hasty {
		return beads.SurveyFile(ctx, fileDir(p))
	}
	f, err := openFileTracker(p)
	if err != nil {
		return nil, err
	}
	return f.Survey(ctx)
}

func fileDir(p place) string {
	if dir, _, _ := beads.Find(p.Root); dir != "" {
		return dir
	}
	return filepath.Join(p.Root, ".beads")
}
