package cmd

import (
	"context"
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
	run   command.Runner
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
	t := turns{run: proc.New(proc.Options{Guard: []string{self, cli.GuardCommand}}).RunGuarded, env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home}}
	bwrap, _ := exec.LookPath("bwrap")
	boxes := sandbox.Boxes(self, bwrap)
	t.cells = cell.New(cell.Options{
		Repo: w.Open(), Box: boxes[slices.IndexFunc(boxes, func(b sandbox.Box) bool { return b.Level == l })], Run: t.run, Getenv: getenv,
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
	if _, err := t.cells.Run(b.Context(), t.command()); err != nil {
		b.Skipf("SKIPPED: no %s here: %s", l, err)
	}
	return t
}

// command says when it has begun, in nanoseconds.
func (t turns) command() command.Cmd {
	return command.Cmd{Dir: t.stay.Dir, Argv: []string{"true"}, Env: t.env}
}

// steps are the times of one turn.
type steps struct{ enter, run, leave time.Duration }

func (s steps) start() time.Duration { return s.enter + s.run }

// bare is a turn without a sandbox.
func (t turns) bare(ctx context.Context, b *testing.B) (s steps) {
	b.Helper()
	began := time.Now()
	_, err := t.run(ctx, t.command())
	s.run = time.Since(began)
	require.NoError(b, err)
	return s
}

// bounded is a turn in a sandbox.
func (t turns) bounded(ctx context.Context, b *testing.B) (s steps) {
	b.Helper()
	began := time.Now()
	c, err := t.cells.Enter(ctx, t.stay)
	require.NoError(b, err)
	cmd, err := c.Wrap(t.command())
	require.NoError(b, err)
	s.enter = time.Since(began)
	began = time.Now()
	_, err = t.run(ctx, cmd)
	s.run = time.Since(began)
	require.NoError(b, err)
	began = time.Now()
	_, err = c.Leave(ctx)
	s.leave = time.Since(began)
	require.NoError(b, err)
	return s
}

// BenchmarkSandboxStart prints what a sandbox adds to the start of a command that does nothing, by the median of pairs: what is made for it
// first, the start itself with the command's end, and what is taken back after it.
func BenchmarkSandboxStart(b *testing.B) {
	for _, l := range sandbox.Levels() {
		b.Run(string(l), func(b *testing.B) {
			t := newTurns(b, l)
			var enter, run, leave, added, ratio []float64
			for b.Loop() {
				without, with := t.bare(b.Context(), b), t.bounded(b.Context(), b)
				enter = append(enter, ms(with.enter))
				run = append(run, ms(with.run-without.run))
				leave = append(leave, ms(with.leave))
				added = append(added, ms(with.start()-without.start()))
				ratio = append(ratio, with.start().Seconds()/without.start().Seconds())
			}
			b.ReportMetric(median(added), "ms-added")
			b.ReportMetric(median(ratio), "x-bare")
			b.ReportMetric(median(enter), "ms-enter")
			b.ReportMetric(median(run), "ms-bounds")
			b.ReportMetric(median(leave), "ms-leave")
		})
	}
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func median(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
}
