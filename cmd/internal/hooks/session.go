package hooks

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/document"
	"github.com/beadsorch/orch/cmd/internal/project"
	"github.com/beadsorch/orch/cmd/internal/workspace"
	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/text"
	"github.com/beadsorch/orch/stophook/session"
)

// sessionCmd is what clients call, and what binds their sessions.
type sessionCmd struct {
	app    *cli.Invocation
	inside Inside // of the clients' hooks; nil for others
}

// Inside reports whether the process comes from inside an attempt that orch started in the
// repository of a folder.
type Inside func(ctx context.Context, dir string) bool

// inAttempt reports whether an agent that orch started calls the hook, whose sessions are none that
// a person has bound.
func (a sessionCmd) inAttempt(ctx context.Context, project string) bool {
	return a.app.Getenv("ORCH_ATTEMPT") != "" || a.inside(ctx, project)
}

// sessionFlag names a client's session.
type sessionFlag struct{ id string }

// of is the session that is meant: the flag's, else the one that the command was
// called from.
func (f sessionFlag) of(a *cli.Invocation) string {
	return cmp.Or(string([]rune(f.id)), workspace.SessionID(a)) // as JSON has it
}

// InClient reports whether an agent's client has started this process, by the variables that
// clients set: the command is then given by a model, whatever terminal it sees.
func InClient(a *cli.Invocation) bool {
	for _, name := range append(workspace.SessionVariables(), "CLAUDECODE", "GEMINI_CLI", "COPILOT_CLI", "CODEX_SANDBOX", "AI_AGENT") {
		if a.Getenv(name) != "" {
			return true
		}
	}
	return false
}

// knowSecrets adds the variables that the settings call secret, for a command, or an error, that needs nothing else of them.
func knowSecrets(a *cli.Invocation) {
	root, _ := session.Repository(a.Dir)
	project.KnowSecrets(a, root, workspace.Kinds())
}

// Session is the command orch session.
func Session(app *cli.Invocation) *cobra.Command {
	a := sessionCmd{app: app}
	c := &cobra.Command{Use: "session", Short: "bind a client's session to an epic, or let it go", Args: cli.AtMost(0, "a verb"),
		RunE: a.app.Group}
	var f sessionFlag
	bind := &cobra.Command{
		Use:   "bind EPIC",
		Short: "have the stop hook keep a session at work on an epic; prints its prompt",
		Args:  cli.Exactly(1, "an epic"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.bind(c.Context(), epic.TaskID(args[0]), f.of(a.app))
		},
	}
	release := &cobra.Command{
		Use:   "release",
		Short: "let a session end whenever it wants",
		Args:  cli.AtMost(0, "no argument"),
		RunE:  func(c *cobra.Command, _ []string) error { return a.release(c.Context(), f.of(a.app)) },
	}
	list := &cobra.Command{
		Use:   "list",
		Short: "the sessions that are bound here",
		Args:  cli.AtMost(0, "no argument"),
		RunE:  func(*cobra.Command, []string) error { return a.listSessions() },
	}
	for _, verb := range []*cobra.Command{bind, release} {
		verb.Flags().StringVar(&f.id, "session", "", "the client's `id` of the session; by default the one that this is called from")
	}
	c.AddCommand(bind, release, list)
	return c
}

// noSession is the error of a command that needs a session, outside of one.
func noSession() error {
	return &cli.Error{Code: "NO_SESSION", What: "this is not called from within a client's session", Exit: cli.ExitUsage,
		Why: "neither the client's variable (CLAUDE_CODE_SESSION_ID, CODEX_SESSION_ID, COPILOT_AGENT_SESSION_ID) nor --session names one", Fix: []string{"type /run-tasks EPIC in the client", "orch session bind EPIC --session ID"}}
}

func (a sessionCmd) bind(ctx context.Context, epicID epic.TaskID, id string) error {
	if id == "" {
		return noSession()
	}
	w, err := workspace.Read(ctx, a.app)
	if err == nil {
		err = a.app.RefuseSecrets("the session's id", id)
	}
	if err != nil {
		return err
	}
	prompt, err := bindSession(ctx, w, epicID, id, "")
	if err != nil {
		return err
	}
	a.app.Print(document.SessionBound{Session: id, Epic: string(epicID), Prompt: prompt}, prompt)
	return nil
}

// bindSession has the stop hook keep a session at work on an epic, and gives its prompt.
func bindSession(ctx context.Context, w *workspace.Workspace, epicID epic.TaskID, id, clientName string) (prompt string, err error) {
	if _, err := w.FindEpic(ctx, epicID); err != nil {
		return "", err
	}
	if prompt, err = runTasks(w, string(epicID), clientName); err != nil {
		return "", err
	}
	path := session.File(filepath.Dir(w.Project.Home), id)
	return prompt, changeSession(ctx, path, id, func(s session.Session, _ bool) (session.Session, error) {
		return s.Bind(id, string(epicID)), nil
	})
}

// Known has orch keep a session that works on an epic without being bound to it, so that its end is
// noticed; one that had ended goes on.
func Known(ctx context.Context, w *workspace.Workspace, id string) error {
	return changeSession(ctx, session.File(filepath.Dir(w.Project.Home), id), id, func(s session.Session, _ bool) (session.Session, error) {
		s.ID, s.Ended = id, false
		return s, nil
	})
}

func (a sessionCmd) release(ctx context.Context, id string) error {
	if id == "" {
		return noSession()
	}
	knowSecrets(a.app)
	_, common := session.Repository(a.app.Dir)
	path := session.File(common, id)
	var s session.Session
	err := changeSession(ctx, path, id, func(now session.Session, ok bool) (session.Session, error) {
		if !ok {
			return now, &cli.Error{Code: "NOT_BOUND", What: "session " + text.Clause(id, 64) + " is bound to no epic here", Exit: cli.ExitNotFound, Fix: []string{"orch session list"}}
		}
		now.Cancelled = true
		s = now
		return now, nil
	})
	if err != nil {
		return err
	}
	a.app.Print(document.SessionReleased{Session: id, Epic: s.Epic, Released: true}, fmt.Sprintf("session %s may end when it wants; /run-tasks %s binds it again\n", shownID(id), s.Epic))
	return nil
}

// shownID is an id from outside as a person is shown it.
func shownID(id string) string { return text.Clause(id, 64) }

func (a sessionCmd) listSessions() error {
	root, common := session.Repository(a.app.Dir)
	sessions, err := session.All(common)
	if err != nil {
		return err
	}
	tasks := a.tasksOf(root, common)
	if a.app.JSON {
		cli.WriteJSON(a.app.Stdout, document.Sessions{Sessions: sessions, Tasks: tasks})
		return nil
	}
	for _, s := range sessions {
		state := fmt.Sprintf("sent back %d times", s.Blocks)
		switch {
		case s.Ended:
			state += ", has ended"
		case s.Cancelled:
			state = "released"
		case !s.Ending.IsZero():
			state += fmt.Sprintf(", was let go %s ago  [%s] %s", cli.FormatDuration(a.app.Now().Sub(s.Ending.At)), s.Ending.Cause, text.Clause(s.Ending.Why, 1000))
		}
		fmt.Fprintf(a.app.Stdout, "%s  %s  %s\n", shownID(s.ID), shownID(cmp.Or(s.Epic, "-")), state)
	}
	for _, t := range tasks {
		hands := "in the hands of " + workspace.HolderName(t.Holder)
		if t.Gone != "" {
			hands = fmt.Sprintf("was in the hands of %s, which is gone: %s; the next run or orch next takes it up", t.Holder, t.Gone)
		}
		fmt.Fprintf(a.app.Stdout, "%s  attempt %d  %s\n", t.Task, t.Attempt, hands)
	}
	return nil
}

// tasksOf lists what sessions work on, in all epics whose journal can be read.
func (a sessionCmd) tasksOf(root, common string) (tasks []document.SessionTask) {
	w := workspace.OpenForHook(a.app, root, common)
	dirs, err := w.Epics()
	if err != nil {
		return nil
	}
	for _, dir := range dirs {
		p, err := w.ViewIn(dir)
		if err != nil {
			continue // orch status says why
		}
		for _, t := range p.State.Tasks {
			if at := t.Last(); at.InSession && at.Open() {
				tasks = append(tasks, document.SessionTask{Task: t.ID, Attempt: at.Number, Holder: at.Holder, Gone: p.Workspace.SessionGone(p.State.Epic)(t, at)})
			}
		}
	}
	return tasks
}
