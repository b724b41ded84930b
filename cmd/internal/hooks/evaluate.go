package hooks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/document"
	"github.com/beadsorch/orch/cmd/internal/trust"
	"github.com/beadsorch/orch/cmd/internal/workspace"
	"github.com/beadsorch/orch/orchestrator/checkpoint"
	"github.com/beadsorch/orch/orchestrator/engine"
	"github.com/beadsorch/orch/orchestrator/iteration"
	"github.com/beadsorch/orch/orchestrator/promise"
	"github.com/beadsorch/orch/orchestrator/text"
	"github.com/beadsorch/orch/stophook/registry"
)

func evaluateCommand(a hookCmd) *cobra.Command {
	var file string
	var debug bool
	c := &cobra.Command{
		Use:   "evaluate TASK",
		Short: "have a task's hooks decide by a context",
		Long: `Evaluate reads the context as JSON (taskId, iteration, executionPhase,
filesModified, validationResults, completionPromises, agentOutput, draftContent,
draftType) and asks the task's hooks in their order. A promise is an object with type,
detected and content, or its words alone. Without an iteration in it, that
and the results are those of the task's loop.`,
		Args: cli.Exactly(1, "a task"),
		RunE: func(c *cobra.Command, args []string) error { return a.evaluateHooks(c.Context(), args[0], file, debug) },
	}
	c.Flags().BoolVar(&debug, "debug", false, "say also what each hook that was asked said, on standard error")
	c.Flags().StringVar(&file, "context", "-", "the `file` with the context; - is standard input")
	return c
}

// maxContext bounds a context, in bytes.
const maxContext = 16 << 20

func (a hookCmd) evaluateHooks(ctx context.Context, task, file string, debug bool) error {
	in, err := a.readContext(file)
	if err != nil {
		return &cli.Error{Code: "BAD_CONTEXT", What: "the context cannot be read", Why: err.Error(), Exit: cli.ExitUsage, Err: err, Fix: []string{`echo '{"iteration": 1}' | orch hook evaluate ` + task}}
	}
	in.TaskID = task
	w, err := workspace.Open(ctx, a.app)
	if err != nil {
		return err
	}
	if err := fromLoop(ctx, w, &in); err != nil {
		return err
	}
	e, _, err := evaluator(w).Decide(ctx, in)
	if err != nil {
		return err
	}
	doc := document.HookEvaluatedOf(task, in.Iteration, e)
	if debug {
		doc.Asked = append([]registry.Asked{}, e.Asked...)
		for _, asked := range e.Asked {
			fmt.Fprintf(a.app.Stderr, "%s  %-8s %s  %s\n", asked.HookID, asked.Action, asked.Took.Round(time.Microsecond), text.Clause(asked.Reason, 200))
		}
	}
	return a.sayHook(doc, "%s  (%s)\n  %s\n%s", e.Action, e.HookID, text.Clause(e.Reason, 1000), text.Clean(e.NextPrompt))
}

// fromLoop fills in what a context leaves open, from the task's iteration loop where it has
// one: the iteration, and what the rules said of it.
func fromLoop(ctx context.Context, w *workspace.Workspace, in *registry.Context) error {
	if in.Iteration != 0 {
		return nil
	}
	at, err := w.FindWorkDir(ctx, in.TaskID)
	if err != nil {
		return err
	}
	l, err := checkpoint.ReadLoop(at.LoopDir, w.Now)
	if errors.Is(err, checkpoint.ErrNoLoop) {
		return nil
	}
	if err != nil {
		return err
	}
	in.Iteration = l.Iteration
	if l.Last != nil && in.ValidationResults == nil {
		for _, r := range l.Last.Rules {
			in.ValidationResults = append(in.ValidationResults, registry.Validation{RuleName: r.Rule, Passed: r.Passed, Message: r.Message})
		}
	}
	return nil
}

// Of are the hooks of the workspace's tasks, as an engine asks them.
func Of(w *workspace.Workspace) engine.Hooks { return turns{evaluator(w)} }

// turns has the hooks of tasks decide on turns; it implements [engine.Hooks].
type turns struct{ hooks registry.Evaluator }

// Evaluate has the hooks of a task decide on a turn; the zero Hook is of a task that has none. It
// fails when they may not be asked, and when they cannot be read or kept.
func (t turns) Evaluate(ctx context.Context, turn engine.Turn) (iteration.Hook, error) {
	in := registry.Context{TaskID: string(turn.Task), Iteration: turn.Number, ExecutionPhase: "iteration", FilesModified: append([]string{}, turn.Files...), AgentOutput: turn.Output,
		CompletionPromises: []registry.Promise{}}
	if said, ok := promise.Find(turn.Output); ok {
		found := registry.PromiseOf(said.Text)
		found.DetectedAt = t.hooks.Now().UTC().Format(time.RFC3339)
		in.CompletionPromises = append(in.CompletionPromises, found)
	}
	for _, c := range turn.Verdict.Checks {
		in.ValidationResults = append(in.ValidationResults, registry.Validation{RuleName: c.Rule, Passed: c.Passed, Message: c.Why})
	}
	e, some, err := t.hooks.Decide(ctx, in)
	if err != nil || !some {
		return iteration.Hook{}, err
	}
	return iteration.Hook{ID: e.HookID, Action: string(e.Action), Reason: e.Reason, NextPrompt: e.NextPrompt}, nil
}

// evaluator has the hooks of the workspace's tasks decide. Their programs see the environment of a gate's command,
// carry the marker of the workspace, and are asked when a person has confirmed them.
func evaluator(w *workspace.Workspace) registry.Evaluator {
	return registry.Evaluator{
		Store: registry.Store{Path: filepath.Join(w.Project.Home, "hooks.json")}, Run: w.RunBounded, Dir: LoopDir(w.Project.Invocation), Env: w.Project.GateEnv(), Now: w.Now,
		Trusted: func(ctx context.Context, hooks []registry.Hook) error { return trusted(ctx, w, hooks) },
	}
}

// trusted lets hooks be asked whose programs a person has confirmed; those without a program
// need nothing. It fails with the error UNTRUSTED.
func trusted(ctx context.Context, w *workspace.Workspace, hooks []registry.Hook) error {
	if !slices.ContainsFunc(hooks, func(h registry.Hook) bool { return h.Enabled && len(trust.HookItems(h)) > 0 }) {
		return nil
	}
	q, err := trust.Ask(ctx, w.Project, "HEAD")
	if err != nil {
		return err
	}
	return q.RequireHooks(hooks)
}

func (a hookCmd) readContext(file string) (c registry.Context, err error) {
	f, err := a.app.Open(file)
	if err != nil {
		return c, err
	}
	defer f.Close()
	return c, json.NewDecoder(io.LimitReader(f, maxContext)).Decode(&c)
}
