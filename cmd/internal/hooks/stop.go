// Package hooks is what agent clients call, and what holds their sessions: the stop hook, the
// binding of sessions, a session's own loop, and the hooks of tasks.
package hooks

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/document"
	"github.com/beadsorch/orch/cmd/internal/trust/plan"
	"github.com/beadsorch/orch/cmd/internal/workspace"
	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/reason"
	"github.com/beadsorch/orch/orchestrator/text"
	"github.com/beadsorch/orch/stophook"
	"github.com/beadsorch/orch/stophook/client"
	"github.com/beadsorch/orch/stophook/copilot"
	"github.com/beadsorch/orch/stophook/session"
)

// StopHook is the command orch stop-hook.
func StopHook(app *cli.Invocation, inside Inside) *cobra.Command {
	a := sessionCmd{app: app, inside: inside}
	var explain bool
	var simulate, name string
	c := &cobra.Command{
		Use:   "stop-hook [EPIC]",
		Short: "a client's stop hook: state decides whether the session may end",
		Long: `Stop-hook reads what a client tells its stop hook, and prints either nothing, and
the session may end, or one JSON object that sends it back to work. It decides by
the tracker and by git, and only for sessions that were bound: to an epic, by
/run-tasks or orch session bind; or to the criteria in .loop/state.json. With EPIC it
binds every session that stops here to that epic, but those that are bound or were
released. Whatever goes wrong, also with its own arguments, it lets the session end
and says so on standard error.`,
		Args: cli.AtMost(1, "an epic"),
		RunE: func(c *cobra.Command, args []string) error {
			if simulate != "" {
				f, err := os.Open(simulate)
				if err != nil {
					return &cli.Error{Code: "NO_INPUT", What: "there is no such input", Why: err.Error(), Exit: cli.ExitNotFound, Fix: []string{"orch stop-hook --simulate FILE, with the JSON that a client sends"}}
				}
				defer f.Close()
				a.app.Stdin, explain = f, true
			}
			how := caller{client: name}
			if len(args) > 0 {
				how.epic = epic.TaskID(args[0])
			}
			return a.stopHook(c.Context(), how, explain)
		},
	}
	c.Flags().StringVar(&name, "client", "claude", "the `client` that calls: "+workspace.HookedNames())
	c.Flags().BoolVar(&explain, "explain", false, "say how it would decide, and change nothing")
	c.Flags().StringVar(&simulate, "simulate", "", "as --explain, for the input in this `file`")
	return c
}

// caller is what the command line of a hook says: which client calls it, and the epic that it binds
// sessions to, "" for none.
type caller struct {
	client string
	epic   epic.TaskID
}

// stop is one decision with what it was made from.
type stop struct {
	in     session.Input
	client client.Client
	answer stophook.Decision
	prompt string             // the text for a session that is blocked
	epic   *stophook.Standing // nil for a session that no epic is bound to, or whose epic cannot be read
	// settle decides anew, by what is kept of the session now, and keeps the count; nil when
	// nothing is kept. It fails where it cannot, and then nothing may be said to be blocked.
	settle func(context.Context) (stophook.Decision, error)
	// keep keeps how the session was let go; nil where nothing is kept of it.
	keep      func(context.Context, session.Ending) error
	uncounted bool // it is blocked, and nothing is kept of that
	// programs are registered to be run in the work that is left.
	programs []plan.Item
	// allowed fails with the error UNTRUSTED where nobody has allowed one of the programs.
	allowed func(context.Context) error
}

// count decides anew, by what is kept now, and keeps that. A session with work left that cannot be
// counted, since another stop of its own is being counted just now, is held all the same.
func (s *stop) count(ctx context.Context) error {
	answer, err := s.settle(ctx)
	if errors.Is(err, errBusy) && s.answer.Block {
		s.uncounted = true
		return nil
	}
	if s.answer = answer; err != nil {
		return err
	}
	return s.letGo(ctx)
}

// letGo lets a session end that would be sent back to what is refused. It fails where it cannot
// be found out what is allowed.
func (s *stop) letGo(ctx context.Context) error {
	if !s.answer.Block || len(s.programs) == 0 {
		return nil
	}
	err := s.allowed(ctx)
	var refused *cli.Error
	if !errors.As(err, &refused) || refused.Code != string(reason.Untrusted) {
		return err
	}
	s.answer.Block, s.answer.NewSession, s.answer.Cause, s.settle = false, false, stophook.Untrusted, nil
	const named = 3
	var names []string
	for _, i := range s.programs[:min(len(s.programs), named)] {
		names = append(names, text.Clause(fmt.Sprintf("%s %s: %s", i.Kind, i.Name, i.Text), 200))
	}
	if more := len(s.programs) - named; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	s.answer.Why = refused.What + ": " + strings.Join(names, "; ") + "; orch trust shows what would run, and asks"
	return nil
}

func (a sessionCmd) stopHook(ctx context.Context, how caller, explain bool) error {
	ctx, cancel := context.WithTimeout(ctx, stophook.Timeout)
	defer cancel()
	s, err := inTime(ctx, func() (stop, error) {
		s, err := a.decideStop(ctx, how, explain)
		if err == nil {
			err = s.letGo(ctx)
		}
		if err == nil && s.settle != nil && !explain {
			err = s.count(ctx)
		}
		if err == nil && s.keep != nil && !s.answer.Block && s.answer.Cause.Abandons() && !explain {
			err = s.keep(ctx, session.Ending{Cause: string(s.answer.Cause), Why: a.app.Redact.String(s.answer.Why), At: a.app.Now().UTC()})
		}
		return s, err
	})
	if explain {
		return a.explainStop(s, err)
	}
	if err != nil { // it fails open: a session must not hang on a hook
		knowSecrets(a.app)
		fmt.Fprintf(a.app.Stderr, "orch stop-hook: %s; the session may end\n", text.Head(err.Error()))
		return nil
	}
	if s.uncounted {
		fmt.Fprintf(a.app.Stderr, "orch stop-hook: not counted: %s\n", errBusy)
	}
	if s.answer.Block {
		return json.NewEncoder(a.app.Stdout).Encode(s.client.Block(s.prompt, s.answer.NewSession))
	}
	if s.answer.Cause.Abandons() && s.client.Tell != nil {
		if err := json.NewEncoder(a.app.Stdout).Encode(s.client.Tell(fmt.Sprintf("orch let the session end  [%s] %s", s.answer.Cause, s.answer.Why))); err != nil {
			return fmt.Errorf("telling the person: %w", err)
		}
	}
	if s.answer.Cause != stophook.NotBound && s.answer.Cause != stophook.Attempt {
		fmt.Fprintf(a.app.Stderr, "orch stop-hook: the session may end  [%s] %s\n", s.answer.Cause, s.answer.Why)
	}
	return nil
}

// overtime is how much longer than its context a hook may take, to end what it has begun.
const overtime = 300 * time.Millisecond

// inTime does what a hook does, and gives up on it soon after ctx has ended, whatever it waits
// for: then the program ends, and it with it.
func inTime[T any](ctx context.Context, do func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := do()
		done <- result{value, err}
	}()
	late := make(chan struct{})
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(overtime, func() { close(late) }) })
	defer stop()
	select {
	case r := <-done:
		return r.value, r.err
	case <-late:
		var none T
		return none, fmt.Errorf("it takes too long: %w", context.Cause(ctx))
	}
}

func (a sessionCmd) explainStop(s stop, err error) error {
	if err != nil {
		return &cli.Error{Code: "HOOK_FAILS_OPEN", What: "the hook lets the session end, since it cannot decide", Why: err.Error(), Exit: cli.ExitFailed, Err: err, Fix: []string{"orch doctor"}}
	}
	if a.app.JSON {
		doc := document.Stop{Session: s.in.Session, Block: s.answer.Block, Verdict: s.answer.Cause, Why: s.answer.Why,
			Prompt: s.prompt, Counts: s.answer.Session}
		if s.epic != nil {
			doc.Promise = s.epic.Promise
		}
		cli.WriteJSON(a.app.Stdout, doc)
		return nil
	}
	word := "may end"
	if s.answer.Block {
		word = "is sent back to work"
	}
	fmt.Fprintf(a.app.Stdout, "session %s %s  [%s] %s\n", cmp.Or(shownID(s.in.Session), "(none)"), word, s.answer.Cause, text.Clause(s.answer.Why, 1000))
	if c := s.answer.Session; c.Epic != "" || c.Blocks > 0 {
		fmt.Fprintf(a.app.Stdout, "  epic %s, sent back %d times, %d stops without progress\n", cmp.Or(shownID(c.Epic), "-"), c.Blocks, c.NoProgress)
	}
	if s.answer.Block {
		fmt.Fprintf(a.app.Stdout, "\n%s\n", s.prompt)
	}
	return nil
}

// decideStop finds out which binding applies, by facts, and decides by it.
func (a sessionCmd) decideStop(ctx context.Context, how caller, explain bool) (stop, error) {
	in, err := readInput(ctx, a.app.Process)
	if err != nil {
		return stop{}, err
	}
	s := stop{in: in, answer: stophook.Decision{Cause: stophook.NotBound, Why: "neither an epic nor a loop is bound to this session"}}
	project := session.Project(in, a.app.Getenv, a.app.Dir)
	if a.inAttempt(ctx, project) {
		s.answer = stophook.Decision{Cause: stophook.Attempt, Why: "orch started this agent, and judges its work itself"}
		return s, nil
	}
	root, common := session.Repository(project)
	var ours bool
	if s.client, ours, err = a.caller(how.client, cmp.Or(root, project)); err != nil || !ours {
		return s, err
	}
	if common != "" && in.Session != "" {
		path := session.File(common, in.Session)
		bound, ok, err := session.Load(path, in.Session)
		if err != nil {
			return s, err
		}
		if how.epic != "" && bound.Epic == "" && !bound.Cancelled {
			if bound, ok = bound.Bind(in.Session, string(how.epic)), true; !explain {
				err = a.bindStopped(ctx, how.epic, in.Session, cmp.Or(root, project))
			}
			if err != nil {
				return s, err
			}
		}
		if ok && bound.Epic != "" {
			return a.decideEpic(ctx, s, bound, workspace.OpenForHook(a.app, root, common), path)
		}
	}
	return a.decideLoop(s, cmp.Or(root, project))
}

// bindStopped binds a session that wants to stop, as [sessionCmd.bind] does.
func (a sessionCmd) bindStopped(ctx context.Context, epicID epic.TaskID, id, folder string) error {
	app := a.app.InDir(folder)
	defer app.End()
	w, err := workspace.Read(ctx, app)
	if err != nil {
		return err
	}
	_, err = bindSession(ctx, w, epicID, id, "")
	return err
}

// caller is the client that a hook is called by: the one that the hook's command names.
// Copilot CLI runs the hooks of Claude Code as well; where it has orch's of its own, those
// are not its business, and ok is false.
func (a sessionCmd) caller(name, project string) (k client.Client, ok bool, err error) {
	if name == "claude" && a.app.Getenv(copilot.Variable) != "" {
		if cli.Exists(filepath.Join(project, copilot.HooksFile)) {
			return client.Client{}, false, nil
		}
		name = "copilot"
	}
	k, err = workspace.HookedClient(name)
	return k, err == nil, err
}

// limits are a client's limits and abilities.
func limits(k client.Client) stophook.ClientCaps {
	return stophook.ClientCaps{MaxBlocks: k.MaxBlocks, NewSession: k.Fresh}
}

// readInput reads the client's words, and gives up when they do not come.
func readInput(ctx context.Context, p cli.Process) (session.Input, error) {
	type read struct {
		in  session.Input
		err error
	}
	done := make(chan read, 1)
	go func() {
		in, err := session.ReadInput(p.Stdin)
		done <- read{in, err}
	}()
	select {
	case r := <-done:
		return r.in, r.err
	case <-ctx.Done():
		return session.Input{}, fmt.Errorf("waiting for the client's input: %w", context.Cause(ctx))
	}
}
