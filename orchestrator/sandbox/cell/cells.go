package cell

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/beadsorch/orch/orchestrator/command"
	"github.com/beadsorch/orch/orchestrator/engine"
	"github.com/beadsorch/orch/orchestrator/git"
	"github.com/beadsorch/orch/orchestrator/harness"
	"github.com/beadsorch/orch/orchestrator/private"
	"github.com/beadsorch/orch/orchestrator/sandbox"
	"github.com/beadsorch/orch/orchestrator/sandbox/shadow"
)

// Options is what Cells are made of; all of it has to be set but Needs, Limits and Failed.
type Options struct {
	// Repo is the repository.
	Repo *git.Repo
	// Box keeps the bounds.
	Box sandbox.Box
	// Place is what is the same for all: checkout, siblings, home, program, and what of the home is seen.
	Place sandbox.Place
	// Run runs a command below a guard.
	Run command.Runner
	// Getenv is the person's environment.
	Getenv func(string) string
	// Needs is what a client needs of the home; nil: nothing.
	Needs func(client string) harness.Needs
	// Limits bound what a turn or a judging command uses; the folders are its own.
	Limits command.Limits
	// Failed is called when the bounds of a command could not be set up.
	Failed func()
}

// Cells makes cells. It implements [engine.Sandbox].
type Cells struct{ Options }

// New checks nothing and makes nothing.
func New(o Options) *Cells { return &Cells{o} }

// Level is what keeps the bounds.
func (c *Cells) Level() string { return string(c.Box.Level) }

// The parts of a cell's folder.
const (
	cellFolder   = "cell"
	shadowFolder = "shadow"
	tempFolder   = "tmp"
	homeFolder   = "home"
	ownFolder    = "own" // what stands for parts of folders that are shared
)

// tempAt is where a command finds its folder for temporary files, where there are mounts: short, as sockets need it.
const tempAt = "/tmp"

// Enter makes the cell of a turn. It fails as git does, where files cannot be made, and where something that is to be open holds
// what is to be hidden.
func (c *Cells) Enter(ctx context.Context, s engine.Stay) (engine.Cell, error) {
	if _, err := c.Recover(ctx, s.Folder); err != nil {
		return nil, err
	}
	folder := filepath.Join(s.Folder, cellFolder)
	home, own := filepath.Join(s.Home, homeFolder), filepath.Join(s.Home, ownFolder)
	if err := makeFolders(filepath.Dir(s.Home), s.Home, home, own, s.Folder, folder, filepath.Join(folder, tempFolder)); err != nil {
		return nil, err
	}
	needs := harness.Needs{}
	if c.Needs != nil {
		needs = c.Needs(s.Client)
	}
	n := &cell{of: c, folder: folder, attempt: s.Folder, worktree: s.Dir, home: home, own: own, needs: needs}
	at, err := c.Repo.CheckoutAt(s.Dir)
	if err == nil && at.Path != s.Dir {
		err = fmt.Errorf("%s is no worktree of the repository", s.Dir)
	}
	if err == nil {
		n.shadow, err = shadow.Make(shadow.Options{Repo: c.Repo, Admin: at.GitDir, Branch: s.Branch, Mounted: c.Box.Level.Mounts(), Dir: filepath.Join(folder, shadowFolder)})
	}
	if err == nil {
		err = n.furnish()
	}
	if err == nil {
		n.policy, err = n.bounds(slices.Concat(n.programs(s.Command), named(s.Env), s.Read))
	}
	if err == nil && !c.Box.Level.Mounts() {
		err = n.shadow.Point(s.Dir)
	}
	if err != nil {
		return nil, errors.Join(err, private.RemoveAll(folder))
	}
	return n, nil
}

// Run is [engine.Sandbox.Run].
func (c *Cells) Run(ctx context.Context, cmd command.Cmd) (res command.Result, err error) {
	folder, err := c.Repo.Scratch("cell-")
	if err != nil {
		return command.Result{ExitCode: -1}, err
	}
	n := &cell{of: c, folder: folder, home: filepath.Join(folder, homeFolder)}
	defer func() { err = errors.Join(err, n.drop()) }()
	if err := makeFolders(n.home, filepath.Join(folder, tempFolder)); err != nil {
		return command.Result{ExitCode: -1}, err
	}
	at, err := c.Repo.CheckoutAt(cmd.Dir)
	if err != nil {
		return command.Result{ExitCode: -1}, err
	}
	n.worktree = at.Path
	o := shadow.Options{Repo: c.Repo, Admin: at.GitDir, Mounted: c.Box.Level.Mounts(), Dir: filepath.Join(folder, shadowFolder)}
	if at.GitDir == c.Repo.CommonDir() {
		o.Admin, n.view, n.worktree = "", at.Path, ""
	}
	if n.shadow, err = shadow.Make(o); err != nil {
		return command.Result{ExitCode: -1}, err
	}
	if err := n.furnish(); err != nil {
		return command.Result{ExitCode: -1}, err
	}
	if n.policy, err = n.bounds(nil); err != nil {
		return command.Result{ExitCode: -1}, err
	}
	if n.policy.Dir, err = filepath.EvalSymlinks(cmd.Dir); err != nil {
		return command.Result{ExitCode: -1}, err
	}
	if !c.Box.Level.Mounts() && n.worktree != "" {
		if err := n.shadow.Point(n.worktree); err != nil {
			return command.Result{ExitCode: -1}, err
		}
	}
	wrapped, err := n.Wrap(cmd)
	if err != nil {
		return command.Result{ExitCode: -1}, err
	}
	res, err = c.Options.Run(ctx, wrapped)
	var exit *command.ExitError
	if errors.As(err, &exit) {
		exit.Argv = cmd.Argv // what was asked for
	}
	if res.ExitCode == sandbox.Failed && c.Failed != nil {
		c.Failed()
	}
	return res, err
}

// Recover is [engine.Sandbox.Recover].
func (c *Cells) Recover(ctx context.Context, folder string) (engine.Left, error) {
	return Recover(ctx, c.Repo, folder)
}

// Recover takes back what was committed in the cell of an attempt, whose folder this is, and which no process uses; nothing where there
// is none. It fails as git does, and then leaves the cell.
func Recover(ctx context.Context, repo *git.Repo, folder string) (engine.Left, error) {
	at := filepath.Join(folder, cellFolder)
	if _, err := os.Lstat(at); errors.Is(err, fs.ErrNotExist) {
		return engine.Left{}, nil
	}
	s, err := shadow.Open(repo, filepath.Join(at, shadowFolder))
	if errors.Is(err, fs.ErrNotExist) { // nobody has begun to work in it
		return engine.Left{}, private.RemoveAll(at)
	}
	if err != nil {
		return engine.Left{}, err
	}
	if _, err := os.Lstat(s.Dir); errors.Is(err, fs.ErrNotExist) { // it was taken back, and being removed
		return engine.Left{}, private.RemoveAll(at)
	}
	n := &cell{folder: at, attempt: folder, worktree: s.Worktree(), shadow: s}
	return n.Leave(ctx)
}

// RecoverAll is [Recover] for all attempts of an epic, whose folder this is.
func RecoverAll(ctx context.Context, repo *git.Repo, dir string) (found []engine.Leftover, err error) {
	cells, err := filepath.Glob(filepath.Join(dir, "attempts", "*", "*", cellFolder))
	for _, at := range cells {
		left, failed := Recover(ctx, repo, filepath.Dir(at))
		said := engine.Leftover{Path: at, What: "what an agent had committed in its sandbox when the run was killed was taken back", Fixed: failed == nil}
		switch {
		case failed != nil:
			err = errors.Join(err, failed)
			continue
		case left.Refused != "":
			said.What = left.Refused
		case len(left.Dropped) > 0:
			said.What += "; not " + strings.Join(left.Dropped[:min(len(left.Dropped), 5)], ", ")
		}
		found = append(found, said)
	}
	return found, err
}

// makeFolders makes folders that nobody else can enter, each below one that is there, or was made before.
func makeFolders(folders ...string) error {
	for _, folder := range folders {
		above, err := private.OpenAbove(folder, 2)
		if err != nil {
			return err
		}
		if err := errors.Join(above.MkdirAll(folder), above.Close()); err != nil {
			return err
		}
	}
	return nil
}
