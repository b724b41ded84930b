package setup

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gofrs/flock"
	"github.com/spf13/cobra"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/config"
	"github.com/beadsorch/orch/cmd/internal/project"
	"github.com/beadsorch/orch/cmd/internal/trust"
	"github.com/beadsorch/orch/cmd/internal/trust/plan"
	"github.com/beadsorch/orch/cmd/internal/workspace"
	"github.com/beadsorch/orch/orchestrator/command"
	"github.com/beadsorch/orch/orchestrator/engine"
	"github.com/beadsorch/orch/orchestrator/private"
	"github.com/beadsorch/orch/orchestrator/reason"
	"github.com/beadsorch/orch/orchestrator/sandbox"
	"github.com/beadsorch/orch/orchestrator/sandbox/cell"
	makeready "github.com/beadsorch/orch/orchestrator/setup"
	"github.com/beadsorch/orch/orchestrator/validation"
	"github.com/beadsorch/orch/worktree"
)

// Sandbox is the command orch sandbox.
func Sandbox(a *cli.Invocation) *cobra.Command {
	c := &cobra.Command{
		Use:   "sandbox",
		Short: "what agents and the gate can see and write, and what works there",
		Args:  cli.AtMost(0, "a verb"),
		RunE:  a.Group,
	}
	var t try
	run := &cobra.Command{
		Use:   "try [flags] -- COMMAND [ARGUMENT...]",
		Short: "run a command within a sandbox, on a copy of the commit that is checked out",
		Long: `Try makes a worktree of the commit that is checked out here, without what is not committed,
makes it ready by workflow.setup (in a repository that you trust; --no-setup leaves that out),
runs the command in it as an agent of orch run would be, or with --as gate as its gate would,
prints what it prints, ends as it does, and removes all of it, with what was committed there.
The level and the paths are those of the settings (sandbox.level, read, write, share, env), and auto
where these have it off. --show says what the command would see, and runs nothing.`,
		Example: "  orch sandbox try -- go test ./...\n  orch sandbox try --as gate -- npm test\n  orch sandbox try --no-network --read ~/models -- make test",
		RunE:    func(c *cobra.Command, args []string) error { return t.run(c.Context(), a, args) },
	}
	run.Flags().StringArrayVar(&t.read, "read", nil, "let it read this `path` too")
	run.Flags().StringArrayVar(&t.write, "write", nil, "let it write this `path` too")
	run.Flags().BoolVar(&t.offline, "no-network", false, "give it no network but its own loopback")
	run.Flags().StringVar(&t.as, "as", "agent", "`whose` bounds it gets: agent or gate")
	run.Flags().StringVar(&t.level, "level", "", "`what` keeps it within bounds: auto, bubblewrap, namespaces or landlock; as the settings say by default")
	run.Flags().BoolVar(&t.noSetup, "no-setup", false, "do not run workflow.setup first")
	run.Flags().BoolVar(&t.show, "show", false, "say what it would see, and run nothing")
	c.AddCommand(run, explainCommand(a))
	return c
}

// try is the flags of orch sandbox try.
type try struct {
	read, write []string
	offline     bool
	as, level   string
	show        bool
	noSetup     bool
}

func (t try) run(ctx context.Context, a *cli.Invocation, args []string) (err error) {
	switch {
	case len(args) == 0 && !t.show:
		return cli.Usage("say what is to be tried: orch sandbox try -- COMMAND")
	case a.JSON:
		return cli.Usage("orch sandbox try prints what the command prints, and no document")
	case t.as != "agent" && t.as != "gate":
		return cli.Usage("--as %s: there are agent and gate", t.as)
	}
	w, err := workspace.Read(ctx, a)
	if err != nil {
		return err
	}
	cells, err := t.cells(ctx, w)
	if err != nil {
		return err
	}
	shown, err := t.sketch(w, cells, args)
	if err != nil {
		return err
	}
	if t.show {
		printCell(a.Stdout, cellOf(t.as, shown))
		return nil
	}
	p := w.Project
	return inTryout(ctx, p, func(top string, checkout func() (string, error)) error {
		dir, err := checkout()
		if err != nil {
			return err
		}
		stay := engine.Stay{Dir: dir, Folder: filepath.Join(top, "attempts", "try"), Home: filepath.Join(top, "homes", "try"),
			Client: p.Config.Agent.Harness, Command: args[:1], Env: p.AgentEnv(ctx)}
		if err := t.setUp(ctx, w, cells, stay); err != nil {
			return err
		}
		return t.start(ctx, w, cells, stay, args)
	})
}

// inTryout makes a folder in which something is tried, and removes it with the worktree in it. checkout makes that, of the commit that is
// checked out here; made again, it is as new.
func inTryout(ctx context.Context, p *project.Project, do func(top string, checkout func() (string, error)) error) (err error) {
	a := p.Invocation
	head, err := p.Repo.Resolve(ctx, "HEAD")
	if at, where := p.Repo.CheckoutAt(a.Dir); where == nil {
		head, err = p.Repo.Head(ctx, at.GitDir)
	}
	if err != nil {
		return err
	}
	if err := sweepTries(ctx, p); err != nil {
		a.Warn("what a killed orch sandbox try has left stays: " + err.Error())
	}
	top, err := os.MkdirTemp("", tryPrefix)
	if err != nil {
		return err
	}
	if top, err = filepath.EvalSymlinks(top); err != nil {
		return err
	}
	alive := flock.New(filepath.Join(top, "lock"))
	if err := alive.Lock(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, alive.Close(), private.RemoveAll(top)) }()
	store, err := tryStore(p, top)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close(context.WithoutCancel(ctx))) }()
	return do(top, func() (string, error) { return store.Checkout(ctx, head) })
}

// cells makes the bounds: those of the settings, with what the flags add.
func (t try) cells(ctx context.Context, w *workspace.Workspace) (*cell.Cells, error) {
	level := &w.Project.Config.Sandbox.Level
	switch {
	case t.level == "" && *level == config.SandboxOff:
		*level = config.SandboxAuto
	case t.level == "" || t.level == config.SandboxAuto:
		*level = cmp.Or(t.level, *level)
	case !slices.Contains(sandbox.Levels(), sandbox.Level(t.level)):
		return nil, cli.Usage("--level %s: there are auto, bubblewrap, namespaces and landlock", t.level)
	default:
		*level = t.level
	}
	cells, err := w.Cells(ctx)
	if err != nil {
		return nil, err
	}
	if cells == nil {
		return nil, &cli.Error{Code: "NO_SANDBOX", What: "this system has no sandbox", Exit: cli.ExitNotReady, Fix: []string{"orch doctor --sandbox"}}
	}
	place := &cells.Place
	place.Network = place.Network && !t.offline
	for _, f := range []struct {
		flag  string
		paths []string
		into  *[]string
	}{{"--read", t.read, &place.Read}, {"--write", t.write, &place.Write}} {
		for _, path := range f.paths {
			path, err := filepath.Abs(path)
			if err != nil {
				return nil, err
			}
			if !cli.Exists(path) {
				return nil, cli.Usage("%s %s: nothing is there", f.flag, path)
			}
			*f.into = append(slices.Clone(*f.into), path)
			*place = place.Ask(f.flag, path)
		}
	}
	*place = place.Real()
	return cells, nil
}

// sketch is what the command would see.
func (t try) sketch(w *workspace.Workspace, cells *cell.Cells, args []string) (r cell.Record, err error) {
	dir := filepath.Join(w.Project.Worktrees(), "try")
	if t.as == "gate" {
		r, err = cells.Gate(dir, w.GateNetwork())
	} else {
		r, err = cells.Agent(w.Project.Config.Agent.Harness, args[:min(1, len(args))], dir)
	}
	if err != nil && len(t.read)+len(t.write) > 0 {
		return r, cli.Usage("%s", strings.TrimPrefix(err.Error(), "sandbox: "))
	}
	return r, err
}

// setUp makes the worktree ready as that of an attempt is, and says where it does not. What the setup prints is printed where it fails.
func (t try) setUp(ctx context.Context, w *workspace.Workspace, cells *cell.Cells, s engine.Stay) error {
	p := w.Project
	if t.noSetup || len(p.Config.Setup) == 0 {
		return nil
	}
	q, err := trust.Ask(ctx, p, "HEAD")
	if err != nil {
		return err
	}
	if q.State(plan.Settings) != trust.Trusted {
		p.Invocation.Warn("workflow.setup did not run: nobody has allowed what this repository runs; orch trust does")
		return nil
	}
	place := &cells.Place
	defer func(network bool) { place.Network = network }(place.Network)
	place.Network = true // what --no-network takes is the command's
	printed, err := w.SetUp(ctx, cells, roomOf(s), s.Dir)
	var failed *makeready.Error
	if !errors.As(err, &failed) {
		return err
	}
	if _, err := p.Invocation.Stderr.Write(printed); err != nil {
		return err
	}
	return &cli.Error{Code: string(reason.SetupFailed), What: failed.Error(), Why: validation.BoundsHint(failed.Check.Output), Exit: cli.ExitNeedsYou,
		Fix: []string{"orch sandbox try --no-setup -- COMMAND goes on without"}}
}

// roomOf is what the setup and the command share.
func roomOf(s engine.Stay) engine.Room {
	return engine.Room{Home: s.Home, Fetched: engine.Fetched(s.Folder)}
}

// start runs the command, and ends as it does.
func (t try) start(ctx context.Context, w *workspace.Workspace, cells *cell.Cells, s engine.Stay, argv []string) error {
	p := w.Project
	var res command.Result
	var planted []string
	var err error
	if t.as == "gate" {
		room := roomOf(s)
		room.Network = w.GateNetwork()
		res, err = cells.In(room)(ctx, command.Cmd{Dir: s.Dir, Argv: argv, Env: p.GateEnv()})
	} else {
		res, planted, err = cells.Try(ctx, s, command.Cmd{Dir: s.Dir, Argv: argv, Env: s.Env})
	}
	var exit *command.ExitError
	if err != nil && !errors.As(err, &exit) {
		return err
	}
	if _, err := p.Invocation.Stdout.Write(res.Stdout); err != nil {
		return err
	}
	if _, err := p.Invocation.Stderr.Write(res.Stderr); err != nil {
		return err
	}
	for _, path := range planted {
		p.Invocation.Warn(path + " was taken away again: the client would run or obey it for everybody")
	}
	return cli.ExitWith(res.ExitCode)
}

// tryPrefix begins the names of the folders for temporary files in which commands are tried.
const tryPrefix = "orch-try-"

// tryStore makes and removes the worktree in such a folder.
func tryStore(p *project.Project, top string) (*worktree.Store, error) {
	return worktree.Open(worktree.Options{Repo: p.Repo, Root: filepath.Join(top, "trees"), Epic: "sandbox-try", Lock: filepath.Join(p.Home, "worktree.lock"), Now: p.Invocation.Now})
}

// sweepTries removes what those have left that were killed: folders with a worktree of this repository whose lock nobody holds.
func sweepTries(ctx context.Context, p *project.Project) error {
	tops, err := filepath.Glob(filepath.Join(os.TempDir(), tryPrefix+"*"))
	for _, top := range tops {
		top, unresolved := filepath.EvalSymlinks(top)
		if _, foreign := p.Repo.CheckoutAt(filepath.Join(top, "trees", "verify")); unresolved != nil || foreign != nil {
			continue
		}
		alive := flock.New(filepath.Join(top, "lock"))
		if free, locking := alive.TryLock(); locking != nil || !free {
			continue
		}
		store, opening := tryStore(p, top)
		if opening == nil {
			opening = store.Close(ctx)
		}
		err = errors.Join(err, opening, alive.Close(), private.RemoveAll(top))
	}
	return err
}
