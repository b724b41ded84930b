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

// Options is what Cells are made of; all of it has to be set but Needs, Limits, Serve and Failed.
type Options struct {
	// Repo is the repository.
	Repo *git.Repo
	// Box keeps the bounds.
	Box sandbox.Box
	// Place is what is the same for all: checkout, siblings, home, program, and what of the home is seen.
	Place sandbox.Place
	// Unbounded runs a command below a guard: one that is wrapped to be within bounds.
	Unbounded command.Runner
	// Getenv is the person's environment.
	Getenv func(string) string
	// Needs is what a client needs of the home; nil: nothing.
	Needs func(client string) harness.Needs
	// Limits bound what a turn or a judging command uses; the folders are its own.
	Limits command.Limits
	// Out is what of the network is let through.
	Out Out
	// Serve listens at the socket of a turn that begins, until stop is called; nil: nobody does.
	Serve func(Visit) (stop func() error, err error)
	// Failed is called when the bounds of a command could not be set up.
	Failed func()
}

// Visit is a turn for which somebody listens at a socket.
type Visit struct {
	// Stay is the turn.
	Stay engine.Stay
	// Folder is where the socket [sandbox.SocketName] is to be, with what else the turn alone is to read: at each level no other can.
	Folder string
	// Wrap makes of a command one that runs within the bounds of the turn, beside its agent.
	Wrap func(command.Cmd) (command.Cmd, error)
}

// Cells makes cells. It implements [engine.Sandbox].
type Cells struct {
	Options

	fixed fixed
}

// New checks nothing and makes nothing.
func New(o Options) *Cells { return &Cells{Options: o} }

// Level is what keeps the bounds.
func (c *Cells) Level() string { return string(c.Box.Level) }

// The parts of a cell's folder.
const (
	cellFolder   = "cell"
	shadowFolder = "shadow"
	tempFolder   = "tmp"
	homeFolder   = "home"
	toolsFolder  = "bin"     // orch under its names, where there are no mounts
	serviceDir   = "service" // of a Visit
	ownFolder    = "own"     // what stands for parts of folders that are shared
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
		needs = c.Needs(s.Client).Keyed(func(name string) bool {
			return slices.ContainsFunc(s.Env, func(e string) bool { return strings.HasPrefix(e, name+"=") && e != name+"=" })
		})
	}
	n := &cell{of: c, folder: folder, attempt: s.Folder, worktree: s.Dir, home: home, own: own, needs: needs, temp: filepath.Join(folder, tempFolder),
		fetched: there(engine.Fetched(s.Folder))}
	if err := n.openWay(engine.AsAgents); err != nil {
		return nil, errors.Join(err, private.RemoveAll(folder))
	}
	at, err := c.Repo.CheckoutAt(s.Dir)
	if err == nil && at.Path != s.Dir {
		err = fmt.Errorf("%s is no worktree of the repository", s.Dir)
	}
	if err == nil {
		n.shadow, err = shadow.Make(shadow.Options{Repo: c.Repo, Admin: at.GitDir, Branch: s.Branch, Mounted: c.Box.Level.Mounts(), Dir: filepath.Join(folder, shadowFolder)})
	}
	if err == nil && c.Serve != nil {
		n.service = filepath.Join(folder, serviceDir)
		err = makeFolders(n.service)
	}
	if err == nil {
		err = n.furnish()
	}
	if err == nil {
		n.policy, err = n.bounds(slices.Concat(n.programs(s.Command), named(s.Env), s.Read))
	}
	if err == nil {
		err = n.writeRecord()
	}
	if err == nil {
		err = n.holdFixed()
	}
	if err == nil && !c.Box.Level.Mounts() {
		err = n.shadow.Point(s.Dir)
	}
	if err == nil && c.Serve != nil {
		n.stop, err = c.Serve(Visit{Stay: s, Folder: n.service, Wrap: n.wrapBeside})
	}
	if err != nil {
		_, putting := n.putBackFixed()
		return nil, errors.Join(err, putting, n.closeWay(), private.RemoveAll(folder))
	}
	return n, nil
}

// In is [engine.Sandbox.In].
func (c *Cells) In(r engine.Room) command.Runner {
	return func(ctx context.Context, cmd command.Cmd) (command.Result, error) {
		res, err := c.runIn(ctx, r, cmd)
		if err != nil && res.ExitCode == 0 {
			res.ExitCode = -1
		}
		return res, err
	}
}

// runIn runs one command in a room.
func (c *Cells) runIn(ctx context.Context, r engine.Room, cmd command.Cmd) (res command.Result, err error) {
	folder, err := c.Repo.Scratch("cell-")
	if err != nil {
		return res, err
	}
	n := &cell{of: c, folder: folder, home: filepath.Join(folder, homeFolder), temp: filepath.Join(folder, tempFolder)}
	defer func() { err = errors.Join(err, n.drop()) }()
	var folders []string
	if r.Home != "" {
		n.home = filepath.Join(r.Home, homeFolder)
		folders = append(folders, filepath.Dir(r.Home), r.Home)
	}
	switch {
	case r.SetUp && r.Fetched != "":
		n.temp = r.Fetched
		folders = append(folders, filepath.Dir(r.Fetched))
	case r.Fetched != "":
		n.fetched = there(r.Fetched)
	}
	if err := makeFolders(append(folders, n.home, n.temp)...); err != nil {
		return res, err
	}
	if err := n.openWay(r.Network); err != nil {
		return res, err
	}
	if err := n.enterRepository(ctx, cmd.Dir); err != nil {
		return res, err
	}
	wrapped, err := n.Wrap(cmd)
	if err != nil {
		return res, err
	}
	return c.run(ctx, wrapped, cmd.Argv)
}

// run runs a wrapped command; argv is what was asked for.
func (c *Cells) run(ctx context.Context, wrapped command.Cmd, argv []string) (command.Result, error) {
	res, err := c.Unbounded(ctx, wrapped)
	var exit *command.ExitError
	if errors.As(err, &exit) {
		exit.Argv = argv
	}
	if res.ExitCode == sandbox.Failed && c.Failed != nil {
		c.Failed()
	}
	return res, err
}

// enterRepository has the cell stand for the repository in a folder of it, in which the command begins.
func (n *cell) enterRepository(ctx context.Context, dir string) error {
	at, err := n.of.Repo.CheckoutAt(dir)
	if err != nil {
		return err
	}
	n.worktree = at.Path
	o := shadow.Options{Repo: n.of.Repo, Admin: at.GitDir, Mounted: n.of.Box.Level.Mounts(), Dir: filepath.Join(n.folder, shadowFolder)}
	if at.GitDir == n.of.Repo.CommonDir() {
		o.Admin, n.view, n.worktree = "", at.Path, ""
	}
	if n.shadow, err = shadow.Make(o); err != nil {
		return err
	}
	if err := n.furnish(); err != nil {
		return err
	}
	if n.policy, err = n.bounds(nil); err != nil {
		return err
	}
	if n.policy.Dir, err = filepath.EvalSymlinks(dir); err != nil {
		return err
	}
	if !n.of.Box.Level.Mounts() && n.worktree != "" {
		return n.shadow.Point(n.worktree)
	}
	return nil
}

// there is path where something is, else "".
func there(path string) string {
	if _, err := os.Lstat(path); err != nil {
		return ""
	}
	return path
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
