package cmd

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/hooks"
	"github.com/beadsorch/orch/cmd/internal/workspace"
	"github.com/beadsorch/orch/orchestrator"
	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/epicstore"
	"github.com/beadsorch/orch/orchestrator/proc"
	"github.com/beadsorch/orch/orchestrator/text"
	"github.com/beadsorch/orch/stophook/session"
	"github.com/beadsorch/orch/worktree"
)

// scope says of a command how far an agent may give it from inside an attempt that orch started.
type scope int

const (
	persons  scope = iota // not at all: it speaks for a person
	anyTask               // it only reads, or asks the tracker, in which agents write as well
	ownTask               // about the task of the attempt
	ownFiles              // in the worktree of the attempt
	unheard               // a client's hook, which does nothing there
)

// agentsToo lists the commands that an agent may give, with how far. All others speak for a
// person, those too that come to be.
func agentsToo() map[scope][]string {
	return map[scope][]string{
		anyTask: {
			"orch", "orch help", "orch version", "orch completion", "orch completion *", "orch __complete", "orch __completeNoDesc", "orch demo agent",
			"orch status", "orch watch", "orch plan", "orch logs", "orch diff", "orch events", "orch explain", "orch stats", "orch config", "orch config explain",
			"orch tasks", "orch tasks *", "orch task", "orch task get", "orch task update", "orch mcp",
			"orch iteration", "orch iteration status", "orch checkpoint", "orch checkpoint list", "orch loop", "orch loop status",
			"orch session", "orch session list", "orch hook", "orch hook list", "orch hook metrics",
		},
		ownTask: {
			"orch verify", "orch task store", "orch iteration start", "orch iteration validate", "orch iteration next", "orch iteration complete",
			"orch checkpoint create", "orch checkpoint resume", "orch checkpoint expire", "orch checkpoint cleanup", "orch hook evaluate",
		},
		ownFiles: {"orch loop start", "orch loop step", "orch loop set", "orch loop verify", "orch loop take", "orch loop cancel"},
		unheard:  {"orch stop-hook", "orch session-start", "orch session-end", "orch session-prompt"},
	}
}

// onlyReads reports whether a command, as it was given, changes nothing: that an agent was refused one is nothing to tell a person.
func onlyReads(c *cobra.Command) bool {
	flag := func(name string) bool { f := c.Flag(name); return f != nil && f.Value.String() == "true" }
	switch path := c.CommandPath(); path {
	case "orch trust":
		return flag("show")
	case "orch doctor":
		return !flag("fix")
	default:
		return slices.Contains([]string{
			"orch status", "orch watch", "orch plan", "orch logs", "orch diff", "orch events", "orch explain", "orch stats", "orch config", "orch config explain",
			"orch sandbox", "orch sandbox explain", "orch tasks", "orch tasks list", "orch tasks ready", "orch tasks show", "orch task", "orch task get",
			"orch iteration", "orch iteration status", "orch checkpoint", "orch checkpoint list", "orch loop", "orch loop status",
			"orch session", "orch session list", "orch hook", "orch hook list", "orch hook metrics",
		}, path)
	}
}

// scopeOf says how far an agent may give a command.
func scopeOf(c *cobra.Command) scope {
	path := c.CommandPath()
	for s, words := range agentsToo() {
		if slices.ContainsFunc(words, func(word string) bool {
			group, all := strings.CutSuffix(word, "*")
			return path == word || all && strings.HasPrefix(path, group)
		}) {
			return s
		}
	}
	return persons
}

// onlyPersons refuses a command that speaks for a person where an agent gives it, or that is about
// more than the attempt of the agent, and has the run note that, but for what only reads. Whether it is an agent follows from
// the processes above, and by ORCH_ATTEMPT; never by the folder, since a session lands from where it
// stands.
func (a *app) onlyPersons(ctx context.Context, c *cobra.Command, args []string) error {
	if refused := a.mayServe(c); refused != nil {
		a.noteRefused(ctx, c, attemptOf(a.App.Process), refused)
		return refused
	}
	far := scopeOf(c)
	if far == anyTask || far == unheard {
		return nil
	}
	at, inside := a.inside(ctx, a.App.Dir)
	if !inside || far == ownTask && at.hasTask(args) || far == ownFiles && at.hasFiles(hooks.LoopDir(a.App)) {
		return nil
	}
	verb := strings.TrimPrefix(c.CommandPath(), "orch ")
	refused := &cli.Error{Code: "NOT_A_PERSON", What: fmt.Sprintf("%s is for a person, and this comes from inside %s", verb, at), Exit: cli.ExitUsage,
		Why: "what an agent is given to do does not change what the run does; orch started this process, or one above it, for an attempt",
		Fix: []string{"say it in the last words of the attempt, for the person to decide", "a person types it in a terminal of their own"}}
	switch far {
	case ownTask:
		refused.What = fmt.Sprintf("%s is for the agent's own task alone, and this comes from inside %s", verb, at)
	case ownFiles:
		refused.What = fmt.Sprintf("%s is for the agent's own worktree alone, and this comes from inside %s", verb, at)
	}
	a.noteRefused(ctx, c, at, refused)
	return refused
}

// noteRefused has the runs that go on here note what was refused to an agent, where that would have changed something.
func (a *app) noteRefused(ctx context.Context, c *cobra.Command, at within, refused *cli.Error) {
	if onlyReads(c) {
		return
	}
	if err := a.note(ctx, at, fmt.Sprintf("%s, asked from inside %s", c.CommandPath(), at)); err != nil {
		refused.Why += "; it could not be noted: " + err.Error()
	}
}

// within is where an agent's process comes from: the attempt that it was started for, as far as
// that is known.
type within struct {
	epic, task, number string // of the attempt; "" where it is not known
	worktree           string // of the attempt
	orphan             bool   // its guard is dead
}

// attemptOf reads what orch gave the process of an attempt.
func attemptOf(p cli.Process) within {
	return within{epic: p.Getenv("ORCH_EPIC"), task: p.Getenv("ORCH_TASK"), number: p.Getenv("ORCH_ATTEMPT"), worktree: p.Getenv("ORCH_WORKTREE")}
}

// String names the attempt.
func (at within) String() string {
	switch {
	case at.orphan:
		return "an attempt whose guard is dead"
	case at.task == "" || at.number == "":
		return "what orch started for an attempt or its gate"
	}
	return fmt.Sprintf("attempt %s of %s", text.Clause(at.number, 10), text.Clause(at.task, 80))
}

// hasTask reports whether a command with these operands is about the attempt's own task.
func (at within) hasTask(args []string) bool {
	return at.task != "" && len(args) > 0 && args[0] == at.task
}

// hasFiles reports whether the folder is the attempt's own worktree: the one that orch has named to it,
// and by its name one that orch makes, whatever the environment says.
func (at within) hasFiles(dir string) bool {
	dir, dirErr := filepath.EvalSymlinks(dir)
	own, ownErr := filepath.EvalSymlinks(at.worktree)
	name := worktree.NamesOf("", at.epic, at.task, 1).Dir
	return dirErr == nil && ownErr == nil && at.epic != "" && at.task != "" && dir == own && strings.HasSuffix(own, string(filepath.Separator)+name)
}

// inside reports whether an attempt that orch started in the repository of a folder is where the
// process comes from, and which.
func (a *app) inside(ctx context.Context, dir string) (at within, ok bool) {
	above := proc.GuardsAbove(cli.GuardCommand)
	attempt := a.App.Getenv("ORCH_ATTEMPT") != ""
	if len(above) == 0 && !attempt {
		return within{orphan: true}, a.belowRun(dir)
	}
	there := a.App.InDir(dir)
	defer there.End()
	w, _ := workspace.Open(ctx, there) // what is not understood of the settings is no matter here
	ours := func(marker string) bool { // in doubt it is
		return w == nil || w.Project.Home == "" || marker == "" || marker == w.Project.Marker()
	}
	for _, g := range above {
		if ours(g.Marker) {
			return attemptOf(cli.Process{Env: g.Env}), true
		}
	}
	mark := a.App.Getenv(cli.MarkName)
	if mark != "" {
		mark = cli.MarkName + "=" + mark
	}
	if attempt && ours(mark) {
		return attemptOf(a.App.Process), true
	}
	return within{orphan: true}, a.belowRun(dir)
}

// belowRun reports whether the process is below one that drives an epic in the repository of a folder: orphans of a guard
// that was killed are, until they are ended. It asks no git, since every person's command comes
// through here.
func (a *app) belowRun(dir string) bool {
	_, common := session.Repository(dir)
	dirs, err := filepath.Glob(filepath.Join(common, "orch", "epics", "*"))
	if common == "" || err != nil {
		return false
	}
	above := proc.Ancestors()
	for _, dir := range dirs {
		h, held, err := epicstore.HeldBy(dir)
		if err == nil && held && slices.Contains(above, h.PID) && h.Host == workspace.Hostname() && h.PID != os.Getpid() {
			return true
		}
	}
	return false
}

// note leaves a request to note it for the runs that go on here, or where the attempt works.
func (a *app) note(ctx context.Context, at within, what string) error {
	w, err := workspace.Open(ctx, a.App)
	if (w == nil || w.Project.Home == "") && at.worktree != "" {
		there := a.App.InDir(at.worktree)
		defer there.End()
		w, err = workspace.Open(ctx, there)
	}
	if w == nil || w.Project.Home == "" {
		return err
	}
	dirs, err := w.Epics()
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		if _, held, heldErr := epicstore.HeldBy(dir); heldErr != nil || !held {
			continue
		}
		if err := orchestrator.PostRequest(dir, epic.Event{Fact: epic.RequestRefused{}, Reason: what}, a.App.Now()); err != nil {
			return err
		}
	}
	return nil
}
