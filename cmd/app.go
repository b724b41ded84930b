// Package cmd is orch's command line: all its commands, and those that drive an epic, or ask
// something of its run, themselves.
package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/drive"
	"github.com/beadsorch/orch/cmd/internal/explain"
	"github.com/beadsorch/orch/cmd/internal/project"
	"github.com/beadsorch/orch/cmd/internal/workspace"
	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/proc"
	"github.com/beadsorch/orch/orchestrator/sandbox"
	"github.com/beadsorch/orch/orchestrator/sandbox/probe"
	"github.com/beadsorch/orch/stophook/session"
)

// Process is what the operating system gave the program.
type Process = cli.Process

// app is one invocation, and what tests do to its journals.
type app struct {
	App    *cli.Invocation // the invocation
	faults faults
	// viewer is who has started this process to drive an epic; nil where it was a person.
	viewer *drive.Reporter
}

// faults wraps the writing of events; nil but in tests.
type faults func(write func(...epic.Event) error) func(...epic.Event) error

// Run does what the arguments ask for and returns the exit code. It never
// exits by itself.
func Run(ctx context.Context, p Process) int { return run(ctx, p, nil) }

// run is Run with faults. A guard and a sandbox are looked for before anything else, since they are on the
// way of every agent's start.
func run(ctx context.Context, p Process, f faults) int {
	if len(p.Args) > 2 && p.Args[1] == cli.GuardCommand {
		return proc.Guard(p.Args[2:], p.Env)
	}
	if code, ok := sandbox.Serve(p.Args, p.Env); ok {
		return code
	}
	if code, ok := probe.Serve(p.Args); ok {
		return code
	}
	if code, ok := askRun(ctx, p); ok {
		return code
	}
	a := &app{viewer: drive.NewReporter(&p), faults: f}
	a.App = &cli.Invocation{Process: p}
	defer a.App.End()
	done := a.App.RedactOutput()
	a.App.EndOnSignal()
	defer a.App.TakeSignals()
	if a.App.Dir == "" {
		dir, err := os.Getwd()
		if err != nil {
			return explain.Report(a.App, err)
		}
		a.App.Dir = dir
	}
	return done(execute(ctx, a))
}

func execute(ctx context.Context, a *app) int {
	p := a.App.Process
	root := newRoot(a)
	root.SetArgs(p.Args[1:])
	root.SetIn(p.Stdin)
	root.SetOut(p.Stdout)
	root.SetErr(p.Stderr)
	if c, err := root.ExecuteContextC(ctx); err != nil {
		var wrong *cli.Error
		if errors.As(err, &wrong) && wrong.Exit == cli.ExitUsage && scopeOf(c) == unheard {
			// To a client a hook that ends with 2 holds its session, and says why: orch's usage is nothing for a model.
			fmt.Fprintf(p.Stderr, "%s: %s\n", c.CommandPath(), wrong.What)
			return cli.ExitDone
		}
		if strings.HasPrefix(err.Error(), "if any flags in the group") { // cobra's words for flags that do not go together
			err = cli.Usage("%s", err)
		}
		a.App.JSON, a.App.Lines = a.App.JSON || asksJSON(p.Args), cli.DoesPrintLines(c)
		root, _ := session.Repository(a.App.Dir) // a command may have failed before it knew what the settings call secret
		project.KnowSecrets(a.App, root, workspace.Kinds())
		return explain.Report(a.App, err)
	}
	return cli.ExitDone
}

// asksJSON reports whether the arguments ask for JSON, for errors that come
// before they are parsed.
func asksJSON(args []string) bool {
	for _, arg := range args {
		if arg == "--" {
			return false
		}
		if arg == "--json" || arg == "--json=true" {
			return true
		}
	}
	return false
}
