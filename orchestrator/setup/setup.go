// Package setup makes a new worktree ready: its commands fetch what those that come later need, such as packages. It is handed what
// runs a command.
package setup

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/beadsorch/orch/orchestrator/command"
	"github.com/beadsorch/orch/orchestrator/text"
	"github.com/beadsorch/orch/orchestrator/validation"
)

// Plan is the commands of a setup. The zero Plan does nothing.
type Plan struct {
	// Commands are run one after the other, each by a shell at the top of the worktree.
	Commands []string
	// Env is their whole environment.
	Env []string
	// Time is how long each of them may take; 0 is no limit.
	Time time.Duration
}

// Error says that a command of a setup did not end well.
type Error struct {
	// Command is that command.
	Command string
	// Check is what became of it.
	Check validation.Check
	// Why is that in a clause.
	Why string
}

// Error is one line: "workflow.setup: npm ci: ...".
func (e *Error) Error() string {
	return fmt.Sprintf("workflow.setup: %s: %s", text.Clause(e.Command, 80), e.Why)
}

// noLimit is the time limit of a command that has none of its own.
const noLimit = 1000 * time.Hour

// rule is a command as one that is to end well.
func (p Plan) rule(line string) validation.Rule {
	return validation.Rule{Name: "setup", Type: validation.Command, Command: line, Timeout: cmp.Or(p.Time, noLimit)}
}

// Rules are the commands as rules.
func (p Plan) Rules() (rules []validation.Rule) {
	for _, line := range p.Commands {
		rules = append(rules, p.rule(line))
	}
	return rules
}

// Run runs the commands in dir until one of them fails. log is what they have printed, with what was run, also where it fails. It fails with
// an [*Error], as run does where a command could not be started, and with the cause of ctx when that ends.
func (p Plan) Run(ctx context.Context, run command.Runner, dir string) (log []byte, err error) {
	var all bytes.Buffer
	kept := func(ctx context.Context, c command.Cmd) (command.Result, error) {
		res, err := run(ctx, c)
		all.Write(res.Stdout)
		all.Write(res.Stderr)
		return res, err
	}
	for _, line := range p.Commands {
		fmt.Fprintf(&all, "$ %s\n", line)
		v, err := validation.Judge(ctx, kept, []validation.Rule{p.rule(line)}, validation.Input{Dir: dir, Env: p.Env})
		switch {
		case err != nil:
			return all.Bytes(), err
		case v.Err() != nil:
			return all.Bytes(), v.Err()
		case !v.Passed:
			return all.Bytes(), &Error{Command: line, Check: v.Checks[0], Why: v.Checks[0].Cause()}
		}
	}
	return all.Bytes(), nil
}
