// Package cmd is orch's command line: the only place that knows arguments, the
// environment and the terminal.
package cmd

import (
	"context"
	"io"
	"os"
	"strings"
	"time"

	"github.com/beadsorch/orch/orchestrator/core"
	"github.com/beadsorch/orch/orchestrator/proc"
)

// Process is what the operating system gave the program.
type Process struct {
	Args   []string         // with the program's name
	Env    []string         // "NAME=value"
	Dir    string           // where it was started; "" asks the system
	Self   string           // the program's own file, which guards are made of
	Stdin  io.Reader        // what is read
	Stdout io.Writer        // what was asked for
	Stderr io.Writer        // errors and remarks
	Now    func() time.Time // the clock

	faults func(append func(...core.Event) error) func(...core.Event) error // tests only
}

// app is one invocation: the process with its global flags.
type app struct {
	Process
	json bool
	dir  string // -C
}

// guardCommand is how orch runs itself as the guard of an agent. It is not for
// people, and looked for before anything else, since it is on the way of every
// agent's start.
const guardCommand = "guard"

// Run does what the arguments ask for and returns the exit code. It never
// exits by itself.
func Run(ctx context.Context, p Process) int {
	if len(p.Args) > 2 && p.Args[1] == guardCommand {
		return proc.Guard(p.Args[2:], p.Env)
	}
	if p.Dir == "" {
		dir, err := os.Getwd()
		if err != nil {
			return report(p, false, err)
		}
		p.Dir = dir
	}
	a := &app{Process: p}
	root := newRoot(a)
	root.SetArgs(p.Args[1:])
	root.SetIn(p.Stdin)
	root.SetOut(p.Stdout)
	root.SetErr(p.Stderr)
	if err := root.ExecuteContext(ctx); err != nil {
		return report(p, a.json || asksJSON(p.Args), err)
	}
	return exitDone
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

// env is the value of an environment variable; the last one counts.
func (p Process) env(name string) string {
	value := ""
	for _, e := range p.Env {
		if v, ok := strings.CutPrefix(e, name+"="); ok {
			value = v
		}
	}
	return value
}

// pick is the part of the environment whose names are listed; a name that ends
// in * stands for all that begin so.
func (p Process) pick(names ...string) []string {
	var out []string
	for _, e := range p.Env {
		name, _, _ := strings.Cut(e, "=")
		for _, want := range names {
			prefix, open := strings.CutSuffix(want, "*")
			if name == want || open && strings.HasPrefix(name, prefix) {
				out = append(out, e)
				break
			}
		}
	}
	return out
}
