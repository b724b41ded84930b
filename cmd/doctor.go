package cmd

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/beadsorch/orch/cmd/cli"
	"github.com/beadsorch/orch/orchestrator"
	"github.com/beadsorch/orch/orchestrator/proc"
)

// finding is one thing that doctor looked at.
type finding struct {
	What string `json:"what"`
	OK   bool   `json:"ok"`
	Says string `json:"says"`
	Fix  string `json:"fix,omitempty"`
}

func newDoctorCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "git, tracker, agent and leftovers, each with its fix",
		Args:  cli.AtMost(0, "no argument"),
		RunE:  func(c *cobra.Command, _ []string) error { return a.doctor(c.Context()) },
	}
}

func (a *app) doctor(ctx context.Context) error {
	w, err := a.open(ctx)
	if err != nil {
		return err
	}
	findings := []finding{w.checkGit(ctx), w.checkTracker(ctx), w.checkAgent(ctx), w.checkGate()}
	findings = append(append(findings, w.hookFindings(ctx)...), w.checkDisk())
	findings = append(findings, w.checkLeftovers()...)
	bad := 0
	for _, f := range findings {
		if !f.OK {
			bad++
		}
	}
	if a.JSON {
		cli.WriteJSON(a.Stdout, map[string]any{"schema": "orch.doctor/1", "findings": findings, "problems": bad})
	} else {
		for _, f := range findings {
			mark := "✓"
			if !f.OK {
				mark = "✗"
			}
			fmt.Fprintf(a.Stdout, " %s %-10s %s\n", mark, f.What, f.Says)
			if f.Fix != "" {
				fmt.Fprintf(a.Stdout, "              fix: %s\n", f.Fix)
			}
		}
		fmt.Fprintf(a.Stdout, "%d %s\n", bad, cli.Plural(bad, "problem", "problems"))
	}
	if bad > 0 {
		return cli.ExitWith(cli.ExitNotReady)
	}
	return nil
}

func (w *workspace) checkGit(ctx context.Context) finding {
	v, err := w.repo.Out(ctx, "version")
	if err != nil {
		return finding{"git", false, err.Error(), "install git 2.38 or later"}
	}
	return finding{"git", true, strings.TrimPrefix(v, "git version "), ""}
}

func (w *workspace) checkTracker(ctx context.Context) finding {
	ctx, cancel := context.WithTimeout(ctx, bdTimeout)
	defer cancel()
	t, err := w.tracker(ctx)
	if err != nil {
		u := cli.Explain(err)
		return finding{"tracker", false, u.What, strings.Join(u.Fix, "; ")}
	}
	began := w.Now()
	issues, err := t.Survey(ctx)
	if err != nil {
		return finding{"tracker", false, err.Error(), "look at the tracker itself: " + w.tasksCommand() + " list"}
	}
	open := 0
	for _, i := range issues {
		if i.Type == "epic" && string(i.Status) != "closed" {
			open++
		}
	}
	return finding{"tracker", true, fmt.Sprintf("%s, answers in %s, %d open %s", t.Name(), w.Now().Sub(began).Round(10*time.Millisecond), open, cli.Plural(open, "epic", "epics")), ""}
}

func (w *workspace) checkAgent(ctx context.Context) finding {
	if w.cfg.Agent.Harness == "command" {
		name := w.cfg.Agent.Command[0]
		if w.LookPath(name) == "" {
			return finding{"agent", false, name + " is not on PATH", "workflow.agent.command in project.yaml"}
		}
		return finding{"agent", true, strings.Join(w.cfg.Agent.Command, " "), ""}
	}
	c, _ := clientOf(w.cfg.Agent.Harness)
	binary := w.LookPath(c.name)
	if binary == "" {
		return finding{"agent", false, c.name + " is not on PATH", "install " + c.title + ", or set workflow.agent: {harness: command, command: [...]}"}
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	res, err := w.sys.Run(ctx, proc.Cmd{Dir: w.root(), Argv: []string{binary, "--version"}, Env: w.agentEnv(ctx), MaxOutputBytes: 4096})
	if err != nil {
		return finding{"agent", false, err.Error(), "reinstall " + c.title}
	}
	return finding{"agent", true, strings.TrimSpace(c.name + " " + strings.TrimPrefix(cli.FirstLine(string(res.Stdout)), c.name)), ""}
}

func (w *workspace) checkGate() finding {
	if len(w.cfg.Gate) == 0 {
		return finding{"gate", false, "none: whatever an agent commits would land", `orch init proposes one; or workflow.gate in project.yaml: [{name: tests_pass, type: command, command: "go test ./..."}]`}
	}
	return finding{"gate", true, fmt.Sprintf("%d %s", len(w.cfg.Gate), cli.Plural(len(w.cfg.Gate), "rule", "rules")), ""}
}

// diskFloorBytes is the free space below which doctor complains.
const diskFloorBytes = 1 << 30

func (w *workspace) checkDisk() finding {
	var st syscall.Statfs_t
	if err := syscall.Statfs(w.repo.CommonDir(), &st); err != nil {
		return finding{"disk", false, err.Error(), ""}
	}
	free := st.Bavail * uint64(st.Bsize)
	f := finding{"disk", free >= diskFloorBytes, fmt.Sprintf("%.1f GB free", float64(free)/1e9), ""}
	if !f.OK {
		f.Fix = "make room: agents need worktrees"
	}
	return f
}

// checkLeftovers looks for epics that were cut off, and for processes of theirs.
func (w *workspace) checkLeftovers() (out []finding) {
	dirs, err := w.epics()
	if err != nil {
		return []finding{{"epics", false, err.Error(), ""}}
	}
	active := false
	for _, dir := range dirs {
		p, err := w.picture(dir)
		if err != nil {
			u := cli.Explain(err)
			out = append(out, finding{"journal", false, filepath.Base(dir) + ": " + u.What, strings.Join(u.Fix, "; ")})
			continue
		}
		active = active || p.held
		if !p.held && p.state.Run.Number > 0 && p.state.Run.Ended.IsZero() {
			out = append(out, finding{"run", false, fmt.Sprintf("run %d of %s was cut off", p.state.Run.Number, p.state.Epic), "orch run " + cli.Quote(p.state.Epic)})
		}
	}
	if active {
		return out
	}
	left, err := proc.Survivors(w.marker())
	if err == nil && len(left) > 0 {
		out = append(out, finding{"processes", false, fmt.Sprintf("%d of a killed run are left: %v", len(left), left), "orch run EPIC ends them"})
	}
	return out
}

func newGCCmd(a *app) *cobra.Command {
	var dry bool
	c := &cobra.Command{
		Use:   "gc [EPIC]",
		Short: "remove worktrees, branches and logs of what is finished; work that landed nowhere stays reachable",
		Args:  cli.AtMost(1, "at most one epic"),
		RunE:  func(c *cobra.Command, args []string) error { return a.gc(c.Context(), args, dry) },
	}
	c.Flags().BoolVarP(&dry, "dry-run", "n", false, "only say what would be removed")
	return c
}

func (a *app) gc(ctx context.Context, args []string, dry bool) error {
	p, _, err := a.look(ctx, args)
	if err != nil {
		return err
	}
	if p.held {
		return &orchestrator.HeldError{Epic: p.state.Epic, Holder: p.holder}
	}
	store, err := p.store(p.state.Epic)
	if err != nil {
		return err
	}
	var said []string
	for _, t := range p.state.Tasks {
		for _, at := range t.Attempts {
			n := store.Name(string(t.ID), at.Number)
			if at.Open() || !store.Exists(string(t.ID), at.Number) {
				continue
			}
			said = append(said, n.Dir)
			if dry {
				continue
			}
			if err := store.Remove(ctx, string(t.ID), at.Number, at.Head); err != nil {
				return err
			}
		}
		if t.Done() {
			if logs := filepath.Dir(orchestrator.AttemptDir(p.dir, t.ID, 1)); cli.Exists(logs) {
				said = append(said, logs)
				if !dry {
					if err := os.RemoveAll(logs); err != nil {
						return fmt.Errorf("removing logs: %w", err)
					}
				}
			}
		}
	}
	if !dry {
		if err := store.Close(ctx); err != nil {
			return err
		}
	}
	if a.JSON {
		cli.WriteJSON(a.Stdout, map[string]any{"schema": "orch.gc/1", "epic": p.state.Epic, "dry_run": dry, "removed": said})
		return nil
	}
	for _, path := range said {
		fmt.Fprintln(a.Stdout, path)
	}
	word := "removed"
	if dry {
		word = "would be removed"
	}
	fmt.Fprintf(a.Stdout, "%d %s; commits that landed nowhere stay below refs/orch\n", len(said), word)
	return nil
}
