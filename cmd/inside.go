package cmd

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/explain"
	"github.com/beadsorch/orch/cmd/internal/inside"
	"github.com/beadsorch/orch/cmd/internal/standin"
	"github.com/beadsorch/orch/cmd/internal/workspace"
	"github.com/beadsorch/orch/orchestrator/sandbox"
)

// askRun is the whole work of the program within the sandbox of an attempt: the run that started it is asked. ok is false where the
// program does the work itself: outside, and for what needs nothing of outside.
func askRun(ctx context.Context, p Process) (code int, ok bool) {
	socket, tracker := p.Getenv(sandbox.SocketVariable), filepath.Base(p.Args[0]) == inside.BD
	if socket == "" && !tracker {
		return 0, false
	}
	a := &app{App: &cli.Invocation{Process: p, JSON: asksJSON(p.Args)}}
	noRun := workspace.NobodyToAsk()
	if socket == "" {
		return explain.Report(a.App, noRun), true
	}
	q, files, reads := inside.Request{Program: inside.BD, Args: p.Args[1:]}, standin.Files(), standin.ReadsInput(p.Args[1:])
	if !tracker {
		c, _, err := newRoot(a).Find(q.Args)
		if err != nil || slices.Contains(doneInside(), c.CommandPath()) {
			return 0, false
		}
		if scopeOf(c) == unheard {
			return cli.ExitDone, true // as outside
		}
		q.Program, files = inside.Orch, fileFlags(c)
		reads = p.Served || standin.ReadsInput(q.Args) || c.CommandPath() == "orch task store"
	}
	if err := q.Read(files, reads, p.Stdin, a.App.Open); err != nil {
		return explain.Report(a.App, &cli.Error{Code: "NO_INPUT", What: "what is to be read cannot be read", Why: err.Error(), Exit: cli.ExitNotFound, Err: err}), true
	}
	answer, err := inside.Ask(ctx, socket, q)
	if err != nil {
		noRun.Why, noRun.Err = err.Error(), err
		return explain.Report(a.App, noRun), true
	}
	_, outErr := p.Stdout.Write(answer.Stdout)
	_, errErr := p.Stderr.Write(answer.Stderr)
	if outErr != nil || errErr != nil {
		return cli.ExitFailed, true
	}
	return answer.Exit, true
}

// doneInside are the commands that need nothing of outside. The tools of orch mcp are commands of their own, which ask.
func doneInside() []string {
	return []string{"orch", "orch help", "orch version", "orch completion", "orch completion bash", "orch completion zsh", "orch completion fish", "orch completion powershell",
		"orch mcp", "orch demo agent", "orch __complete", "orch __completeNoDesc"}
}

// fileFlags are the flags of a command whose value is a file.
func fileFlags(c *cobra.Command) (names []string) {
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if kind, _ := pflag.UnquoteUsage(f); kind == "file" || kind == "folder" {
			names = append(names, f.Name)
		}
	})
	return names
}

// servedCommands are those that an agent in a sandbox may give, of those that any agent may: what is done for it outside reads no file
// that it names and writes none in its worktree, and what others have in the tracker it changes nowhere.
func servedCommands() []string {
	return []string{
		"orch status", "orch plan", "orch logs", "orch diff", "orch events", "orch explain", "orch stats", "orch tasks list", "orch tasks ready", "orch tasks show", "orch task get",
		"orch iteration status", "orch checkpoint list", "orch hook list", "orch hook metrics", "orch session list",
		"orch verify", "orch task store", "orch iteration start", "orch iteration validate", "orch iteration next", "orch iteration complete",
		"orch checkpoint create", "orch checkpoint resume", "orch checkpoint expire", "orch checkpoint cleanup",
	}
}

// mayServe refuses what is not done for an agent in a sandbox; nil where nobody asks from within one.
func (a *app) mayServe(c *cobra.Command) *cli.Error {
	if a.App.Getenv(inside.ServedVariable) == "" {
		return nil
	}
	verb := strings.TrimPrefix(c.CommandPath(), "orch ")
	refused := &cli.Error{Code: "NOT_A_PERSON", What: fmt.Sprintf("orch %s is not done for an agent in a sandbox", verb), Exit: cli.ExitUsage,
		Why: "what is out of the reach of an agent is reached for its own task alone, and by the run",
		Fix: []string{"bd comment " + cli.Quote(attemptOf(a.App.Process).task) + " TEXT, and the last words of the attempt, are for a person to read"}}
	if !slices.Contains(servedCommands(), c.CommandPath()) {
		return refused
	}
	for _, name := range append(fileFlags(c), fileFlags(c.Root())...) {
		if f := c.Flag(name); f != nil && f.Changed && f.Value.String() != "-" {
			refused.What = fmt.Sprintf("--%s of orch %s names a file, and there is none of the agent's outside of its sandbox", name, verb)
			refused.Fix = []string{"give it on standard input: --" + name + " -"}
			return refused
		}
	}
	return nil
}
