package cmd

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/beadsorch/orch/beads"
	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/config"
	"github.com/beadsorch/orch/cmd/internal/project"
	"github.com/beadsorch/orch/cmd/internal/trust"
	"github.com/beadsorch/orch/cmd/internal/workspace"
	"github.com/beadsorch/orch/orchestrator"
	"github.com/beadsorch/orch/orchestrator/git"
	"github.com/beadsorch/orch/orchestrator/text"
	"github.com/beadsorch/orch/orchestrator/tracker"
)

// demoCmd is the demo, and its agent.
type demoCmd struct{ app *app }

// demoFlags say which demo it is.
type demoFlags struct{ stuck, keep bool }

func newDemoCmd(a demoCmd) *cobra.Command {
	var f demoFlags
	c := &cobra.Command{
		Use:   "demo",
		Short: "watch it work: a throw-away repository, scripted agents, the real engine",
		Long: `Demo makes a git repository in a temporary folder, with an epic of seven tasks in
the embedded tracker, and runs it: real worktrees, real processes, a real gate.
One task fails its gate and is mended by the second attempt; one conflicts with
another and is resolved. It takes about 15 seconds and touches nothing else.`,
		Args: cli.AtMost(0, "no argument"),
		RunE: func(c *cobra.Command, _ []string) error { return a.demo(c.Context(), f) },
	}
	c.Flags().BoolVar(&f.stuck, "stuck", false, "leave one task failing its gate and one asking, to try status, retry and answer on")
	c.Flags().BoolVar(&f.keep, "keep", false, "keep the repository")
	agent := &cobra.Command{Use: "agent", Hidden: true, Args: cobra.NoArgs, RunE: func(c *cobra.Command, _ []string) error { return a.demoAgent(c.Context()) }}
	c.AddCommand(agent)
	return c
}

// demoStep is a task of the demo, with what its scripted agent does.
type demoStep struct {
	title string
	about string
	needs []int // places in the list, from 1
	file  string
	lines []string
	takes time.Duration
	route string // a line that it adds to routes.txt, where tasks meet
}

func demoSteps() []demoStep {
	const s = 1600 * time.Millisecond
	return []demoStep{
		{title: "Store: in-memory map", about: "Keep links in a map.", file: "store.txt", lines: []string{"a map from code to link", "guarded by a mutex"}, takes: 2 * s},
		{title: "Codec: base62", about: "Turn numbers into short codes.", file: "codec.txt", lines: []string{"base62, digits first"}, takes: 2 * s},
		{title: "Config from environment", about: "Read the port from PORT.", file: "config.txt", lines: []string{"PORT, 8080 by default"}, takes: s},
		{title: "POST /links", about: "Make a short link.", needs: []int{1, 2}, file: "create.txt", lines: []string{"POST /links answers 201 with the code"}, takes: 3 * s, route: "POST /links"},
		{title: "GET /:code redirect", about: "Send a visitor on; 404 for an unknown code.", needs: []int{1, 2}, file: "redirect.txt", lines: []string{"GET /:code answers 302", "404 for an unknown code"}, takes: 2 * s},
		{title: "Health endpoint", about: "Say that the server is well.", needs: []int{3}, file: "health.txt", lines: []string{"GET /health answers 200"}, takes: 3 * s, route: "GET /health"},
		{title: "End-to-end check", about: "Make a link and follow it.", needs: []int{4, 5, 6}, file: "e2e.txt", lines: []string{"create, follow, compare"}, takes: 2 * s},
	}
}

// demoCheck is the gate of the demo: what is there must be whole.
const demoCheck = `# The gate of the demo: each part that is there must be whole.
if [ -f redirect.txt ] && ! grep -q 404 redirect.txt; then
	echo "redirect: want 404 for an unknown code, got 200"; exit 1
fi
if [ -f routes.txt ] && grep -q '^<<<<<<<' routes.txt; then
	echo "routes: a conflict was committed"; exit 1
fi
if [ -f e2e.txt ]; then
	for part in store codec config create redirect health; do
		[ -f $part.txt ] || { echo "e2e: $part is missing"; exit 1; }
	done
fi
echo "all parts are whole"
`

const demoEpic = "demo-1"

func (a demoCmd) demo(ctx context.Context, f demoFlags) error {
	dir, err := os.MkdirTemp("", "orch-demo-")
	if err != nil {
		return fmt.Errorf("making a folder for the demo: %w", err)
	}
	keep := f.keep || f.stuck
	repo := filepath.Join(dir, "shortener")
	inner := demoCmd{&app{App: &cli.Invocation{Process: a.app.App.Process, JSON: a.app.App.JSON}, faults: a.app.faults}}
	inner.app.App.Dir, inner.app.App.Env = repo, a.demoEnv(f.stuck)
	if err := inner.makeDemo(ctx, repo); err != nil {
		return err
	}
	if !a.app.App.JSON {
		fmt.Fprintf(a.app.App.Stdout, "A throw-away git repository, %s; nothing else is touched.\n\n", repo)
	}
	w, err := workspace.Open(ctx, inner.app.App)
	if err != nil {
		return err
	}
	defer inner.app.App.End()
	if keep { // what a person tries there later runs what is the demo's own
		q, err := trust.Ask(ctx, w.Project, "HEAD")
		if err != nil {
			return err
		}
		if err := q.Answer(true); err != nil {
			return err
		}
	}
	w.Project.Config.Sandbox.Level = config.SandboxAuto
	if _, err := w.Sandbox(ctx); err != nil {
		a.app.App.Warn("the demo's agents run without a sandbox: " + text.Head(err.Error()))
		w.Project.Config.Sandbox.Level = config.SandboxOff
	}
	out, err := driver{workspace: w, faults: a.app.faults}.drive(ctx, demoEpic, runFlags{base: "HEAD"}, func(d *orchestrator.Deps) { d.Limits.SurveyEvery = time.Second })
	if err == nil {
		err = out.Say(w.Project.Invocation)
	}
	a.afterDemo(dir, repo, keep)
	if !keep {
		if rmErr := os.RemoveAll(dir); err == nil && rmErr != nil {
			err = fmt.Errorf("removing the demo: %w", rmErr)
		}
	}
	return err
}

// afterDemo says what to do next.
func (a demoCmd) afterDemo(dir, repo string, keep bool) {
	if a.app.App.JSON {
		return
	}
	if keep {
		fmt.Fprintf(a.app.App.Stdout, "\nThe repository is kept. Try there:\n  cd %s\n  orch status              what needs you, and the command for each\n"+
			"  orch answer ... / orch retry ... / orch run %s\n  rm -rf %s\n", repo, demoEpic, dir)
		return
	}
	fmt.Fprint(a.app.App.Stdout, `
The throw-away repository is gone again; orch demo --keep keeps it.
Next, in a repository of yours:
  orch doctor              git, tracker, agent: what is missing
  orch plan EPIC           what a run would do; starts nothing
  orch run EPIC            do it
  orch demo --stuck        the same with tasks that get stuck, to try status and retry on
`)
}

// demoEnv is an environment in which a person's own git settings play no part.
func (a demoCmd) demoEnv(stuck bool) []string {
	env := append(a.app.App.FilterEnv("PATH", "HOME", "XDG_STATE_HOME", "TMPDIR", "LANG", "LC_*", "TERM", "NO_COLOR"),
		"GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=orch demo", "GIT_AUTHOR_EMAIL=demo@localhost", "GIT_COMMITTER_NAME=orch demo", "GIT_COMMITTER_EMAIL=demo@localhost")
	if stuck {
		env = append(env, "ORCH_DEMO_STUCK=1")
	}
	return env
}

// makeDemo makes the repository, its settings and its tasks.
func (a demoCmd) makeDemo(ctx context.Context, repo string) error {
	if err := os.MkdirAll(repo, 0o700); err != nil {
		return fmt.Errorf("making the demo: %w", err)
	}
	settings := fmt.Sprintf("workflow:\n  run: {max_parallel: 3}\n  tracker: {kind: file}\n  gate:\n    - {name: check, type: command, command: \"sh check.sh\"}\n"+
		"  agent: {harness: command, command: [%q, demo, agent], env: [ORCH_DEMO_STUCK]}\n", a.app.App.Self)
	for name, text := range map[string]string{project.SettingsFile: settings, "check.sh": demoCheck, "README.md": "# A tiny URL shortener\n", ".gitignore": ".beads/\n"} {
		if err := os.WriteFile(filepath.Join(repo, name), []byte(text), 0o600); err != nil {
			return fmt.Errorf("making the demo: %w", err)
		}
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"}, {"commit", "-q", "-m", "Begin a tiny URL shortener"}} {
		if err := a.git(ctx, repo, args...); err != nil {
			return err
		}
	}
	return a.makeDemoTasks(ctx, filepath.Join(repo, ".beads"))
}

// git runs git in a folder of the demo.
func (a demoCmd) git(ctx context.Context, dir string, args ...string) error {
	return git.Plain(ctx, a.app.App.System("").Run, dir, a.app.App.Env, args...)
}

func (a demoCmd) makeDemoTasks(ctx context.Context, dir string) error {
	f, err := beads.OpenFile(beads.FileOptions{Dir: dir, Now: a.app.App.Now, Actor: "demo"})
	if err != nil {
		return err
	}
	if _, err := f.Create(ctx, tracker.Issue{ID: demoEpic, Title: "Build a tiny URL shortener", Type: "epic", Priority: 1}, ""); err != nil {
		return err
	}
	steps := demoSteps()
	ids := make([]string, len(steps))
	for i, s := range steps {
		made, err := f.Create(ctx, tracker.Issue{Title: s.title, Description: s.about, Type: "task", Priority: 2}, demoEpic)
		if err != nil {
			return err
		}
		ids[i] = made.ID
		for _, n := range s.needs {
			if err := f.AddDependency(ctx, made.ID, ids[n-1], "blocks"); err != nil {
				return err
			}
		}
	}
	return nil
}

// demoAgent is a scripted agent: a real process that works on its task the way
// a coding agent does, mistakes included.
func (a demoCmd) demoAgent(ctx context.Context) error {
	n := 0
	if _, err := fmt.Sscanf(strings.TrimPrefix(a.app.App.Getenv("ORCH_TASK"), demoEpic+"."), "%d", &n); err != nil || n < 1 || n > len(demoSteps()) {
		return cli.Usage("this is the agent of orch demo; it is not for people")
	}
	step, dir := demoSteps()[n-1], a.app.App.Getenv("ORCH_WORKTREE")
	if a.app.App.Getenv("ORCH_ITERATION") != "1" {
		return a.resolve(ctx, dir, step)
	}
	stuck := a.app.App.Getenv("ORCH_DEMO_STUCK") != ""
	if stuck && step.route == "GET /health" && !a.answered() {
		a.work(ctx, "read "+step.file, time.Second)
		fmt.Fprintln(a.app.App.Stdout, "<promise>BLOCKED</promise>\nReason: Should /health tell the version?")
		return nil
	}
	a.work(ctx, "read the brief", step.takes/3)
	lines := step.lines
	if n == 5 && (a.app.App.Getenv("ORCH_ATTEMPT") == "1" || stuck && !a.answered()) {
		lines = lines[:1] // the mistake that the gate finds
	}
	a.work(ctx, "edit "+step.file, step.takes*2/3)
	if err := os.WriteFile(filepath.Join(dir, step.file), []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		return err
	}
	if step.route != "" {
		if err := addRoute(dir, step.route); err != nil {
			return err
		}
	}
	return a.commit(ctx, dir, step.title)
}

// answered reports whether a person has given a hint or an answer: the brief
// has it.
func (a demoCmd) answered() bool {
	b, err := os.ReadFile(a.app.App.Getenv("ORCH_BRIEF"))
	return err == nil && strings.Contains(string(b), "A person has answered")
}

// work passes the time that the agent would take.
func (a demoCmd) work(ctx context.Context, what string, d time.Duration) {
	fmt.Fprintln(a.app.App.Stdout, what)
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	<-ctx.Done()
}

func addRoute(dir, route string) error {
	path := filepath.Join(dir, "routes.txt")
	b, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	return os.WriteFile(path, append(b, []byte(route+"\n")...), 0o600)
}

// resolve merges what has landed and keeps both routes.
func (a demoCmd) resolve(ctx context.Context, dir string, step demoStep) error {
	a.work(ctx, "merge what has landed", time.Second)
	if err := a.git(ctx, dir, "merge", "--no-edit", "epic/"+demoEpic); err == nil {
		return a.promise()
	}
	both := "GET /health\nPOST /links\n"
	if err := os.WriteFile(filepath.Join(dir, "routes.txt"), []byte(both), 0o600); err != nil {
		return err
	}
	return a.commit(ctx, dir, step.title+": keep both routes")
}

func (a demoCmd) commit(ctx context.Context, dir, message string) error {
	if err := a.git(ctx, dir, "add", "-A"); err != nil {
		return err
	}
	if err := a.git(ctx, dir, "commit", "-q", "-m", message); err != nil {
		return err
	}
	return a.promise()
}

func (a demoCmd) promise() error {
	fmt.Fprintln(a.app.App.Stdout, "<promise>COMPLETE</promise>")
	return nil
}
