package setup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/document"
	"github.com/beadsorch/orch/cmd/internal/workspace"
	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/epicdir"
	"github.com/beadsorch/orch/orchestrator/harness/all"
	"github.com/beadsorch/orch/orchestrator/private"
	"github.com/beadsorch/orch/orchestrator/sandbox"
	"github.com/beadsorch/orch/orchestrator/sandbox/cell"
	"github.com/beadsorch/orch/orchestrator/text"
	"github.com/beadsorch/orch/orchestrator/validation"
)

// explainCommand is the command orch sandbox explain.
func explainCommand(a *cli.Invocation) *cobra.Command {
	var attempt int
	c := &cobra.Command{
		Use:   "explain [TASK]",
		Short: "what an agent and the gate can see and write, and who asks for it",
		Long: `Explain says what the sandbox of an agent of this project is, and that of its gate: what keeps
the bounds and what that does not stop, which paths are read-only, written, private (another folder
in their place), an overlay (written for one attempt alone) or hidden, and who asks for each.
With a task it says so of the task's last attempt, as it was, with what was refused there:
commits and references that were not taken back, files that were moved aside, and paths that
its output says were refused. It starts nothing but what finds the level.`,
		Example: "  orch sandbox explain\n  orch sandbox explain shop-1.2 --json",
		Args:    cli.AtMost(1, "a task"),
		RunE: func(c *cobra.Command, args []string) error {
			doc, err := explainCells(c.Context(), a, args, attempt)
			if err != nil {
				return err
			}
			if a.JSON {
				cli.WriteJSON(a.Stdout, doc)
				return nil
			}
			for i, cell := range doc.Cells {
				if i > 0 {
					fmt.Fprintln(a.Stdout)
				}
				printCell(a.Stdout, cell)
			}
			return nil
		},
	}
	c.Flags().IntVar(&attempt, "attempt", 0, "which attempt at the task; the last one by default")
	return c
}

func explainCells(ctx context.Context, a *cli.Invocation, args []string, attempt int) (document.Sandbox, error) {
	if len(args) > 0 {
		c, err := explainTask(ctx, a, args[0], attempt)
		return document.Sandbox{Cells: []document.SandboxCell{c}}, err
	}
	w, err := workspace.Read(ctx, a)
	if err != nil {
		return document.Sandbox{}, err
	}
	cells, err := w.Cells(ctx)
	if err != nil {
		return document.Sandbox{}, err
	}
	if cells == nil {
		return document.Sandbox{Cells: []document.SandboxCell{unbounded("agent"), unbounded("gate")}}, nil
	}
	for _, line := range w.NotThere() {
		a.Warn(line)
	}
	settings := w.Project.Config.Agent
	argv := settings.Command
	if c, ok := all.Client(settings.Harness); ok {
		argv = []string{cmp.Or(a.LookPath(c.Name), c.Name)}
	}
	agent, err := cells.Agent(settings.Harness, argv, filepath.Join(w.Project.Worktrees(), "EPIC", "agent-TASK-1"))
	if err != nil {
		return document.Sandbox{}, err
	}
	gate, err := cells.Gate(filepath.Join(w.Project.Worktrees(), "EPIC", "verify"), w.GateNetwork())
	return document.Sandbox{Cells: []document.SandboxCell{cellOf("agent", agent), cellOf("gate", gate)}}, err
}

// unbounded is what runs in no sandbox.
func unbounded(of string) document.SandboxCell {
	return document.SandboxCell{Of: of, Level: epic.NoSandbox, Lacks: []string{}, Network: openNetwork,
		Paths: []document.SandboxPath{}, Dropped: []string{}, Planted: []string{}, Met: []document.SandboxMet{}}
}

// The words for the network.
const (
	openNetwork = "open"
	onlyOwn     = "loopback"
	listedHosts = "allowlist"
)

// lacks are the threats that a level does not stop on this machine.
func lacks(l sandbox.Level) []string {
	all := []string{}
	for _, p := range sandbox.Promises() {
		if !p.Stopped(l, sandbox.ABI()) {
			all = append(all, p.Says)
		}
	}
	return all
}

// cellOf is a record as it is said.
func cellOf(of string, r cell.Record) document.SandboxCell {
	c := document.SandboxCell{
		Of: of, Level: string(r.Level), Lacks: lacks(r.Level), Network: openNetwork, Dir: r.Dir,
		Rest: "read-only", Paths: []document.SandboxPath{}, Dropped: append([]string{}, r.Left.Dropped...), Planted: append([]string{}, r.Left.Planted...),
		Refused: r.Left.Refused, Met: []document.SandboxMet{},
	}
	switch {
	case r.Listed:
		c.Network = listedHosts
	case !r.Network:
		c.Network = onlyOwn
	}
	for _, u := range r.Unreached {
		c.Unreached = append(c.Unreached, document.SandboxHost{Host: u.Host, Why: u.Why, Count: u.Count})
	}
	if !r.Level.Mounts() {
		c.Rest = "hidden, but for what is of the system, as /usr and /etc"
	}
	for _, b := range r.Bounds {
		if _, err := os.Lstat(cmp.Or(b.From, b.At)); b.How == sandbox.Unseen && err != nil {
			continue // nothing is there to be hidden
		}
		c.Paths = append(c.Paths, document.SandboxPath{At: b.At, From: b.From, How: string(b.How), Why: b.Why})
	}
	return c
}

// explainTask is what an attempt at a task was in. It fails where that is not known.
func explainTask(ctx context.Context, a *cli.Invocation, id string, number int) (document.SandboxCell, error) {
	p, t, attempt, err := workspace.FindAttempt(ctx, a, id, number)
	if err != nil {
		return document.SandboxCell{}, err
	}
	folder := epicdir.Attempt(p.Folder, t.ID, attempt.Number)
	record, err := cell.ReadRecord(folder)
	var c document.SandboxCell
	switch {
	case err == nil:
		c = cellOf("agent", record)
	case !errors.Is(err, fs.ErrNotExist):
		return c, err
	case attempt.Sandbox == epic.NoSandbox || attempt.InSession:
		c = unbounded("agent")
	default:
		return c, &cli.Error{Code: "NO_LOG", What: fmt.Sprintf("attempt %d of %s left no record of its sandbox", attempt.Number, t.ID), Exit: cli.ExitNotFound,
			Fix: []string{"orch sandbox explain says what the next one is in", "orch status " + cli.Quote(t.ID)}}
	}
	c.Task, c.Attempt = t.ID, attempt.Number
	c.Met, err = met(folder, record)
	return c, err
}

// maxMet bounds what is read of the end of each log, in bytes.
const maxMet = 1 << 20

// met are the paths that the logs of an attempt say were refused, and that it could not write.
func met(folder string, r cell.Record) ([]document.SandboxMet, error) {
	all := []document.SandboxMet{}
	logs, err := filepath.Glob(filepath.Join(folder, "*.log"))
	if err != nil {
		return all, err
	}
	within := []string{r.Dir}
	for _, b := range r.Bounds {
		if b.How == sandbox.Written || b.How == sandbox.Private {
			within = append(within, b.At)
		}
	}
	for _, log := range logs {
		end, err := endOf(log)
		if err != nil {
			return all, err
		}
		for _, refused := range validation.Refusals(end, within...) {
			if m := (document.SandboxMet{Path: refused.Path, Says: refused.Says, Setting: refused.Setting}); !slices.Contains(all, m) {
				all = append(all, m)
			}
		}
	}
	return all, nil
}

func endOf(log string) (string, error) {
	dir, err := private.Open(filepath.Dir(log))
	if err != nil {
		return "", err
	}
	defer dir.Close()
	f, err := dir.Open(log)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	content, err := io.ReadAll(io.NewSectionReader(f, max(0, info.Size()-maxMet), maxMet))
	return string(content), err
}

// printCell says it for a person.
func printCell(out io.Writer, c document.SandboxCell) {
	title := map[string]string{"agent": "an agent", "gate": "the gate"}[c.Of]
	if c.Task != "" {
		title = fmt.Sprintf("attempt %d at %s", c.Attempt, c.Task)
	}
	if c.Level == epic.NoSandbox {
		fmt.Fprintf(out, "%s: no sandbox, it may do what you may  (orch config explain sandbox.level)\n", title)
	} else {
		fmt.Fprintf(out, "%s: %s\n", title, c.Level)
		for _, lack := range c.Lacks {
			fmt.Fprintf(out, "  %-10s %s\n", "can still", lack)
		}
		network := map[string]string{openNetwork: "as it is outside", onlyOwn: "its own loopback alone", listedHosts: "hosts of a list, by a proxy  (orch config explain sandbox.network)"}[c.Network]
		fmt.Fprintf(out, "  %-10s %s\n  %-10s %s\n", "network", network, "begins in", c.Dir)
		for _, p := range c.Paths {
			at := p.At
			if p.From != "" {
				at += "  (" + p.From + ")"
			}
			fmt.Fprintf(out, "  %-10s %s: %s\n", p.How, at, p.Why)
		}
		fmt.Fprintf(out, "  %-10s all else\n", c.Rest)
	}
	for _, m := range c.Met {
		fmt.Fprintf(out, "  %-10s %s\n", "met", text.OneLine(validation.Refusal(m).String()))
	}
	for _, host := range c.Unreached {
		fmt.Fprintf(out, "  %-10s %s, %d times: %s\n", "unreached", text.OneLine(host.Host), host.Count, text.OneLine(host.Why))
	}
	for _, name := range c.Dropped {
		fmt.Fprintf(out, "  %-10s %s, which is not its branch\n", "dropped", name)
	}
	for _, path := range c.Planted {
		fmt.Fprintf(out, "  %-10s %s, which is kept in the attempt's folder\n", "moved", path)
	}
	if c.Refused != "" {
		fmt.Fprintf(out, "  %-10s %s\n", "refused", c.Refused)
	}
}
