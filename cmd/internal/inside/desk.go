package inside

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/beadsorch/orch/cmd/internal/standin"
	"github.com/beadsorch/orch/orchestrator/command"
	"github.com/beadsorch/orch/orchestrator/sandbox"
	"github.com/beadsorch/orch/orchestrator/tracker"
)

// The variables of an orch that is started for a request.
const (
	// ServedVariable is set: what asks is an agent, and what it may ask is less.
	ServedVariable = "ORCH_SERVED"
	// BoundsVariable is a [Bounds] in JSON.
	BoundsVariable = "ORCH_BOUNDS"
)

// Bounds is how a command runs within the sandbox of an attempt: what comes before it, and its whole environment.
type Bounds struct {
	Argv []string `json:"argv"`
	Env  []string `json:"env"`
	Dir  string   `json:"dir"`
}

// Wrap is the command within the bounds.
func (b Bounds) Wrap(c command.Cmd) command.Cmd {
	c.Argv, c.Env, c.Dir = slices.Concat(b.Argv, c.Argv), b.Env, b.Dir
	return c
}

// Options is what a Desk is made of; all of it has to be set.
type Options struct {
	// Tracker is the run's.
	Tracker *Reading
	// Self is the program, which is started for requests of orch with Env in Dir.
	Self string
	Env  []string
	Dir  string
	// RuleEnv is the whole environment of commands that judge.
	RuleEnv []string
	// Run starts it.
	Run command.Runner
	// Now is the clock.
	Now func() time.Time
}

// Desk answers the requests of all attempts of a run.
type Desk struct{ Options }

// NewDesk checks nothing and starts nothing.
func NewDesk(o Options) *Desk { return &Desk{o} }

// The bounds of what is done for a request.
const (
	maxOutput = 16 << 20         // of a command, in bytes
	maxTime   = 2 * time.Minute  // of one that reads or notes something
	maxJudged = 60 * time.Minute // of one that runs rules; the attempt ends before, as a rule
	maxWrites = 500              // of one attempt's turn in the tracker
)

// Attempt is who asks: a turn that runs in a sandbox.
type Attempt struct {
	// Task is what it works on, Epic what that is a part of.
	Task, Epic string
	// Actor is its agent's name in the tracker.
	Actor string
	// Env is its agent's environment.
	Env []string
	// Folder is where the socket is to be: its sandbox alone can read it.
	Folder string
	// Wrap makes of a command one that runs within its sandbox.
	Wrap func(command.Cmd) (command.Cmd, error)
}

// Serve listens for an attempt until stop is called. It fails as [Listen] does.
func (d *Desk) Serve(v Attempt) (stop func() error, err error) {
	var writes atomic.Int64
	l, err := Listen(v.Folder, func(ctx context.Context, q Request) Answer {
		if q.Program == BD {
			return d.tracker(ctx, v, &writes, q)
		}
		return d.orch(ctx, v, q)
	})
	if err != nil {
		return nil, err
	}
	return l.Close, nil
}

// tracker answers for bd.
func (d *Desk) tracker(ctx context.Context, v Attempt, writes *atomic.Int64, q Request) Answer {
	ctx, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	a := standin.Session{Tracker: bounded{d.Tracker.ByAgent(), writes}, Task: v.Task, Epic: v.Epic, Actor: v.Actor, Now: d.Now}.Do(ctx, q.Args, q.Stdin)
	return Answer{Stdout: []byte(a.Stdout), Stderr: []byte(a.Stderr), Exit: a.Exit}
}

// bounded is what one turn may write.
type bounded struct {
	Asked
	writes *atomic.Int64
}

// Apply refuses what is too much.
func (b bounded) Apply(ctx context.Context, actor string, changes []tracker.Change) ([]tracker.Outcome, error) {
	if b.writes.Add(int64(len(changes))) > maxWrites {
		return nil, fmt.Errorf("this turn has written %d times to the tracker, which is all that it may", maxWrites)
	}
	return b.Asked.Apply(ctx, actor, changes)
}

// orch has another orch do it, outside and as an agent's: it refuses what is not for one.
func (d *Desk) orch(ctx context.Context, v Attempt, q Request) Answer {
	limit := maxTime
	judges := judging(q.Args)
	env := slices.DeleteFunc(slices.Clone(d.Env), func(e string) bool {
		name, _, _ := strings.Cut(e, "=")
		return slices.Contains([]string{ServedVariable, BoundsVariable, sandbox.SocketVariable}, name)
	})
	for _, e := range v.Env {
		if name, _, _ := strings.Cut(e, "="); strings.HasPrefix(name, "ORCH_") || name == "BD_ACTOR" || name == "BEADS_ACTOR" {
			env = append(env, e)
		}
	}
	env = append(env, ServedVariable+"=1")
	if judges {
		limit = maxJudged
		c, err := v.Wrap(command.Cmd{Env: d.RuleEnv})
		if err != nil {
			return Answer{Exit: 1, Stderr: []byte("error: " + err.Error() + "\n")}
		}
		told, err := json.Marshal(Bounds{Argv: c.Argv, Env: c.Env, Dir: c.Dir})
		if err != nil {
			return Answer{Exit: 1, Stderr: []byte("error: " + err.Error() + "\n")}
		}
		env = append(env, BoundsVariable+"="+string(told))
	}
	ctx, cancel := command.Within(ctx, limit, fmt.Errorf("it took over %s", limit))
	defer cancel()
	res, err := d.Run(ctx, command.Cmd{Dir: d.Dir, Argv: append([]string{d.Self}, q.Args...), Env: env, Stdin: q.Stdin, MaxOutputBytes: maxOutput})
	a := Answer{Stdout: res.Stdout, Stderr: res.Stderr, Exit: res.ExitCode}
	var exit *command.ExitError
	if err != nil && !errors.As(err, &exit) || a.Exit < 0 {
		a.Exit = 1
		a.Stderr = append(a.Stderr, fmt.Sprintf("error: orch was not done: %v\n", err)...)
	}
	return a
}

// judging reports whether a command line may run rules, which it does in the sandbox of the attempt.
func judging(args []string) bool {
	return slices.Contains(args, "validate") || slices.Contains(args, "verify")
}
