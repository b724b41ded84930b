package hooks

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"strings"

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
compaction, and announces an active loop. For any other session it prints nothing.`, "SessionStart", a.started)
}

// SessionEnd is the command orch session-end.
func SessionEnd(app *cli.Invocation, inside Inside) *cobra.Command {
	a := sessionCmd{app: app, inside: inside}
	return a.event("session-end", "a client's hook for a session that ends",
		`Session-end notes that the session is over, so that what it was handed is free for
others at once. It prints nothing.`, "SessionEnd", toModel(a.ended))
}

// ended notes that a session is over, where orch knows of it.
func (a sessionCmd) ended(ctx context.Context, o occasion) (string, error) {
	_, common := session.Repository(o.project)
	if common == "" || o.in.Session == "" || !session.MayApply(o.in, o.project) {
		return "", nil
	}
	return "", changeSession(ctx, session.File(common, o.in.Session), o.in.Session, func(s session.Session, ok bool) (session.Session, error) {
		s.Ended = ok
		return s, nil
	})
}

// SessionPrompt is the command orch session-prompt.
func SessionPrompt(app *cli.Invocation, inside Inside) *cobra.Command {
	a := sessionCmd{app: app, inside: inside}
	return a.event("session-prompt", "a client's hook for a prompt that a person has typed",
		`Session-prompt binds the session when the prompt is /run-tasks EPIC or $run-tasks EPIC,
and adds what the session has to do. For any other prompt it prints nothing.`, "UserPromptSubmit", toModel(a.promptBinding))
}

// occasion is an event of a session.
type occasion struct {
	in      session.Input
	project string // the folder of the session
	client  string // its client's name
}

// words are what a session is sent at an event, "" for nothing.
type words struct{ model, person string }

// toModel is words for the model alone.
func toModel(says func(context.Context, occasion) (string, error)) func(context.Context, occasion) (words, error) {
	return func(ctx context.Context, o occasion) (words, error) {
		text, err := says(ctx, o)
		return words{model: text}, err
	}
}

// event is a hook that may say something to the session.
func (a sessionCmd) event(use, short, long, event string, says func(context.Context, occasion) (words, error)) *cobra.Command {
	var name string
	c := &cobra.Command{Use: use, Short: short, Long: long, Args: cli.AtMost(0, "no argument"), RunE: func(c *cobra.Command, _ []string) error {
		ctx, cancel := context.WithTimeout(c.Context(), stophook.Timeout)
		defer cancel()
		var k client.Client
		var in session.Input
		said, err := inTime(ctx, func() (said words, err error) {
			var callErr error
			var ours bool
			in, err = readInput(ctx, a.app.Process)
			project := session.Project(in, a.app.Getenv, a.app.Dir)
			root, _ := session.Repository(project)
			k, ours, callErr = a.caller(name, cmp.Or(root, project))
			if err = errors.Join(err, callErr); err == nil && ours && !a.inAttempt(ctx, project) {
				said, err = says(ctx, occasion{in: in, project: project, client: k.Name})
			}
			return said, err
		})
		if err != nil {
			fmt.Fprintf(a.app.Stderr, "orch %s: %s\n", use, text.Head(err.Error()))
			return nil
		}
		if said.person != "" && k.Tell == nil {
			said = words{model: strings.TrimPrefix(said.model+"\n\nTell the person: "+said.person, "\n\n")}
		}
		answer := map[string]any{}
		if said.model != "" {
			answer = k.Context(cmp.Or(in.Event, event), said.model)
		}
		if said.person != "" {
			maps.Copy(answer, k.Tell(said.person))
		}
		if len(answer) == 0 {
			return nil
		}
		return json.NewEncoder(a.app.Stdout).Encode(answer)
	}}
	c.Flags().StringVar(&name, "client", "claude", "the `client` that calls: "+workspace.HookedNames())
	return c
}

// started is what is said as a session starts: to its model what it is at, to the person which sessions were let
// go since with work left.
func (a sessionCmd) started(ctx context.Context, o occasion) (said words, err error) {
	if said.model, err = a.announcement(ctx, o); err != nil {
		return said, err
	}
	said.person, err = a.endings(ctx, o.project)
	return said, err
}

// endings tells how sessions were let go with work left, each once.
func (a sessionCmd) endings(ctx context.Context, project string) (string, error) {
	_, common := session.Repository(project)
	if common == "" {
		return "", nil
	}
	all, err := session.All(common)
	if err != nil {
		return "", err
	}
	var lines []string
	for _, s := range all {
		if s.Ending.IsZero() || s.Ending.Announced {
			continue
		}
		lines = append(lines, fmt.Sprintf("orch let session %s end %s ago  [%s] %s; /run-tasks %s goes on", shownID(s.ID), cli.FormatDuration(a.app.Now().Sub(s.Ending.At)), s.Ending.Cause, text.Clause(s.Ending.Why, 400), text.Clause(s.Epic, 64)))
		err = errors.Join(err, changeSession(ctx, session.File(common, s.ID), s.ID, func(now session.Session, _ bool) (session.Session, error) {
			now.Ending.Announced = !now.Ending.IsZero()
			return now, nil
		}))
	}
	if more := len(lines) - maxEndings; more > 0 {
		lines = append(lines[:maxEndings], fmt.Sprintf("so it did with %d more: orch session list", more))
	}
	return strings.Join(lines, "\n"), err
}

// maxEndings is how many endings are told one by one.
const maxEndings = 3

// announcement is the text for a session that starts; "" for an unbound one.
func (a sessionCmd) announcement(ctx context.Context, o occasion) (string, error) {
	root, common := session.Repository(o.project)
	if common != "" && o.in.Session != "" {
		s, ok, err := session.Load(session.File(common, o.in.Session), o.in.Session)
		if err != nil {
			return "", err
		}
		if ok && s.Ended { // it was resumed
			if err := Known(ctx, workspace.OpenForHook(a.app, root, common), o.in.Session); err != nil {
				return "", err
			}
		}
		if ok && s.Epic != "" && !s.Cancelled {
			return runTasks(workspace.OpenForHook(a.app, root, common), s.Epic, o.client)
		}
	}
	o.project = cmp.Or(root, o.project)
	l, err := stophook.ReadCriteriaLoop(filepath.Join(o.project, session.LoopFile))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	text := l.Resume()
	if s, err := readLoopSession(filepath.Join(o.project, loopSession)); text != "" && err == nil && s.ID != "" && s.ID != o.in.Session {
		text += "\nIt belongs to another session, and does not hold this one. Only if the person wants it to go on here: `orch loop take`."
	}
	return text, nil
}

// promptBinding binds a session whose prompt asks for it. What keeps it from being bound is
// sent to the session: a person waits there.
func (a sessionCmd) promptBinding(ctx context.Context, o occasion) (string, error) {
	epicID, ok := session.EpicInPrompt(o.in.Prompt)
	root, common := session.Repository(o.project)
	if !ok || o.in.Session == "" || common == "" {
		return "", nil
	}
	w := workspace.OpenForHook(a.app, root, common)
	text, err := bindSession(ctx, w, epic.TaskID(epicID), o.in.Session, o.client)
	if err != nil {
		u := explain.Error(err)
		return fmt.Sprintf("orch could not bind this session to epic %s: %s. Tell the person so, and stop.", epic.TaskID(epicID), u.What), nil
	}
	return text, nil
}
