package setup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"
	"github.com/spf13/cobra"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/project"
	"github.com/beadsorch/orch/cmd/internal/workspace"
	"github.com/beadsorch/orch/orchestrator/command"
	"github.com/beadsorch/orch/orchestrator/git"
	"github.com/beadsorch/orch/orchestrator/private"
	"github.com/beadsorch/orch/orchestrator/sandbox"
	"github.com/beadsorch/orch/orchestrator/sandbox/shadow"
	"github.com/beadsorch/orch/worktree"
)

// Sandbox is the command orch sandbox.
func Sandbox(a *cli.Invocation) *cobra.Command {
	c := &cobra.Command{
		Use:   "sandbox",
		Short: "try what works within a sandbox: compilers, tests, an agent's client",
		Args:  cli.AtMost(0, "a verb"),
		RunE:  a.Group,
	}
	var t try
	run := &cobra.Command{
		Use:   "try [flags] -- COMMAND [ARGUMENT...]",
		Short: "run a command within a sandbox, on a copy of the commit that is checked out",
		Long: `Try makes a worktree of the commit that is checked out here, without what is not committed,
runs the command in it within a sandbox, prints what it prints, ends as it does, and removes all of
it, with what was committed there. The command sees the system, that worktree, git as it is here,
toolchains and caches of the home, and else an empty home. --show says what it would see, and runs nothing.
Agents and the gate of orch run run so where sandbox.level says it; this is to see what works there.`,
		Example: "  orch sandbox try -- go test ./...\n  orch sandbox try --no-network --read ~/models -- make test",
		RunE:    func(c *cobra.Command, args []string) error { return t.run(c.Context(), a, args) },
	}
	run.Flags().StringArrayVar(&t.read, "read", nil, "let it read this `path` too")
	run.Flags().StringArrayVar(&t.write, "write", nil, "let it write this `path` too")
	run.Flags().BoolVar(&t.offline, "no-network", false, "give it no network but its own loopback")
	run.Flags().StringVar(&t.level, "level", "auto", "`what` keeps it within bounds: auto, bubblewrap, namespaces or landlock")
	run.Flags().BoolVar(&t.show, "show", false, "say what it would see, and run nothing")
	c.AddCommand(run)
	return c
}

// try is the flags of orch sandbox try.
type try struct {
	read, write []string
	offline     bool
	level       string
	show        bool
}

func (t try) run(ctx context.Context, a *cli.Invocation, args []string) (err error) {
	if len(args) == 0 && !t.show {
		return cli.Usage("say what is to be tried: orch sandbox try -- COMMAND")
	}
	if a.JSON {
		return cli.Usage("orch sandbox try prints what the command prints, and no document")
	}
	boxes, err := t.boxes(a)
	if err != nil {
		return err
	}
	w, err := workspace.Read(ctx, a)
	if err != nil {
		return err
	}
	p := w.Project
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
	return t.in(ctx, p, tryout{boxes: boxes, store: store, top: top, head: head, args: args})
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

// boxes are the levels that may be taken.
func (t try) boxes(a *cli.Invocation) ([]sandbox.Box, error) {
	all := sandbox.Boxes(a.Self, a.LookPath("bwrap"))
	if t.level == "auto" {
		return all, nil
	}
	for _, b := range all {
		if string(b.Level) == t.level {
			return []sandbox.Box{b}, nil
		}
	}
	return nil, cli.Usage("--level %s: there are auto, bubblewrap, namespaces and landlock", t.level)
}

// tryout is one command to try, and where.
type tryout struct {
	boxes []sandbox.Box
	store *worktree.Store
	top   string // a folder for all of it
	head  git.Commit
	args  []string
}

// in runs the command in a worktree of its own, which the store has made and removes.
func (t try) in(ctx context.Context, p *project.Project, o tryout) (err error) {
	dir, err := o.store.Checkout(ctx, o.head)
	if err != nil {
		return err
	}
	at, err := p.Repo.CheckoutAt(dir)
	if err != nil {
		return err
	}
	s, err := shadow.Make(shadow.Options{Repo: p.Repo, Admin: at.GitDir, Mounted: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Remove()) }()
	policy, err := t.policy(p, o, dir, s)
	if err != nil {
		return err
	}
	box, err := t.choose(ctx, p, o.boxes, policy)
	if err != nil {
		return err
	}
	if !box.Level.Mounts() {
		other, err := shadow.Make(shadow.Options{Repo: p.Repo, Admin: at.GitDir})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, other.Remove()) }()
		if policy, err = t.policy(p, o, dir, other); err != nil {
			return err
		}
		if err := other.Point(dir); err != nil {
			return err
		}
	}
	if t.show {
		showPolicy(p.Invocation, box, policy)
		return nil
	}
	return t.start(ctx, p, box, policy, o.args)
}

// policy is what the command may do in a worktree.
func (t try) policy(p *project.Project, o tryout, worktree string, s *shadow.Shadow) (sandbox.Policy, error) {
	a := p.Invocation
	home := a.Getenv("HOME")
	if home == "" {
		return sandbox.Policy{}, cli.Usage("HOME is not set: what is to be hidden is not known")
	}
	place := sandbox.Place{Worktree: worktree, CommonDir: p.Repo.CommonDir(), Shadow: s.Dir, Checkout: p.Repo.WorkTree(), Siblings: filepath.Dir(worktree), Home: home,
		PrivateHome: filepath.Join(o.top, "home"), Temp: filepath.Join(o.top, "tmp"), Program: a.Self, Read: append([]string{}, s.Alternates...), Network: !t.offline,
		Hide: append(workspace.PersonsFolders(a), p.Worktrees())}
	for _, folder := range []string{place.PrivateHome, place.Temp} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return sandbox.Policy{}, err
		}
	}
	for paths, into := range map[*[]string]*[]string{&t.read: &place.Read, &t.write: &place.Write} {
		for _, path := range *paths {
			path, err := filepath.Abs(path)
			if err != nil {
				return sandbox.Policy{}, err
			}
			*into = append(*into, path)
		}
	}
	policy, err := sandbox.New(place.Real().WithTools(a.Getenv))
	if err != nil {
		return policy, cli.Usage("%s", err)
	}
	return policy, nil
}

// choose takes a level.
func (t try) choose(ctx context.Context, p *project.Project, boxes []sandbox.Box, policy sandbox.Policy) (b sandbox.Box, err error) {
	b, err = workspace.ChooseBox(ctx, p, boxes, policy, t.level == "auto")
	if err != nil {
		return b, &cli.Error{Code: "NO_SANDBOX", What: err.Error(), Exit: cli.ExitNotReady, Fix: []string{"orch doctor --sandbox"}}
	}
	return b, nil
}

// start runs the command, and ends as it does.
func (t try) start(ctx context.Context, p *project.Project, box sandbox.Box, policy sandbox.Policy, args []string) error {
	c, err := box.Wrap(command.Cmd{Argv: args, Env: p.AgentEnv(ctx)}, policy)
	if err != nil {
		return err
	}
	res, err := p.Proc.RunGuarded(ctx, c)
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
	if res.ExitCode == sandbox.Failed {
		if err := workspace.SandboxMemory(p).Forget(); err != nil {
			return err
		}
	}
	return cli.ExitWith(res.ExitCode)
}

// showPolicy says what a command would see.
func showPolicy(a *cli.Invocation, b sandbox.Box, p sandbox.Policy) {
	network := "as it is"
	if !p.Network {
		network = "its own loopback alone"
		if !b.Level.Mounts() {
			network = "as it is, since this level cannot deny it"
		}
	}
	rest := "can be read"
	if !b.Level.Mounts() {
		rest = "is refused, but for what is of the system, as /usr and /etc"
	}
	fmt.Fprintf(a.Stdout, "level     %s\nnetwork   %s\nbegins in %s\nwhat is not named %s\n", b.Level, network, p.Dir, rest)
	for _, bound := range p.Bounds {
		if _, err := os.Lstat(cmp.Or(bound.From, bound.At)); err != nil {
			continue
		}
		line := fmt.Sprintf("%-9s %s", bound.Kind, bound.At)
		if bound.From != "" && bound.From != bound.At {
			line += "  (" + bound.From + ")"
		}
		fmt.Fprintln(a.Stdout, line)
	}
}
