package registry

import (
	"context"
	"time"

	"github.com/beadsorch/orch/orchestrator/command"
)

// Evaluator has the hooks of tasks decide, and counts what they decided.
type Evaluator struct {
	Store   Store                               // where the hooks are
	Run     command.Runner                      // runs their programs, and leaves nothing of them running
	Dir     string                              // where the programs start
	Env     []string                            // their whole environment
	Trusted func(context.Context, []Hook) error // says why the hooks may not be asked; nil lets all
	Now     func() time.Time                    // the clock
}

// maxAnswer bounds what the program of a hook prints, in bytes.
const maxAnswer = 16 << 20

// Decide has the hooks of a task decide by a context; some says that it has any. It fails when
// they may not be asked, and when they cannot be read or kept.
func (v Evaluator) Decide(ctx context.Context, in Context) (e Evaluation, some bool, err error) {
	hooks, err := v.Store.All(in.TaskID)
	if err == nil && v.Trusted != nil {
		err = v.Trusted(ctx, hooks)
	}
	if err != nil {
		return e, false, err
	}
	run := func(ctx context.Context, argv []string, timeout time.Duration, stdin []byte) ([]byte, error) {
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		res, err := v.Run(ctx, command.Cmd{Dir: v.Dir, Argv: argv, Env: v.Env, Stdin: stdin, MaxOutputBytes: maxAnswer})
		return res.Stdout, err
	}
	e, after := Evaluate(ctx, hooks, in, run, v.Now)
	if len(hooks) > 0 {
		err = v.Store.Keep(ctx, after)
	}
	return e, len(hooks) > 0, err
}
