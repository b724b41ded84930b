package hooks

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/explain"
	"github.com/beadsorch/orch/cmd/internal/workspace"
	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/text"
	"github.com/beadsorch/orch/stophook"
	"github.com/beadsorch/orch/stophook/client"
	"github.com/beadsorch/orch/stophook/session"
)

// What a client's session is sent at its events other than stops. Each command is a hook,
// and fails open: whatever goes wrong, it says so on standard error, with exit 0.

// SessionStart is the command orch session-start.
func SessionStart(app *cli.Invocation, inside Inside) *cobra.Command {
	a := sessionCmd{app: app, inside: inside}
	return a.event("session-start", "a client's hook for a session that starts, resumes or was compacted",
		`Session-start tells a bound session again what it is at, after a resume or a
compaction, and announces an active loop. For any other session it prints nothing.`, "SessionStart", a.announcement)
}

// SessionEnd is the command orch session-end.
func SessionEnd(app *cli.Invocation, inside Inside) *cobra.Command {
	a := sessionCmd{app: app, inside: inside}
	return a.event("session-end", "a client's hook for a session that ends",
		`Session-end notes that the session is over, so that what it was handed is free for
others at once. It prints nothing.`, "SessionEnd", a.ended)
}

// ended notes that a session is over, where orch knows of it.
func (a sessionCmd) ended(ctx context.Context, in session.Input, project string) (string, error) {
	_, common := session.Repository(project)
	if common == "" || in.Session == "" || !session.MayApply(in, project) {
		return "", nil
	}
	return "", changeSession(ctx, session.File(common, in.Session), in.Session, func(s session.Session, ok bool) (session.Session, error) {
		s.Ended = ok
		return s, nil
	})
}

// SessionPrompt is the command orch session-prompt.
func SessionPrompt(app *cli.Invocation, inside Inside) *cobra.Command {
	a := sessionCmd{app: app, inside: inside}
	return a.event("session-prompt", "a client's hook for a prompt that a person has typed",
		`Session-prompt binds the session when the prompt is /run-tasks EPIC or $run-tasks EPIC,
and adds what the session has to do. For any other prompt it prints nothing.`, "UserPromptSubmit", a.promptBinding)
}

// event is a hook that may add a text to the session, "" for none.
func (a sessionCmd) event(use, short, long, event string, says func(context.Context, session.Input, string) (string, error)) *cobra.Command {
	var name string
	c := &cobra.Command{Use: use, Short: short, Long: long, Args: cli.AtMost(0, "no argument"), RunE: func(c *cobra.Command, _ []string) error {
		ctx, cancel := context.WithTimeout(c.Context(), stophook.Timeout)
		defer cancel()
		var k client.Client
		var in session.Input
		said, err := inTime(ctx, func() (said string, err error) {
			var callErr error
			var ours bool
			in, err = readInput(ctx, a.app.Process)
			project := session.Project(in, a.app.Getenv, a.app.Dir)
			root, _ := session.Repository(project)
			k, ours, callErr = a.caller(name, cmp.Or(root, project))
			if err = errors.Join(err, callErr); err == nil && ours && !a.inAttempt(ctx, project) {
				said, err = says(ctx, in, project)
			}
			return said, err
		})
		if err != nil {
			fmt.Fprintf(a.app.Stderr, "orch %s: %s\n", use, text.Head(err.Error()))
			return nil
		}
		if said == "" {
			return nil
		}
		return json.NewEncoder(a.app.Stdout).Encode(k.Context(cmp.Or(in.Event, event), said))
	}}
	c.Flags().StringVar(&name, "client", "claude", "the `client` that calls: "+workspace.HookedNames())
	return c
}

// announcement is the text for a session that starts; "" for an unbound one.
func (a sessionCmd) announcement(ctx context.Context, in session.Input, project string) (string, error) {
	root, common := session.Repository(project)
	if common != "" && in.Session != "" {
		s, ok, err := session.Load(session.File(common, in.Session), in.Session)
		if err != nil {
			return "", err
		}
		if ok && s.Ended { // it was resumed
			if err := Known(ctx, workspace.OpenForHook(a.app, root, common), in.Session); err != nil {
				return "", err
			}
		}
		if ok && s.Epic != "" && !s.Cancelled {
			return runTasks(workspace.OpenForHook(a.app, root, common), s.Epic)
		}
	}
	project = cmp.Or(root, project)
	l, err := stophook.ReadCriteriaLoop(filepath.Join(project, session.LoopFile))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	text := l.Resume()
	if s, err := readLoopSession(filepath.Join(project, loopSession)); text != "" && err == nil && s.ID != "" && s.ID != in.Session {
		text += "\nIt belongs to another session, and does not hold this one. Only if the person wants it to go on here: `orch loop take`."
	}
	return text, nil
}

// promptBinding binds a session whose prompt asks for it. What keeps it from being bound is
// sent to the session: a person waits there.
func (a sessionCmd) promptBinding(ctx context.Context, in session.Input, project string) (string, error) {
	epicID, ok := session.EpicInPrompt(in.Prompt)
	root, common := session.Repository(project)
	if !ok || in.Session == "" || common == "" {
		return "", nil
	}
	w := workspace.OpenForHook(a.app, root, common)
	text, err := bindSession(ctx, w, epic.TaskID(epicID), in.Session)
	if err != nil {
		u := explain.Error(err)
		return fmt.Sprintf("orch could not bind this session to epic %s: %s. Tell the person so, and stop.", epic.TaskID(epicID), u.What), nil
	}
	return text, nil
}
