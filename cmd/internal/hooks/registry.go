package hooks

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/document"
	"github.com/beadsorch/orch/cmd/internal/workspace"
	"github.com/beadsorch/orch/orchestrator/text"
	"github.com/beadsorch/orch/stophook/registry"
	"github.com/beadsorch/orch/stophook/session"
)

// hookCmd is the commands of a task's hooks.
type hookCmd struct{ app *cli.Invocation }

// Hook is the command orch hook.
func Hook(app *cli.Invocation) *cobra.Command {
	a := hookCmd{app}
	c := &cobra.Command{Use: "hook", Short: "hooks that decide after each iteration at a task", Args: cli.AtMost(0, "a verb"),
		RunE: a.app.Group}
	c.AddCommand(registerCommand(a), evaluateCommand(a),
		hookVerb("list [TASK]", "the hooks of a task, in their order", 0, a.listHooks),
		hookVerb("metrics [TASK]", "what hooks decided how often", 0, a.hookMetrics),
		hookVerb("clear TASK", "take all hooks of a task away", 1, a.clearHooks),
		hookVerb("enable HOOK", "ask a hook again", 1, func(ctx context.Context, id string) error { return a.switchHook(ctx, id, true) }),
		hookVerb("disable HOOK", "pass a hook over", 1, func(ctx context.Context, id string) error { return a.switchHook(ctx, id, false) }),
	)
	return c
}

// hookVerb is a command with one id, which may be left out where least is 0.
func hookVerb(use, short string, least int, do func(context.Context, string) error) *cobra.Command {
	return &cobra.Command{Use: use, Short: short, RunE: func(c *cobra.Command, args []string) error { return do(c.Context(), strings.Join(args, "")) },
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 1 || len(args) < least {
				return cli.Usage("%s takes one id: %s", c.CommandPath(), c.UseLine())
			}
			return nil
		}}
}

// hooks is where the hooks of this repository are.
func (a hookCmd) hooks() (registry.Store, error) {
	_, common := session.Repository(a.app.Dir)
	if common == "" {
		return registry.Store{}, cli.NoRepository()
	}
	knowSecrets(a.app)
	return registry.Store{Path: filepath.Join(common, "orch", "hooks.json")}, nil
}

func hookError(err error) error {
	switch {
	case errors.Is(err, registry.ErrSpec):
		return &cli.Error{Code: "BAD_HOOK", What: err.Error(), Exit: cli.ExitUsage, Err: err, Fix: []string{"orch hook register --help"}}
	case errors.Is(err, registry.ErrNotFound):
		return &cli.Error{Code: "NOT_FOUND", What: err.Error(), Exit: cli.ExitNotFound, Err: err, Fix: []string{"orch hook list"}}
	}
	return err
}

// hookFlags are what a hook is made of.
type hookFlags struct {
	kind, spec string
	command    []string
	rules      []string
	max        int
	metadata   map[string]string
}

func registerCommand(a hookCmd) *cobra.Command {
	var f hookFlags
	c := &cobra.Command{
		Use:   "register TASK",
		Short: "add a hook to a task, behind those it has",
		Long: `Register adds a hook: a preset (default, validation, promise), a template (tdd,
security, checkpoint, max-iterations), a program (command: it reads the context as
JSON and answers {"action": "complete|continue|escalate", "reason": "..."}), or a
composition as JSON (--spec): {"type": "all", "hooks": [...]}, {"type": "any", ...},
{"type": "when", "if": "iteration >= 10", "then": {...}}.`,
		Example: `  orch hook register bd-1.2
  orch hook register bd-1.2 --type max-iterations --max 10
  orch hook register bd-1.2 --type command --command ./decide --command --strict
  orch hook register bd-1.2 --spec '{"type":"all","hooks":[{"type":"tdd"},{"type":"promise"}]}'`,
		Args: cli.Exactly(1, "a task"),
		RunE: func(c *cobra.Command, args []string) error { return a.registerHook(c.Context(), args[0], f) },
	}
	c.Flags().StringVarP(&f.kind, "type", "t", "default", "which hook")
	c.Flags().StringVar(&f.spec, "spec", "", "the whole hook as `JSON`, instead of the other flags")
	c.Flags().StringArrayVar(&f.command, "command", nil, "the program of a command hook, one flag a word")
	cli.TakeAnyWord(c.Flags().Lookup("command"))
	c.Flags().StringSliceVar(&f.rules, "rules", nil, "the rules that tdd and security want passed")
	c.Flags().IntVar(&f.max, "max", 0, "the iteration that max-iterations, security and checkpoint act at")
	c.Flags().StringToStringVar(&f.metadata, "metadata", nil, "anything, as KEY=VALUE")
	return c
}

func (a hookCmd) registerHook(ctx context.Context, task string, f hookFlags) error {
	store, err := a.hooks()
	if err != nil {
		return err
	}
	spec := registry.Spec{Type: f.kind, Rules: f.rules, Max: f.max, Command: f.command}
	if f.spec != "" {
		spec = registry.Spec{}
		if err := json.Unmarshal([]byte(f.spec), &spec); err != nil {
			return &cli.Error{Code: "BAD_HOOK", What: "--spec is no JSON hook", Why: err.Error(), Exit: cli.ExitUsage, Err: err, Fix: []string{"orch hook register --help"}}
		}
	}
	if err := spec.Check(); err != nil {
		return hookError(err)
	}
	w, err := workspace.Read(ctx, a.app)
	if err != nil {
		return err
	}
	if err := w.CheckTask(ctx, task); err != nil {
		return err
	}
	words, err := json.Marshal(spec)
	if err == nil {
		err = a.app.RefuseSecrets("the hook", string(words))
	}
	if err != nil {
		return err
	}
	h := registry.Hook{ID: fmt.Sprintf("HOOK-%d-%s", a.app.Now().Unix(), strings.ToLower(rand.Text()[:6])), TaskID: task, Spec: spec, Enabled: true, Metadata: map[string]any{}}
	for k, v := range f.metadata {
		h.Metadata[a.app.Redact.String(k)] = a.app.Redact.String(v)
	}
	err = store.Change(ctx, func(hooks []registry.Hook) ([]registry.Hook, error) { return append(hooks, h), nil })
	if err != nil {
		return err
	}
	return a.sayHook(document.HookRegistered{ID: h.ID, TaskID: task, Type: spec.Type, Enabled: true, Metadata: h.Metadata},
		"%s  %s at %s\n", h.ID, spec.Type, text.Clause(task, 64))
}

// sayHook prints a document, or the same for a person.
func (a hookCmd) sayHook(doc cli.Document, format string, args ...any) error {
	a.app.Print(doc, fmt.Sprintf(format, args...))
	return nil
}

// hooksOf lists the hooks of a task, or all.
func (a hookCmd) hooksOf(task string) ([]registry.Hook, error) {
	store, err := a.hooks()
	if err != nil {
		return nil, err
	}
	return store.All(task)
}

func (a hookCmd) listHooks(_ context.Context, task string) error {
	hooks, err := a.hooksOf(task)
	if err != nil {
		return err
	}
	rows := []document.HookRow{}
	var body strings.Builder
	for _, h := range hooks {
		metadata := map[string]any{"type": h.Spec.Type}
		for k, v := range h.Metadata {
			metadata[k] = v
		}
		rows = append(rows, document.HookRow{ID: h.ID, TaskID: h.TaskID, Enabled: h.Enabled, Metadata: metadata, Spec: h.Spec})
		off := ""
		if !h.Enabled {
			off = "  (disabled)"
		}
		fmt.Fprintf(&body, "%s  %-12s %s%s\n", h.ID, text.Clause(h.TaskID, 64), h.Spec.Type, off)
	}
	return a.sayHook(document.HookList{TaskID: task, Count: len(rows), Hooks: rows}, "%s", body.String())
}

func (a hookCmd) hookMetrics(_ context.Context, task string) error {
	hooks, err := a.hooksOf(task)
	if err != nil {
		return err
	}
	rows := []document.HookMetricsRow{}
	var body strings.Builder
	for _, h := range hooks {
		m := h.Metrics
		mean := time.Duration(0)
		if m.Evaluations > 0 {
			mean = m.Took / time.Duration(m.Evaluations)
		}
		rows = append(rows, document.HookMetricsRow{ID: h.ID, TaskID: h.TaskID, Type: h.Spec.Type, Evaluations: m.Evaluations, Complete: m.Complete,
			Continue: m.Continue, Escalate: m.Escalate, Failed: m.Failed, Mean: mean.Milliseconds()})
		fmt.Fprintf(&body, "%s  %-12s %-14s asked %d: complete %d, continue %d, escalate %d (failed %d), %s each\n", h.ID, text.Clause(h.TaskID, 64), h.Spec.Type,
			m.Evaluations, m.Complete, m.Continue, m.Escalate, m.Failed, mean.Round(time.Millisecond))
	}
	return a.sayHook(document.HookMetrics{TaskID: task, Hooks: rows}, "%s", body.String())
}

func (a hookCmd) clearHooks(ctx context.Context, task string) error {
	store, err := a.hooks()
	if err != nil {
		return err
	}
	cleared := 0
	err = store.Change(ctx, func(hooks []registry.Hook) ([]registry.Hook, error) {
		left := slices.DeleteFunc(slices.Clone(hooks), func(h registry.Hook) bool { return h.TaskID == task })
		cleared = len(hooks) - len(left)
		return left, nil
	})
	if err != nil {
		return err
	}
	return a.sayHook(document.HooksCleared{TaskID: task, Cleared: cleared}, "%d %s cleared\n", cleared, cli.Plural(cleared, "hook", "hooks"))
}

func (a hookCmd) switchHook(ctx context.Context, id string, on bool) error {
	store, err := a.hooks()
	if err != nil {
		return err
	}
	err = store.Change(ctx, func(hooks []registry.Hook) ([]registry.Hook, error) {
		i := slices.IndexFunc(hooks, func(h registry.Hook) bool { return h.ID == id })
		if i < 0 {
			return nil, fmt.Errorf("%s: %w", id, registry.ErrNotFound)
		}
		hooks[i].Enabled = on
		return hooks, nil
	})
	if err != nil {
		return hookError(err)
	}
	return a.sayHook(document.HookSwitched{ID: id, Enabled: on}, "%s enabled: %t\n", id, on)
}
