package cmd

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/orchestrator/command"
	"github.com/beadsorch/orch/orchestrator/engine"
	"github.com/beadsorch/orch/orchestrator/git/gittest"
	"github.com/beadsorch/orch/orchestrator/harness"
	"github.com/beadsorch/orch/orchestrator/harness/all"
	"github.com/beadsorch/orch/orchestrator/proc"
	"github.com/beadsorch/orch/orchestrator/sandbox"
	"github.com/beadsorch/orch/orchestrator/sandbox/cell"
)

// turns has what a turn of an attempt needs: a repository with a worktree, a person's home with a client's folder, toolchains and caches, and the
// program as it is installed.
type turns struct {
	cells *cell.Cells
	stay  engine.Stay
	env   []string
	proc  *proc.System
}

// newTurns makes turns at a level.
func newTurns(b *testing.B, l sandbox.Level) turns {
	b.Helper()
	top, err := filepath.EvalSymlinks(b.TempDir())
	require.NoError(b, err)
	self := filepath.Join(top, "bin", "orch")
	build := exec.CommandContext(b.Context(), "go", "build", "-o", self, "./orch")
	require.NoError(b, build.Run())
	w := gittest.New(b, os.Getenv("PATH"))
	w.Commit("file", "one\n")
	home := filepath.Join(top, "person")
	for _, folder := range []string{".claude/commands", ".claude/agents", ".claude/plugins", ".claude/projects", ".nvm", ".local/share/claude", ".local/share/uv", ".rustup", ".cargo/bin", ".cargo/registry",
		".cache/go-build", ".cache/pip", ".cache/uv", ".npm", "go/pkg/mod", "go/bin"} {
		require.NoError(b, os.MkdirAll(filepath.Join(home, folder), 0o700))
	}
	for _, name := range []string{".claude/settings.json", ".claude/.credentials.json", ".claude.json"} {
		require.NoError(b, os.WriteFile(filepath.Join(home, name), []byte("{}"), 0o600))
	}
	worktree := filepath.Join(top, "trees", "agent-t")
	w.Git("worktree", "add", "-q", "-b", "orch/e/t/1", worktree)
	getenv := func(name string) string { return map[string]string{"PATH": os.Getenv("PATH")}[name] }
	t := turns{proc: proc.New(proc.Options{Guard: []string{self, cli.GuardCommand}}), env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home}}
	bwrap, _ := exec.LookPath("bwrap")
	boxes := sandbox.Boxes(self, bwrap)
	t.cells = cell.New(cell.Options{
		Repo: w.Open(), Box: boxes[slices.IndexFunc(boxes, func(b sandbox.Box) bool { return b.Level == l })], Unbounded: t.proc.RunGuarded, Getenv: getenv,
		Place: sandbox.Place{CommonDir: filepath.Join(w.Dir, ".git"), Checkout: w.Dir, Siblings: filepath.Dir(worktree), Home: home, Program: self, Network: true}.Real().WithTools(getenv),
		Needs: func(string) harness.Needs {
			c, _ := all.Client("claude")
			return c.Needs
		},
	})
	epic := filepath.Join(w.Dir, ".git/orch/epics/e")
	t.stay = engine.Stay{Dir: worktree, Branch: "refs/heads/orch/e/t/1", Folder: filepath.Join(epic, "attempts/t/1"), Home: filepath.Join(epic, "homes/t"), Client: "claude", Command: []string{"true"}, Env: t.env}
	require.NoError(b, os.MkdirAll(t.stay.Folder, 0o700))
	require.NoError(b, os.MkdirAll(filepath.Dir(t.stay.Home), 0o700))
	if _, err := t.cells.In(engine.Room{})(b.Context(), t.command()); err != nil {
		b.Skipf("SKIPPED: no %s here: %s", l, err)
	}
	return t
}

func (t turns) command() command.Cmd {
	return command.Cmd{Dir: t.stay.Dir, Argv: []string{"echo"}, Env: t.env}
}

// steps are the times of one turn.
type steps struct {
	enter, begin, end, leave time.Duration // before the command is started, until it says something, until it is gone, and after that
}

func (s steps) start() time.Duration { return s.enter + s.begin }
func (s steps) all() time.Duration   { return s.start() + s.end + s.leave }

// run runs the command and gives when it began and when it was gone.
func (t turns) run(b *testing.B, c command.Cmd) (s steps) {
	b.Helper()
	started := time.Now()
	said := make(chan time.Time, 1)
	p, err := t.proc.Start(b.Context(), proc.Spec{Cmd: c, Output: func([]byte) { said <- time.Now() }})
	require.NoError(b, err)
	require.Zero(b, p.Wait().Code)
	ended, began := time.Now(), <-said
	return steps{begin: began.Sub(started), end: ended.Sub(began)}
}

// bounded is a turn in a sandbox.
func (t turns) bounded(b *testing.B) (s steps) {
	b.Helper()
	began := time.Now()
	c, err := t.cells.Enter(b.Context(), t.stay)
	require.NoError(b, err)
	cmd, err := c.Wrap(t.command())
	require.NoError(b, err)
	enter := time.Since(began)
	s = t.run(b, cmd)
	began = time.Now()
	_, err = c.Leave(b.Context())
	require.NoError(b, err)
	s.enter, s.leave = enter, time.Since(began)
	return s
}

// BenchmarkSandboxStart prints what a sandbox adds to a turn of an agent that does nothing, by the median of pairs of one with and one without: to
// its start, of which a part is before any process, to its end, and altogether.
func BenchmarkSandboxStart(b *testing.B) {
	for _, l := range sandbox.Levels() {
		b.Run(string(l), func(b *testing.B) {
			t := newTurns(b, l)
			times := map[string][]float64{}
			add := func(name string, d time.Duration) { times[name] = append(times[name], float64(d.Microseconds())/1000) }
			for b.Loop() {
				without, with := t.run(b, t.command()), t.bounded(b)
				add("ms-start", with.start()-without.start())
				add("ms-enter", with.enter)
				add("ms-end", with.end+with.leave-without.end)
				add("ms-leave", with.leave)
				add("ms-all", with.all()-without.all())
				add("ms-bare", without.all())
			}
			for name, all := range times {
				slices.Sort(all)
				b.ReportMetric(all[len(all)/2], name)
			}
		})
	}
}

// BenchmarkSandboxRun prints how much longer a run takes whose agents and gates are in a sandbox, by the median of pairs: eight tasks, four at a time, whose agents work
// for half a second.
func BenchmarkSandboxRun(b *testing.B) {
	top, err := filepath.EvalSymlinks(b.TempDir())
	require.NoError(b, err)
	orch := filepath.Join(top, "bin", "orch")
	build := exec.CommandContext(b.Context(), "go", "build", "-o", orch, "./orch")
	require.NoError(b, build.Run())
	var ratio, off, on []float64
	for n := 0; b.Loop(); n++ {
		without := timedRun(b, orch, filepath.Join(top, fmt.Sprint(n, "-off")), "off")
		with := timedRun(b, orch, filepath.Join(top, fmt.Sprint(n, "-auto")), "auto")
		off, on, ratio = append(off, without.Seconds()), append(on, with.Seconds()), append(ratio, with.Seconds()/without.Seconds())
	}
	for name, all := range map[string][]float64{"x-off": ratio, "s-off": off, "s-on": on} {
		slices.Sort(all)
		b.ReportMetric(all[len(all)/2], name)
	}
}

// timedRun makes a repository with an epic in it, and gives how long its run takes.
func timedRun(b *testing.B, orch, top, level string) time.Duration {
	b.Helper()
	dir := filepath.Join(top, "repo")
	env := []string{"PATH=" + filepath.Dir(orch) + ":" + os.Getenv("PATH"), "HOME=" + top, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=T", "GIT_AUTHOR_EMAIL=t@localhost",
		"GIT_COMMITTER_NAME=T", "GIT_COMMITTER_EMAIL=t@localhost", "ORCH_SANDBOX_LEVEL=" + level}
	do := func(args ...string) string {
		c := exec.CommandContext(b.Context(), args[0], args[1:]...)
		c.Dir, c.Env = dir, env
		out, err := c.CombinedOutput()
		require.NoError(b, err, "%v: %s", args, out)
		return string(out)
	}
	agent := filepath.Join(top, "agent.sh")
	require.NoError(b, os.MkdirAll(dir, 0o700))
	for path, text := range map[string]string{
		agent: `cd "$ORCH_WORKTREE"; sleep 0.5; echo x >"$ORCH_TASK"; git add -A; git commit -qm work`, filepath.Join(dir, ".gitignore"): ".beads/\nproject.yaml\n",
		filepath.Join(dir, "project.yaml"): "workflow:\n  tracker: {kind: file}\n  gate: [{name: gate, type: command, command: \"true\"}]\n  agent: {harness: command, command: [sh, " + agent + "]}\n",
	} {
		require.NoError(b, os.WriteFile(path, []byte(text), 0o600))
	}
	do("git", "init", "-q", "-b", "main")
	do("git", "add", "-A")
	do("git", "commit", "-qm", "base")
	do(orch, "tasks", "create", "epic", "--type", "epic", "--id", "e-1")
	for range 8 {
		do(orch, "tasks", "create", "task", "--parent", "e-1")
	}
	do(orch, "trust", digestIn(do(orch, "trust", "--show", "--json")))
	began := time.Now()
	do(orch, "run", "e-1")
	return time.Since(began)
}
