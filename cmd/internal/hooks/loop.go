package hooks

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/document"
	"github.com/beadsorch/orch/cmd/internal/project"
	"github.com/beadsorch/orch/cmd/internal/trust"
	"github.com/beadsorch/orch/cmd/internal/trust/plan"
	"github.com/beadsorch/orch/cmd/internal/workspace"
	"github.com/beadsorch/orch/orchestrator/fault"
	"github.com/beadsorch/orch/orchestrator/git"
	"github.com/beadsorch/orch/orchestrator/text"
	"github.com/beadsorch/orch/orchestrator/validation"
	"github.com/beadsorch/orch/stophook"
	"github.com/beadsorch/orch/stophook/session"
)

// loopCmd is the commands of a session's own loop.
type loopCmd struct{ app *cli.Invocation }

// loopCommands holds the commands that measure a loop's criteria, by criterion.
const loopCommands = trust.LoopCommands

// loopIgnored keeps a loop out of the commits of the work that it is about.
const loopIgnored = ".loop/.gitignore"

// criterionTime is how long the command of one criterion may take.
const criterionTime = 10 * time.Minute

// Loop is the command orch loop.
func Loop(app *cli.Invocation) *cobra.Command {
	a := loopCmd{app}
	c := &cobra.Command{Use: "loop", Short: "a session's own loop, which ends when its criteria hold: .loop/state.json", Args: cli.AtMost(0, "a verb"),
		RunE: a.app.Group}
	c.AddCommand(startCommand(a), verifyCommand(a), takeCommand(a),
		loopVerb(a, "status", "how the loop stands", cli.AtMost(0, "no argument"), func(*stophook.CriteriaLoop, []string) error { return nil }),
		loopVerb(a, "step [STEP]", "a step is done; the first that remains by default", cli.AtMost(1, "at most one step"), func(l *stophook.CriteriaLoop, args []string) error {
			return l.CompleteStep(a.app.Redact.String(strings.Join(args, " ")))
		}),
		loopVerb(a, "cancel", "end the loop; its progress is kept", cli.AtMost(0, "no argument"), func(l *stophook.CriteriaLoop, _ []string) error { l.Status = stophook.LoopCancelled; return nil }),
		loopVerb(a, "set CRITERION true|false", "say by hand whether a criterion holds", cli.Exactly(2, "a criterion, and true or false"), a.setCriterion),
	)
	return c
}

func (a loopCmd) setCriterion(l *stophook.CriteriaLoop, args []string) error {
	if args[1] != "true" && args[1] != "false" {
		return cli.Usage("orch loop set takes a criterion, and true or false")
	}
	return l.SetCriterion(a.app.Redact.String(args[0]), args[1] == "true")
}

// loopVerb is a command that changes the loop and shows it.
func loopVerb(a loopCmd, use, short string, takes cobra.PositionalArgs, change func(*stophook.CriteriaLoop, []string) error) *cobra.Command {
	return &cobra.Command{Use: use, Short: short, Args: takes, RunE: func(_ *cobra.Command, args []string) error {
		return a.changeLoop(func(l *stophook.CriteriaLoop) error { return change(l, args) }, use != "status")
	}}
}

func startCommand(a loopCmd) *cobra.Command {
	var criteria, steps []string
	var force bool
	c := &cobra.Command{
		Use:   `start "SPEC"`,
		Short: "begin a loop",
		Long: `Start writes .loop/state.json. A criterion is a name, or a name with the command
that measures it: --criterion "tests pass=go test ./...". Called from within a
session, the loop is that session's alone.`,
		Example: `  orch loop start "add login" --criterion "tests pass=go test ./..." --criterion "reviewed" --step model --step handler`,
		Args:    cli.Exactly(1, "what is to be done"),
		RunE: func(_ *cobra.Command, args []string) error {
			return a.startLoop(args[0], criteria, steps, force)
		},
	}
	c.Flags().StringArrayVar(&criteria, "criterion", nil, "what has to hold at the end; with =COMMAND what measures it")
	c.Flags().StringArrayVar(&steps, "step", nil, "a step on the way")
	c.Flags().BoolVar(&force, "force", false, "give up the loop that is active here")
	return c
}

// LoopDir is the folder whose loop is meant: in the worktree that orch has given to an agent that
// worktree, elsewhere the repository's, else the one that the command was called in.
func LoopDir(a *cli.Invocation) string {
	if own := a.Getenv("ORCH_WORKTREE"); own != "" && a.Getenv("ORCH_ATTEMPT") != "" {
		dir, err := filepath.Abs(a.Dir)
		if rel, relErr := filepath.Rel(own, dir); err == nil && relErr == nil && filepath.IsLocal(rel) {
			return own
		}
	}
	root, _ := session.Repository(a.Dir)
	return cmp.Or(root, a.Dir)
}

func (a loopCmd) startLoop(spec string, criteria, steps []string, force bool) error {
	knowSecrets(a.app)
	if len(criteria) == 0 {
		return cli.Usage("a loop has at least one --criterion")
	}
	path := filepath.Join(LoopDir(a.app), session.LoopFile)
	switch l, err := stophook.ReadCriteriaLoop(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return loopError(err)
	case l.Status == stophook.LoopInProgress && !force:
		return &cli.Error{Code: "LOOP_ACTIVE", What: "a loop is active here: " + text.Cut(text.Clause(l.Spec, 200), 60), Exit: cli.ExitHeld,
			Fix: []string{"orch loop status", "orch loop cancel", "orch loop start --force gives it up"}}
	}
	commands, names := map[string]string{}, []string{}
	for _, c := range criteria {
		name, command, _ := strings.Cut(c, "=")
		if err := a.app.RefuseSecrets("the command of a criterion", command); err != nil {
			return err
		}
		name = a.app.Redact.String(strings.TrimSpace(name))
		names = append(names, name)
		if command = strings.TrimSpace(command); command != "" {
			commands[name] = command
		}
	}
	for n := range steps {
		steps[n] = a.app.Redact.String(steps[n])
	}
	body, err := json.MarshalIndent(commands, "", "  ")
	if err != nil {
		return fmt.Errorf("writing the loop's commands: %w", err)
	}
	l := stophook.NewCriteriaLoop(a.app.Redact.String(spec), names, append([]string{}, steps...))
	if err := l.Write(path); err != nil {
		return err
	}
	for name, body := range map[string][]byte{loopCommands: append(body, '\n'), loopIgnored: []byte("*\n")} {
		if err := os.WriteFile(filepath.Join(LoopDir(a.app), name), body, 0o600); err != nil {
			return fmt.Errorf("writing the loop's commands: %w", err)
		}
	}
	if err := session.Save(filepath.Join(LoopDir(a.app), loopSession), session.Session{ID: sessionFlag{}.of(a.app)}); err != nil {
		return err
	}
	return a.sayLoop(l)
}

func takeCommand(a loopCmd) *cobra.Command {
	var f sessionFlag
	c := &cobra.Command{
		Use:   "take",
		Short: "have the loop hold this session, in place of the one that began it",
		Args:  cli.AtMost(0, "no argument"),
		RunE: func(*cobra.Command, []string) error {
			return a.changeLoop(func(*stophook.CriteriaLoop) error { return a.takeLoop(f.of(a.app)) }, false)
		},
	}
	c.Flags().StringVar(&f.id, "session", "", "the client's `id` of the session; by default the one that this is called from")
	return c
}

// takeLoop gives the loop to a session. One that has it already keeps its counts.
func (a loopCmd) takeLoop(id string) error {
	if id == "" {
		return noSession()
	}
	if err := a.app.RefuseSecrets("the session's id", id); err != nil {
		return err
	}
	path := filepath.Join(LoopDir(a.app), loopSession)
	s, err := readLoopSession(path)
	if err != nil || s.ID == id {
		return err
	}
	return session.Save(path, session.Session{ID: id})
}

func loopError(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &cli.Error{Code: "NO_LOOP", What: "no loop is active here", Exit: cli.ExitNotFound, Fix: []string{`orch loop start "SPEC" --criterion NAME=COMMAND`}}
	case errors.Is(err, session.ErrState):
		return &cli.Error{Code: "LOOP_DAMAGED", What: session.LoopFile + " cannot be read; it is left as it is", Why: err.Error(), Exit: cli.ExitFailed, Err: err, Fix: []string{"mend it, or move it away"}}
	case errors.Is(err, stophook.ErrNoSuch):
		return &cli.Error{Code: "NOT_FOUND", What: err.Error(), Exit: cli.ExitNotFound, Err: err, Fix: []string{"orch loop status"}}
	}
	return err
}

func (a loopCmd) changeLoop(change func(*stophook.CriteriaLoop) error, write bool) error {
	knowSecrets(a.app)
	path := filepath.Join(LoopDir(a.app), session.LoopFile)
	l, err := stophook.ReadCriteriaLoop(path)
	if err == nil {
		err = change(&l)
	}
	if err == nil && write {
		err = l.Write(path)
	}
	if err != nil {
		return loopError(err)
	}
	return a.sayLoop(l)
}

func verifyCommand(a loopCmd) *cobra.Command {
	return &cobra.Command{
		Use:   "verify",
		Short: "run the criteria's commands, and say what is true",
		Long: `Verify runs each criterion's command in the project, one after the other, and
writes down which hold. Criteria without a command stay as they were set. It ends
an iteration; when all hold the loop is completed.`,
		Args: cli.AtMost(0, "no argument"),
		RunE: func(c *cobra.Command, _ []string) error {
			return a.changeLoop(func(l *stophook.CriteriaLoop) error { return a.verifyLoop(c.Context(), l) }, true)
		},
	}
}

func (a loopCmd) verifyLoop(ctx context.Context, l *stophook.CriteriaLoop) error {
	if l.Status != stophook.LoopInProgress {
		return nil
	}
	commands := map[string]string{}
	body, err := os.ReadFile(filepath.Join(LoopDir(a.app), loopCommands))
	if err == nil {
		err = json.Unmarshal(body, &commands)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("reading the loop's commands: %w", err)
	}
	if err := a.trusted(ctx, l, commands); err != nil {
		return err
	}
	cfg, _, err := project.Settings(a.app.Process, LoopDir(a.app), workspace.Kinds())
	if err != nil {
		return err
	}
	sys, env := a.app.System(""), project.GateEnv(a.app.Process, cfg)
	for _, name := range l.Criteria {
		command := commands[name]
		if command == "" {
			continue
		}
		rule := validation.Rule{Name: name, Type: validation.Command, Command: command, Timeout: criterionTime}
		v, err := validation.Judge(ctx, sys.RunGuarded, []validation.Rule{rule}, validation.Input{Dir: LoopDir(a.app), Env: env, Now: a.app.Now})
		if err == nil {
			err = fault.Of(v.Err())
		}
		if err != nil {
			return err
		}
		if err := l.SetCriterion(name, v.Passed); err != nil {
			return err
		}
		if !v.Passed && !a.app.JSON {
			a.app.PrintVerdict(v)
		}
	}
	l.EndIteration()
	if l.ExitSignal {
		l.Status = stophook.LoopCompleted
	}
	return nil
}

// trusted lets the commands of criteria run that a person has confirmed. It fails with the
// error UNTRUSTED.
func (a loopCmd) trusted(ctx context.Context, l *stophook.CriteriaLoop, commands map[string]string) error {
	var items []plan.Item
	for _, name := range l.Criteria {
		if commands[name] != "" {
			items = append(items, trust.LoopItem(name, commands[name]))
		}
	}
	if len(items) == 0 {
		return nil
	}
	w, err := workspace.Open(ctx, a.app)
	if errors.Is(err, git.ErrNotRepository) {
		q, err := trust.AskFolder(a.app, LoopDir(a.app))
		if err != nil {
			return err
		}
		return q.RequireItems(items)
	}
	if err != nil {
		return err
	}
	q, err := trust.Ask(ctx, w.Project, "HEAD")
	if err != nil {
		return err
	}
	return q.RequireItems(items)
}

func (a loopCmd) sayLoop(l stophook.CriteriaLoop) error {
	if a.app.JSON {
		cli.WriteJSON(a.app.Stdout, document.Loop{Loop: l, Unmet: l.Unmet()})
		return nil
	}
	fmt.Fprintf(a.app.Stdout, "%s  (%s, iteration %d)\n", text.Clause(l.Spec, 200), l.Status, l.Iteration)
	for _, c := range l.Criteria {
		mark := "✗"
		if l.CriteriaStatus[c] {
			mark = "✓"
		}
		fmt.Fprintf(a.app.Stdout, " %s %s\n", mark, text.Clause(c, 200))
	}
	if len(l.Steps) > 0 {
		next := "none"
		if len(l.RemainingSteps) > 0 {
			next = text.Clause(l.RemainingSteps[0], 200)
		}
		fmt.Fprintf(a.app.Stdout, "   %d of %d steps done; next: %s\n", len(l.CompletedSteps), len(l.Steps), next)
	}
	if n := l.CircuitBreaker.StuckCount; n > 0 {
		fmt.Fprintf(a.app.Stdout, "   %q has come first of those unmet %d times in a row; at 5 the session may end\n", l.CircuitBreaker.LastUnmet, n+1)
	}
	if l.Status == stophook.LoopCompleted {
		fmt.Fprintln(a.app.Stdout, "<loop-complete>")
	}
	return nil
}
