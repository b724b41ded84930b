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
	"github.com/beadsorch/orch/cmd/internal/workspace"
	"github.com/beadsorch/orch/orchestrator"
	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/epicstore"
	"github.com/beadsorch/orch/orchestrator/proc"
	"github.com/beadsorch/orch/orchestrator/text"
	"github.com/beadsorch/orch/stophook/session"
)

// agentsToo lists the commands that an agent may give from inside an attempt that orch started:
// what only reads, what belongs to its own work, and what its client calls. All others speak for
// a person, those too that come to be.
func agentsToo() []string {
	return []string{
		"orch", "orch help", "orch version", "orch completion", "orch __complete", "orch __completeNoDesc", "orch demo",
		"orch status", "orch watch", "orch plan", "orch logs", "orch diff", "orch events", "orch explain", "orch stats", "orch config", "orch verify",
		"orch task", "orch tasks", "orch iteration", "orch checkpoint", "orch loop", "orch mcp",
		"orch stop-hook", "orch session-start", "orch session-end", "orch session-prompt", "orch session list", "orch hook list", "orch hook metrics", "orch hook evaluate",
	}
}

// forPersons reports whether a command speaks for a person.
func forPersons(c *cobra.Command) bool {
	path := c.CommandPath()
	if path == "orch iteration limit" || path == "orch session" || path == "orch hook" {
		return path == "orch iteration limit" // the others say what there is
	}
	return !slices.ContainsFunc(agentsToo(), func(word string) bool {
		return path == word || word != "orch" && strings.HasPrefix(path, word+" ")
	})
}

// onlyPersons refuses a command that speaks for a person where an agent gives it, and has the run
// note that. Whether it is an agent follows from the processes above, and by ORCH_ATTEMPT; never by
// the folder, since a session lands from where it stands.
func (a *app) onlyPersons(ctx context.Context, c *cobra.Command) error {
	if !forPersons(c) {
		return nil
	}
	who, inside := a.inside(ctx)
	if !inside {
		return nil
	}
	verb := strings.TrimPrefix(c.CommandPath(), "orch ")
	refused := &cli.Error{Code: "NOT_A_PERSON", What: fmt.Sprintf("%s is for a person, and this comes from inside %s", verb, who), Exit: cli.ExitUsage,
		Why: "what an agent is given to do does not change what the run does; orch started this process, or one above it, for an attempt",
		Fix: []string{"say it in the last words of the attempt, for the person to decide", "a person types it in a terminal of their own"}}
	if err := a.note(ctx, fmt.Sprintf("orch %s, asked from inside %s", verb, who)); err != nil {
		refused.Why += "; it could not be noted: " + err.Error()
	}
	return refused
}

// inside reports whether an attempt that orch started in this repository is where the process
// comes from, and which.
func (a *app) inside(ctx context.Context) (who string, ok bool) {
	above := proc.GuardsAbove(cli.GuardCommand)
	attempt := a.App.Getenv("ORCH_ATTEMPT") != ""
	if len(above) == 0 && !attempt {
		return "an attempt whose guard is dead", a.belowRun()
	}
	w, _ := workspace.Open(ctx, a.App) // what is not understood of the settings is no matter here
	ours := func(marker string) bool { // in doubt it is
		return w == nil || w.Home == "" || marker == "" || marker == w.Marker()
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
	return "an attempt whose guard is dead", a.belowRun()
}

// attemptOf names the attempt that a process was started for.
func attemptOf(p cli.Process) string {
	task, n := p.Getenv("ORCH_TASK"), p.Getenv("ORCH_ATTEMPT")
	if task == "" || n == "" {
		return "what orch started for an attempt or its gate"
	}
	return fmt.Sprintf("attempt %s of %s", text.Clause(n, 10), text.Clause(task, 80))
}

// belowRun reports whether the process is below one that drives an epic here: orphans of a guard
// that was killed are, until they are ended. It asks no git, since every person's command comes
// through here.
func (a *app) belowRun() bool {
	_, common := session.Repository(a.App.Dir)
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

// note leaves a request to note it for the runs that go on here.
func (a *app) note(ctx context.Context, what string) error {
	w, err := workspace.Open(ctx, a.App)
	if w == nil || w.Home == "" {
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
