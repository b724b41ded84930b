package proc

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/beadsorch/orch/orchestrator/command"
	"github.com/beadsorch/orch/orchestrator/text"
)

const (
	defaultGrace = 10 * time.Second
	runGrace     = 5 * time.Second
	hastyGrace   = 100 * time.Millisecond
)

// ErrNoGuard says that a guarded command was asked of a System without a guard.
var ErrNoGuard = errors.New("no guard program is set")

// ErrHalted says that a guarded command was ended since its guard, or all of it, was stopped and
// did not go on: see [Halted].
var ErrHalted = errors.New("it was stopped (SIGSTOP), or its guard was, and did not go on")

// Options is how a System treats all of its children.
type Options struct {
	// Marker is put into every child's environment, "NAME=value"; [Survivors] finds it again.
	Marker string
	// Guard is the argv prefix that runs [Guard] in a process of its own, e.g. {"/path/orch", "guard"}.
	// "--" and the command are appended to it.
	Guard []string
	// Image is the file that is started in place of Guard[0], which stays the first of the
	// arguments: [Image], or "" for that path itself.
	Image string
	// Children makes this process the one that orphans of a dead guard come to, which are then
	// ended; nil leaves them to the system's first process.
	Children *Children
	// Hasty is for one who has to be done when the context of Run ends: then the command gets
	// SIGKILL 100 ms after SIGTERM, and its output is waited for as briefly. What still holds that
	// output is ended (Linux only, beyond the process group), and nothing else that it has left.
	Hasty bool
	// Grace is the time between interrupt and kill; 0 means 10 s.
	Grace time.Duration
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// System starts processes of this machine. It is safe for concurrent use.
type System struct {
	options Options
	haste   sync.Once
	hurry   chan struct{} // closed by Hurry
}

// New is a System with these options.
func New(o Options) *System {
	if o.Grace <= 0 {
		o.Grace = defaultGrace
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &System{options: o, hurry: make(chan struct{})}
}

// Hurry is for when this process is to be done at once: commands with a limit of quiet, those under way too,
// may do nothing for two seconds at most from now on. Those that work are left to finish.
func (s *System) Hurry() { s.haste.Do(func() { close(s.hurry) }) }

// Run runs c to its end, in a session of its own; it is a [Runner]. When ctx ends first the
// process group gets SIGTERM, 5 s later SIGKILL, and the error wraps context.Cause(ctx).
// It fails with an [*command.ExitError], with a [*command.QuietError] when it did nothing for too long, or when the program could not be started. Processes that c
// left behind are not waited for, even when they hold its pipes; use RunGuarded to end them.
func (s *System) Run(ctx context.Context, c command.Cmd) (command.Result, error) {
	if err := context.Cause(ctx); err != nil {
		return command.Result{ExitCode: -1}, wrapCommand(c, err)
	}
	kept := newCapture(c.MaxOutputBytes)
	var printed atomic.Int64
	own := ""
	if s.options.Children != nil {
		own = s.options.Children.own
	}
	child, err := launch(ctx, s.environment(c, own), launchOptions{children: s.options.Children, stdout: counted(&printed, kept.stdout.add), stderr: counted(&printed, kept.stderr.add)})
	if err != nil {
		return command.Result{ExitCode: -1}, wrapCommand(c, err)
	}
	var q *quiet
	if c.Quiet > 0 {
		q = newQuiet(child.cmd.Process.Pid, c.Quiet, &printed)
	}
	grace, patience := runGrace, drainTime
	if s.options.Hasty {
		grace, patience = hastyGrace, hastyGrace
	}
	end := child.waitOrEnd(ctx, grace, q, s.hurry)
	if whole := child.drainWithin(patience); !whole && s.options.Hasty {
		child.endHolders()
	}
	child.letGo()
	if end.cause == Idle {
		return kept.result(end.code), quietError(c.Argv, q.limit)
	}
	return kept.result(end.code), runError(ctx, c, end, kept)
}

// counted adds what goes through to n.
func counted(n *atomic.Int64, to func([]byte)) func([]byte) {
	return func(p []byte) {
		n.Add(int64(len(p)))
		to(p)
	}
}

// RunGuarded runs c as Run does, but below a guard; it is a [Runner]. When it returns no
// process of c's tree is left: what outlives c gets SIGTERM, and SIGKILL 2 s later. Besides
// the failures of Run it fails with [ErrNoGuard] and [ErrHalted], and with [command.ErrGuard] or [command.ErrGone] when the guard could not be started.
func (s *System) RunGuarded(ctx context.Context, c command.Cmd) (command.Result, error) {
	if err := context.Cause(ctx); err != nil {
		return command.Result{ExitCode: -1}, wrapCommand(c, err)
	}
	kept := newCapture(c.MaxOutputBytes)
	g, err := s.startGuarded(ctx, c, launchOptions{stdout: kept.stdout.add, stderr: kept.stderr.add})
	if errors.Is(err, command.ErrGuard) { // it has ended, and nothing else has written there
		if last := text.FirstLine(string(kept.stderr.kept), ""); last != "" {
			err = fmt.Errorf("%w: %s", err, last)
		}
	}
	if err != nil {
		return command.Result{ExitCode: -1}, wrapCommand(c, err)
	}
	end := g.supervise(ctx, supervision{interrupt: orderTerminate, grace: runGrace, limits: c.Limits})
	g.child.drain()
	res := kept.result(end.code)
	res.Survivors = end.survivors
	return res, runError(ctx, c, end, kept)
}

// runError reports a command that was stopped as stopped, however it took that: one
// that catches SIGTERM and exits 0 has still not done its work.
func runError(ctx context.Context, c command.Cmd, end ending, kept *capture) error {
	if end.cause == Halted {
		return wrapCommand(c, ErrHalted)
	}
	if err := limitError(c, end.cause); err != nil {
		return err
	}
	if end.cause != Ended {
		return wrapCommand(c, context.Cause(ctx))
	}
	return exitError(c.Argv, end.code, end.signal, kept.stderr.kept)
}

// environment is c with the marker and one more entry in Env: whose it is, or of a guarded command its life.
func (s *System) environment(c command.Cmd, more string) command.Cmd {
	env := make([]string, 0, len(c.Env)+2)
	env = append(env, c.Env...)
	for _, extra := range []string{s.options.Marker, more} {
		if extra != "" {
			env = append(env, extra)
		}
	}
	c.Env = env
	return c
}
