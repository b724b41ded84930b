package probe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/beadsorch/orch/orchestrator/command"
	"github.com/beadsorch/orch/orchestrator/sandbox"
)

// Result is what came of one threat.
type Result struct {
	// Promise is the row of the table.
	Promise sandbox.Promise
	// Stopped says that it was not done.
	Stopped bool
}

// Run tries all threats within the bounds of a box, in a folder that it makes in dir and removes, "" for that of temporary files.
// What it starts has the environment env. It fails where they could not be tried; that one was not stopped is no error.
func Run(ctx context.Context, run command.Runner, b sandbox.Box, dir string, env []string) ([]Result, error) {
	run = withEnvironment(run, env)
	return attackAll(ctx, run, dir, b.Self, b.Program(), func(c command.Cmd, p sandbox.Policy) (command.Cmd, error) {
		if err := b.Try(ctx, run, p); err != nil {
			return c, err
		}
		return b.Wrap(c, p)
	})
}

// withEnvironment adds env to what each command is given.
func withEnvironment(run command.Runner, env []string) command.Runner {
	return func(ctx context.Context, c command.Cmd) (command.Result, error) {
		c.Env = slices.Concat(env, c.Env)
		return run(ctx, c)
	}
}

// attackAll has wrap put the attacker, which is at the path program within the bounds, where it belongs.
func attackAll(ctx context.Context, run command.Runner, dir, self, program string, wrap func(command.Cmd, sandbox.Policy) (command.Cmd, error)) (results []Result, err error) {
	top, err := os.MkdirTemp(dir, "orch-probe-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(top)) }()
	real, err := filepath.EvalSymlinks(top)
	if err != nil {
		return nil, err
	}
	w, err := newWorld(ctx, run, real, self)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.close()) }()

	said := answers{}
	for _, network := range []bool{true, false} {
		place := w.place
		place.Network = network
		policy, err := sandbox.New(place)
		if err != nil {
			return nil, err
		}
		told, err := json.Marshal(w.orders(network))
		if err != nil {
			return nil, err
		}
		c, err := wrap(command.Cmd{Argv: []string{program, word, string(told)}, Dir: place.Worktree}, policy)
		if err != nil {
			return nil, err
		}
		res, err := run(ctx, c)
		if err != nil {
			return nil, fmt.Errorf("the probe within the sandbox: %w", err)
		}
		if err := json.Unmarshal(res.Stdout, &said); err != nil {
			return nil, fmt.Errorf("the probe within the sandbox: %w", err)
		}
	}
	for _, p := range sandbox.Promises() {
		results = append(results, Result{Promise: p, Stopped: !w.happened(p.Threat, said[p.Threat])})
	}
	return results, nil
}

// orders tells the attacker what to try where there is a network: all but that there is none. The signal is the last, since
// others need its victim.
func (w *world) orders(network bool) orders {
	o := orders{Targets: w.targets, Worktree: w.place.Worktree, Path: w.path, Name: w.name, Port: w.port, TTY: w.tty, Victim: w.victim, Line: victimWord}
	if !network {
		o.Threats = []sandbox.Threat{sandbox.Network}
		return o
	}
	for _, p := range sandbox.Promises() {
		if p.Threat != sandbox.Network && p.Threat != sandbox.Signal {
			o.Threats = append(o.Threats, p.Threat)
		}
	}
	slices.SortStableFunc(o.Threats, func(a, b sandbox.Threat) int { return rank(a) - rank(b) })
	o.Threats = append(o.Threats, sandbox.Signal)
	return o
}

// rank has open files looked at before others are opened.
func rank(t sandbox.Threat) int {
	if t == sandbox.Descriptor {
		return 0
	}
	return 1
}

// happened reports whether a threat was carried out, by what is outside, and where only the attacker can know by what it said.
func (w *world) happened(t sandbox.Threat, said string) bool {
	switch t {
	case sandbox.PathSocket, sandbox.AbstractSocket, sandbox.Network:
		return w.reached(t)
	case sandbox.Terminal:
		return w.writtenTo()
	case sandbox.Mode:
		return w.opened(t)
	case sandbox.Signal:
		return w.gone()
	case sandbox.HomeRead, sandbox.Environ:
		return strings.Contains(said, w.secret)
	}
	if _, file := w.targets[t]; file {
		return w.changed(t)
	}
	return said != ""
}
