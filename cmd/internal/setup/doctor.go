package setup

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/config"
	"github.com/beadsorch/orch/cmd/internal/document"
	"github.com/beadsorch/orch/cmd/internal/explain"
	"github.com/beadsorch/orch/cmd/internal/workspace"
	"github.com/beadsorch/orch/orchestrator/command"
	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/harness/all"
	"github.com/beadsorch/orch/orchestrator/journal"
	"github.com/beadsorch/orch/orchestrator/proc"
	"github.com/beadsorch/orch/orchestrator/reason"
	"github.com/beadsorch/orch/orchestrator/text"
	"github.com/beadsorch/orch/orchestrator/tracker"
)

// finding is one thing that doctor looked at.
type finding struct {
	What string
	OK   bool
	Says string
	Fix  string // "" for none
}

// doctor looks at a workspace for what is missing.
type doctor struct{ workspace *workspace.Workspace }

// Doctor is the command orch doctor.
func Doctor(a *cli.Invocation) *cobra.Command {
	var fix, sandboxed bool
	c := &cobra.Command{
		Use:   "doctor",
		Short: "git, tracker, agent and leftovers, each with its fix",
		Long: `Doctor looks at all that orch needs, and at what killed runs left. With --fix it
mends orch's own files: a damaged journal is kept beside itself and cut to what is
sound, one of another epic is moved aside; the next run finds by git and the tracker
what is missing then. It says what it did, and leaves an epic alone that a run holds.
With --sandbox it looks at nothing but the sandbox: which levels this machine has, and
what each of them stops. It tries all of it, on files of its own. In a repository whose gate
is allowed to run it has that judge the commit that is checked out, in the sandbox, and where
it is red there also outside: it says what fails inside alone.`,
		Args: cli.AtMost(0, "no argument"),
		RunE: func(c *cobra.Command, _ []string) error {
			if sandboxed {
				return report(a, wideWords, checkSandbox(c.Context(), a))
			}
			return diagnose(c.Context(), a, fix)
		},
	}
	c.Flags().BoolVar(&fix, "fix", false, "mend damaged journals, old scratch files, entries of worktrees that were moved, and attempts that no journal knows; what is changed is kept before")
	c.Flags().BoolVar(&sandboxed, "sandbox", false, "try what a sandbox stops on this machine, and nothing else")
	c.MarkFlagsMutuallyExclusive("fix", "sandbox")
	return c
}

func diagnose(ctx context.Context, a *cli.Invocation, fix bool) error {
	opened, err := workspace.Read(ctx, a)
	if err != nil {
		return err
	}
	w := doctor{opened}
	var findings []finding
	if fix {
		findings = w.mend(ctx)
	}
	if w.workspace.Project.Broken != nil {
		u := explain.Error(w.workspace.Project.Broken)
		findings = append(findings, finding{"settings", false, u.What, strings.Join(u.Fix, "; ")})
	}
	inner, issues := w.checkTracker(ctx)
	findings = append(findings, w.checkGit(ctx), inner, w.checkAgent(ctx), w.checkGate())
	findings = append(append(append(findings, checkOpened(w.workspace)...), w.hookFindings(ctx)...), w.checkDisk())
	findings = append(append(findings, w.checkScratch()...), w.checkModes()...)
	return report(a, usualWords, append(append(findings, w.checkLeftovers(ctx, issues)...), w.checkForgotten(ctx, issues)...))
}

// usualWords and wideWords are the columns for what was looked at.
const (
	usualWords = 10
	wideWords  = 15
)

// report prints what was found, after words of that width. It fails with [cli.ExitNotReady] where something is wrong.
func report(a *cli.Invocation, width int, findings []finding) error {
	bad, rows := 0, []document.Finding{}
	for _, f := range findings {
		if rows = append(rows, document.Finding(f)); !f.OK {
			bad++
		}
	}
	if a.JSON {
		cli.WriteJSON(a.Stdout, document.Doctor{Findings: rows, Problems: bad})
	} else {
		for _, f := range findings {
			mark := "✓"
			if !f.OK {
				mark = "✗"
			}
			fmt.Fprintf(a.Stdout, " %s %-*s %s\n", mark, width, f.What, f.Says)
			if f.Fix != "" {
				fmt.Fprintf(a.Stdout, "    %-*sfix: %s\n", width, "", f.Fix)
			}
		}
		fmt.Fprintf(a.Stdout, "%d %s\n", bad, cli.Plural(bad, "problem", "problems"))
	}
	if bad > 0 {
		return cli.ExitWith(cli.ExitNotReady)
	}
	return nil
}

func (w doctor) checkGit(ctx context.Context) finding {
	v, err := w.workspace.Project.Repo.Out(ctx, "version")
	if err != nil {
		return finding{"git", false, err.Error(), "install git 2.38 or later"}
	}
	if err := w.workspace.Project.Repo.CheckHead(ctx); err != nil {
		u := explain.Error(err)
		return finding{"git", false, u.What, strings.Join(u.Fix, "; ")}
	}
	return finding{"git", true, strings.TrimPrefix(v, "git version "), ""}
}

// checkTracker asks the tracker for its issues; they are nil where it did not answer.
func (w doctor) checkTracker(ctx context.Context) (finding, []tracker.Issue) {
	ctx, cancel := context.WithTimeout(ctx, workspace.BDTimeout)
	defer cancel()
	t, err := w.workspace.Tracker(ctx)
	if err != nil {
		u := explain.Error(err)
		return finding{"tracker", false, u.What, strings.Join(u.Fix, "; ")}, nil
	}
	began := w.workspace.Now()
	issues, err := t.Survey(ctx)
	if err != nil {
		return finding{"tracker", false, err.Error(), "look at the tracker itself: " + w.workspace.TasksCommand() + " list"}, nil
	}
	open := 0
	for _, i := range issues {
		if i.Type == "epic" && string(i.Status) != "closed" {
			open++
		}
	}
	return finding{"tracker", true, fmt.Sprintf("%s, answers in %s, %d open %s", t.Name(), w.workspace.Now().Sub(began).Round(10*time.Millisecond), open, cli.Plural(open, "epic", "epics")), ""}, append([]tracker.Issue{}, issues...)
}

func (w doctor) checkAgent(ctx context.Context) finding {
	if w.workspace.Project.Config.Agent.Harness == "command" {
		name := w.workspace.Project.Config.Agent.Command[0]
		if w.workspace.Project.Invocation.LookPath(name) == "" {
			return finding{"agent", false, name + " is not on PATH", "workflow.agent.command in project.yaml"}
		}
		return finding{"agent", true, strings.Join(w.workspace.Project.Config.Agent.Command, " "), ""}
	}
	c, _ := all.Client(w.workspace.Project.Config.Agent.Harness)
	binary := w.workspace.Project.Invocation.LookPath(c.Name)
	if binary == "" {
		return finding{"agent", false, c.Name + " is not on PATH", "install " + c.Title + ", or set workflow.agent: {harness: command, command: [...]}"}
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	res, err := w.workspace.Project.Proc.Run(ctx, command.Cmd{Dir: w.workspace.Project.Root, Argv: []string{binary, "--version"}, Env: w.workspace.Project.AgentEnv(ctx), MaxOutputBytes: 4096, Bound: true})
	if err != nil {
		return finding{"agent", false, err.Error(), "reinstall " + c.Title}
	}
	return finding{"agent", true, strings.TrimSpace(c.Name + " " + strings.TrimPrefix(text.Head(string(res.Stdout)), c.Name)), ""}
}

func (w doctor) checkGate() finding {
	if len(w.workspace.Project.Config.Gate) == 0 {
		return finding{"gate", false, "none: whatever an agent commits would land", `orch init proposes one; or workflow.gate in project.yaml: [{name: tests_pass, type: command, command: "go test ./..."}]`}
	}
	f := finding{"gate", true, fmt.Sprintf("%d %s", len(w.workspace.Project.Config.Gate), cli.Plural(len(w.workspace.Project.Config.Gate), "rule", "rules")), ""}
	if missing := w.workspace.Project.Config.Missing; len(missing) > 0 {
		f.Says += "; agents name others, which are never asked: " + text.Cut(strings.Join(missing, ", "), 100)
		f.Fix = "add them to workflow.gate, or take them out of " + config.AgentsFolder
	}
	return f
}

// diskFloorBytes is the free space below which doctor complains.
const diskFloorBytes = 1 << 30

func (w doctor) checkDisk() finding {
	var st syscall.Statfs_t
	if err := syscall.Statfs(w.workspace.Project.Repo.CommonDir(), &st); err != nil {
		return finding{"disk", false, err.Error(), ""}
	}
	free := uint64(st.Bavail) * uint64(st.Bsize)
	f := finding{"disk", free >= diskFloorBytes, fmt.Sprintf("%.1f GB free", float64(free)/1e9), ""}
	if !f.OK {
		f.Fix = "make room: agents need worktrees"
	}
	return f
}

// checkBranch looks whether an epic's branch is where the last landing left it.
func checkBranch(ctx context.Context, p *workspace.EpicView) (out []finding) {
	id := cli.Quote(p.State.Epic)
	b, err := p.Standing(ctx)
	if err != nil {
		return []finding{{"branch", false, fmt.Sprintf("of %s: %s", p.State.Epic, err), "orch status " + id}}
	}
	switch {
	case b.Held != "" && epic.PromiseOf(p.State.WithBranch(b.Moved), p.Workspace.Now()).Promise == epic.LoopDone:
		out = append(out, finding{"branch", true, fmt.Sprintf("of %s: it is checked out in %s, after all was done", p.State.Epic, b.Held), ""})
	case b.Held != "":
		out = append(out, finding{"branch", false, fmt.Sprintf("[%s] of %s: it is checked out in %s", reason.CheckedOut, p.State.Epic, b.Held), strings.Join(explain.Leave(b.Held, b.Busy), "; ")})
	}
	moved := fmt.Sprintf("[%s] of %s: %s", reason.EpicMoved, p.State.Epic, b.Moved)
	switch {
	case b.Moved.From == "" && p.State.Foreign().From != "" && !p.Held && epic.PromiseOf(p.State, p.Workspace.Now()).Code == reason.BaseRed:
		out = append(out, finding{"branch", false, fmt.Sprintf("[%s] of %s: %s", reason.BaseRed, p.State.Epic, p.State.Run.DrainWhy), strings.Join(explain.Ways(p.State, epic.Summary{Code: reason.BaseRed}), "; or ")})
	case b.Moved.From == "":
	case b.Running:
		out = append(out, finding{"branch", false, moved, "the run that goes on puts it back, takes it as it is, or ends, before it lands again; then orch status " + id})
	case b.Lost():
		out = append(out, finding{"branch", false, moved, "orch epic restore " + id + ", or orch epic accept " + id})
	default:
		out = append(out, finding{"branch", true, fmt.Sprintf("of %s: %s; the next run has the gate judge it", p.State.Epic, b.Moved), ""})
	}
	return out
}

// checkKnown looks whether the tracker has still what the journal of an epic knows, and brings the
// view up to what it says: tasks may have been added since. Issues are nil where nobody could ask.
func checkKnown(p *workspace.EpicView, issues []tracker.Issue) (out []finding) {
	if issues == nil || p.Held || p.State.Epic == "" {
		return nil
	}
	if _, err := epic.FindEpic(issues, p.State.Epic); err != nil {
		return []finding{{"tracker", false, fmt.Sprintf("the epic %s, which orch has a journal of, is not in the tracker any more", p.State.Epic),
			"bring its issues back, from a backup or a commit of .beads; or, when nobody wants it: orch gc " + cli.Quote(p.State.Epic) + ", then rm -r " + cli.Quote(p.Folder)}}
	}
	there := map[epic.TaskID]bool{}
	for _, i := range issues {
		there[epic.TaskID(i.ID)] = true
	}
	var lost []string
	for _, t := range p.State.Tasks {
		if !t.Epic && !t.Done() && !there[t.ID] {
			lost = append(lost, string(t.ID))
		}
	}
	if len(lost) > 0 {
		out = append(out, finding{"tracker", false, fmt.Sprintf("the tracker no longer has %s of %s, which landed nowhere yet", text.Cut(strings.Join(lost, ", "), 100), p.State.Epic),
			"bring them back, from a backup or a commit of .beads; orch run " + cli.Quote(p.State.Epic) + " goes on without what was deleted on purpose"})
	}
	p.State = epic.WithSurvey(p.State, issues, p.Workspace.Now())
	return out
}

// checkLeftovers looks for epics that were cut off, for processes of theirs, and for what the
// tracker, whose issues these are, has lost.
func (w doctor) checkLeftovers(ctx context.Context, issues []tracker.Issue) (out []finding) {
	dirs, err := w.workspace.Epics()
	if err != nil {
		return []finding{{"epics", false, err.Error(), ""}}
	}
	lost, err := w.workspace.LostJournals(ctx)
	if err != nil {
		return []finding{{"epics", false, err.Error(), ""}}
	}
	for _, dir := range lost {
		u := explain.Error(workspace.LostError(dir))
		out = append(out, finding{"journal", false, u.What, strings.Join(u.Fix, "; ")})
	}
	active := false
	for _, dir := range dirs {
		p, err := w.workspace.ViewIn(dir)
		if err != nil {
			u := explain.Error(err)
			out = append(out, finding{"journal", false, filepath.Base(dir) + ": " + u.What, strings.Join(u.Fix, "; ")})
			continue
		}
		active = active || p.Held
		if err := journal.Check(dir); err != nil {
			u := explain.Error(err)
			out = append(out, finding{"journal", false, u.What, strings.Join(u.Fix, "; ")})
		}
		out = append(out, checkKnown(p, issues)...)
		out = append(out, checkBranch(ctx, p)...)
		out = append(out, w.checkRelocated(ctx, dir)...)
		for _, left := range p.Unremoved() {
			out = append(out, finding{"left", false, left.Path + ": " + left.Why, ""})
		}
		if !p.Held && p.State.Run.CutOff() {
			out = append(out, finding{"run", false, fmt.Sprintf("run %d of %s was cut off", p.State.Run.Number, p.State.Epic), "orch run " + cli.Quote(p.State.Epic)})
		}
	}
	if active {
		return out
	}
	left, err := proc.Survivors(w.workspace.Project.Marker())
	if err == nil && len(left) > 0 {
		out = append(out, finding{"processes", false, fmt.Sprintf("%d of a killed run are left: %v", len(left), left), "orch run EPIC ends them"})
	}
	return out
}
