package cell_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/command"
	"github.com/beadsorch/orch/orchestrator/engine"
	"github.com/beadsorch/orch/orchestrator/git/gittest"
	"github.com/beadsorch/orch/orchestrator/harness"
	"github.com/beadsorch/orch/orchestrator/proc"
	"github.com/beadsorch/orch/orchestrator/sandbox"
	"github.com/beadsorch/orch/orchestrator/sandbox/cell"
	"github.com/beadsorch/orch/orchestrator/sandbox/sandboxtest"
)

// TestMain lets the test binary be a guard, a sandbox, and a client that renews its login.
func TestMain(m *testing.M) { sandboxtest.Main(m, renew, doErrand) }

const branch = "refs/heads/orch/e/t/1"

// world is a repository with a worktree of an attempt, and a home with a client's folder in it.
type world struct {
	gittest.World
	cells *cell.Cells
	stay  engine.Stay
	home  string
	run   command.Runner
}

func (w *world) at(path string) string { return filepath.Join(w.home, path) }

// eachLevel runs a test at each level of this machine.
func eachLevel(t *testing.T, test func(*testing.T, *world)) {
	t.Helper()
	for _, l := range sandbox.Levels() {
		t.Run(string(l), func(t *testing.T) {
			t.Parallel()
			sandboxtest.Few(t, string(l))
			test(t, newWorld(t, l))
		})
	}
}

func newWorld(t *testing.T, l sandbox.Level) *world {
	t.Helper()
	w := &world{World: gittest.New(t, os.Getenv("PATH"))}
	w.Commit("file", "one\n")
	top := filepath.Dir(w.Dir)
	w.home = filepath.Join(top, "person")
	for name, text := range map[string]string{".client/login": "the login", ".client/settings.json": "{}", ".client/sessions/of-the-person": "x", ".client.json": "seed", "secret": "secret"} {
		require.NoError(t, os.MkdirAll(filepath.Dir(w.at(name)), 0o700))
		require.NoError(t, os.WriteFile(w.at(name), []byte(text), 0o600))
	}
	worktree := filepath.Join(top, "trees", "agent-t")
	w.Git("worktree", "add", "-q", "-b", "orch/e/t/1", worktree)
	self, err := os.Executable()
	require.NoError(t, err)
	w.run = proc.New(proc.Options{Guard: []string{self, "guard"}}).RunGuarded
	repo, epic := w.Open(), filepath.Join(w.Dir, ".git/orch/epics/e")
	bwrap, _ := exec.LookPath("bwrap")
	boxes := sandbox.Boxes(self, bwrap)
	box := boxes[slices.IndexFunc(boxes, func(b sandbox.Box) bool { return b.Level == l })]
	w.cells = cell.New(cell.Options{
		Repo: repo, Box: box, Unbounded: w.run,
		Place: sandbox.Place{Checkout: w.Dir, Siblings: filepath.Join(top, "trees"), Home: w.home, Program: self, Network: true}.Real(),
		Getenv: func(name string) string {
			if name == "PATH" {
				return os.Getenv("PATH")
			}
			return ""
		},
		Needs: func(string) harness.Needs {
			return harness.Needs{Share: []string{".client"}, Fixed: []string{".client/settings.json", ".client/hooks", ".client/linked"}, Own: []string{".client/sessions"}, Seed: []string{".client.json"}, Env: []string{"CLIENT_TMP=$TMPDIR"}}
		},
	})
	w.stay = engine.Stay{Dir: worktree, Branch: branch, Folder: filepath.Join(epic, "attempts/t/1"), Home: filepath.Join(epic, "homes/t"), Client: "client"}
	require.NoError(t, os.MkdirAll(w.stay.Folder, 0o700))
	require.NoError(t, os.MkdirAll(filepath.Dir(w.stay.Home), 0o700))
	if _, err := w.cells.In(engine.Room{})(t.Context(), command.Cmd{Dir: worktree, Argv: []string{"true"}, Env: w.Env}); err != nil {
		sandboxtest.Skip(t, string(l), err.Error())
	}
	return w
}

// turn has a shell script be the agent.
func (w *world) turn(script string) (string, engine.Left) {
	w.T.Helper()
	c, err := w.cells.Enter(w.T.Context(), w.stay)
	require.NoError(w.T, err)
	out := w.in(c, script)
	left, err := c.Leave(w.T.Context())
	require.NoError(w.T, err)
	return out, left
}

func (w *world) in(c engine.Cell, script string) string {
	w.T.Helper()
	cmd, err := c.Wrap(command.Cmd{Dir: w.stay.Dir, Argv: []string{"sh", "-c", script}, Env: w.Env})
	require.NoError(w.T, err)
	res, err := w.run(w.T.Context(), cmd)
	require.NoError(w.T, err, string(res.Stderr))
	return string(res.Stdout)
}

func (w *world) content(path string) string {
	w.T.Helper()
	text, err := os.ReadFile(path)
	require.NoError(w.T, err)
	return string(text)
}

// TestTurns: a login is shared and refreshes in place, conversations are the task's own and kept, as is the rest of its home, and what was
// committed is there.
func TestTurns(t *testing.T) {
	t.Parallel()
	eachLevel(t, func(t *testing.T, w *world) {
		out, left := w.turn(`cat "$HOME/.client/login" "$HOME/.client.json"; test -d "$CLIENT_TMP" || echo no folder; cat "$HOME/secret" 2>/dev/null; echo newer >"$HOME/.client/login.new" && mv "$HOME/.client/login.new" "$HOME/.client/login"
			echo mine >"$HOME/kept"; echo talk >"$HOME/.client/sessions/one"; echo two >file; git commit -qam two; git tag t`)
		require.Equal(t, "the loginseed", out)
		require.Equal(t, []string{"refs/tags/t"}, left.Dropped)
		require.Equal(t, "newer\n", w.content(w.at(".client/login")))
		require.Equal(t, "two", w.Git("log", "-1", "--format=%s", branch))
		require.NoDirExists(t, filepath.Join(w.stay.Folder, "cell"))
		out, _ = w.turn(`cat "$HOME/kept" "$HOME/.client/sessions/one"; git log -1 --format=%s`)
		require.Equal(t, "mine\ntalk\ntwo\n", out)
		if w.cells.Box.Level.Mounts() {
			require.NoFileExists(t, w.at(".client/sessions/one"))
		}
		require.Equal(t, "{}", w.content(w.at(".client/settings.json")))
	})
}

// TestPlanted: what a client would run, and was not there, is moved out of what is shared; a link that was there is again, also when the
// process has died before it could look.
func TestPlanted(t *testing.T) {
	t.Parallel()
	eachLevel(t, func(t *testing.T, w *world) {
		require.NoError(t, os.Symlink("/elsewhere", w.at(".client/linked")))
		script := `mkdir "$HOME/.client/hooks"; echo evil >"$HOME/.client/hooks/run"; rm "$HOME/.client/linked"; ln -s / "$HOME/.client/linked"; echo evil >"$HOME/.client/settings.json" 2>/dev/null; exit 0`
		_, left := w.turn(script)
		planted := []string{w.at(".client/hooks"), w.at(".client/linked")}
		if !w.cells.Box.Level.Mounts() {
			planted = append(planted, w.at(".client/settings.json"))
		}
		require.ElementsMatch(t, planted, left.Planted)
		require.Equal(t, "{}", w.content(w.at(".client/settings.json")))
		c, err := w.cells.Enter(t.Context(), w.stay)
		require.NoError(t, err)
		w.in(c, script+"; true")
		left, err = w.cells.Recover(t.Context(), w.stay.Folder)
		require.NoError(t, err)
		require.ElementsMatch(t, planted, left.Planted)
		require.NoDirExists(t, w.at(".client/hooks"))
		to, err := os.Readlink(w.at(".client/linked"))
		require.NoError(t, err)
		require.Equal(t, "/elsewhere", to)
		require.Equal(t, "{}", w.content(w.at(".client/settings.json")))
	})
}

// TestFixed: what a client runs or obeys is after each turn as it was when the first of them began, also where another began when it was
// changed already; what a person changes while no turn is under way stays.
func TestFixed(t *testing.T) {
	t.Parallel()
	eachLevel(t, func(t *testing.T, w *world) {
		require.NoError(t, os.MkdirAll(w.at(".client/hooks/below"), 0o750))
		require.NoError(t, os.WriteFile(w.at(".client/hooks/below/run"), []byte("good"), 0o700))
		require.NoError(t, os.Symlink("below/run", w.at(".client/hooks/link")))
		other := w.stay
		other.Dir = filepath.Join(filepath.Dir(w.stay.Dir), "agent-u")
		other.Branch, other.Folder, other.Home = "refs/heads/orch/e/u/1", filepath.Join(filepath.Dir(w.stay.Folder), "2"), w.stay.Home+"u"
		w.Git("worktree", "add", "-q", "-b", "orch/e/u/1", other.Dir)
		require.NoError(t, os.MkdirAll(other.Folder, 0o700))
		one, err := w.cells.Enter(t.Context(), w.stay)
		require.NoError(t, err)
		w.in(one, `h="$HOME/.client/hooks"; echo evil >"$h/below/run"; echo evil >"$h/new"; rm "$h/link"; ln -s /etc/passwd "$h/link"; chmod 777 "$h/below"; exit 0`)
		two, err := w.cells.Enter(t.Context(), other)
		require.NoError(t, err)
		_, err = one.Leave(t.Context())
		require.NoError(t, err)
		left, err := two.Leave(t.Context())
		require.NoError(t, err)
		require.Empty(t, left.Planted, "it is put back already")
		require.Equal(t, "good", w.content(w.at(".client/hooks/below/run")))
		require.NoFileExists(t, w.at(".client/hooks/new"))
		to, err := os.Readlink(w.at(".client/hooks/link"))
		require.NoError(t, err)
		require.Equal(t, "below/run", to)
		for path, mode := range map[string]os.FileMode{"hooks/below": 0o750, "hooks/below/run": 0o700} {
			info, err := os.Stat(w.at(".client/" + path))
			require.NoError(t, err)
			require.Equal(t, mode, info.Mode().Perm())
		}
		require.NoError(t, os.WriteFile(w.at(".client/settings.json"), []byte("the person's"), 0o600))
		_, left = w.turn("true")
		require.Empty(t, left.Planted)
		require.Equal(t, "the person's", w.content(w.at(".client/settings.json")))
	})
}

// TestHomeOfAnAgent: links that an agent leaves in its home lead the next turn nowhere.
func TestHomeOfAnAgent(t *testing.T) {
	t.Parallel()
	eachLevel(t, func(t *testing.T, w *world) {
		w.turn(`cd "$HOME"; rm -rf .client.json .gitconfig .profile .bash_profile .zshenv; for f in .gitconfig .profile .bash_profile .zshenv; do ln -s ` + w.at("secret") + ` $f; done
			ln -s ` + w.home + ` .client.json; rm -rf .client 2>/dev/null; ln -s ` + w.home + ` .client 2>/dev/null; exit 0`)
		out, _ := w.turn(`cat "$HOME/.client/secret" "$HOME/.client.json/secret" 2>/dev/null; exit 0`)
		require.NotContains(t, out, "secret")
		require.Equal(t, "secret", w.content(w.at("secret")))
	})
}

// TestRefused: what is not what git makes is kept and named, and a turn after it works.
func TestRefused(t *testing.T) {
	t.Parallel()
	eachLevel(t, func(t *testing.T, w *world) {
		_, left := w.turn(`rm -f "$(git rev-parse --git-common-dir)/` + branch + `"; mkdir -p "$(git rev-parse --git-common-dir)/` + branch + `"; echo two >file`)
		require.Contains(t, left.Refused, "refused-1")
		require.DirExists(t, filepath.Join(w.stay.Folder, "refused-1"))
		require.Equal(t, w.Git("rev-parse", "main"), w.Git("rev-parse", branch))
		require.Equal(t, "M file", w.Git("-C", w.stay.Dir, "status", "--porcelain"))
		out, _ := w.turn("git commit -qam three && git log -1 --format=%s")
		require.Equal(t, "three\n", out)
		require.Equal(t, "three", w.Git("log", "-1", "--format=%s", branch))
	})
}

// TestRun: a command that judges has the worktree to write, and the checkout only to read; what it does to references is dropped.
func TestRun(t *testing.T) {
	t.Parallel()
	eachLevel(t, func(t *testing.T, w *world) {
		pointer := w.content(filepath.Join(w.stay.Dir, ".git"))
		res, err := w.cells.In(engine.Room{})(t.Context(), command.Cmd{Dir: w.stay.Dir, Argv: []string{"sh", "-c", `echo built >built; git add built; git commit -qm x; git log -1 --format=%s; cat "$HOME/secret" 2>/dev/null; exit 3`}, Env: w.Env})
		require.Error(t, err)
		require.Equal(t, 3, res.ExitCode)
		require.Equal(t, "x\n", string(res.Stdout))
		require.Equal(t, w.Git("rev-parse", "main"), w.Git("rev-parse", branch))
		require.FileExists(t, filepath.Join(w.stay.Dir, "built"))
		require.Equal(t, pointer, w.content(filepath.Join(w.stay.Dir, ".git")))
		res, err = w.cells.In(engine.Room{})(t.Context(), command.Cmd{Dir: w.Dir, Argv: []string{"sh", "-c", `cat file; git status --porcelain; echo x >file; touch .git/planted; exit 0`}, Env: w.Env})
		require.NoError(t, err, string(res.Stderr))
		require.Equal(t, "one\n", string(res.Stdout))
		require.Equal(t, "one\n", w.content(filepath.Join(w.Dir, "file")))
		require.NoFileExists(t, filepath.Join(w.Dir, ".git/planted"))
		left, err := filepath.Glob(filepath.Join(w.Dir, ".git/orch/tmp/cell-*"))
		require.NoError(t, err)
		require.Empty(t, left)
	})
}

// greedy are scripts that use more than a little of something, and never end. None uses more than the machine has, should nobody look.
func greedy() map[string]string {
	return map[string]string{
		command.Processes: `grow() { if [ "$1" -gt 0 ]; then sleep 1000 & (grow $(($1 - 1))) & (grow $(($1 - 1))) & fi; }; grow 6; sleep 1000`,
		command.Memory:    `exec awk 'BEGIN { for (s = "x"; ; s = s s) if (length(s) > 200000000) while (1) system("sleep 1000") }'`,
		command.Disk:      `head -c 20000000 /dev/zero >"$TMPDIR/a"; cp "$TMPDIR/a" "$HOME/b"; cp "$HOME/b" c; sleep 1000`,
	}
}

// TestLimits: what uses too much ends, with all that it has started, while another attempt goes on; nothing of it is left.
func TestLimits(t *testing.T) {
	t.Parallel()
	for what, script := range greedy() {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			eachLevel(t, func(t *testing.T, w *world) {
				w.cells.Limits = command.Limits{Processes: 60, Memory: 150 << 20, Disk: 30 << 20}
				c, err := w.cells.Enter(t.Context(), w.stay) // another
				require.NoError(t, err)
				_, err = w.cells.In(engine.Room{})(t.Context(), command.Cmd{Dir: w.stay.Dir, Argv: []string{"sh", "-c", script}, Env: w.Env})
				var over *command.LimitError
				require.ErrorAs(t, err, &over)
				require.Equal(t, what, over.What)
				require.Equal(t, "still here\n", w.in(c, "rm -f c; echo still here"))
				_, err = c.Leave(t.Context())
				require.NoError(t, err)
				left, err := filepath.Glob(filepath.Join(w.Dir, ".git/orch/tmp/cell-*"))
				require.NoError(t, err)
				require.Empty(t, left)
			})
		})
	}
}

// TestLimitsOfTheKernel: what the kernel keeps by itself is told to it.
func TestLimitsOfTheKernel(t *testing.T) {
	t.Parallel()
	eachLevel(t, func(t *testing.T, w *world) {
		w.cells.Limits = command.Limits{Processes: 100, Disk: 1 << 20}
		out, _ := w.turn(`ulimit -f; ulimit -p 2>/dev/null || ulimit -u; cat /proc/self/oom_score_adj`)
		lines := strings.Fields(out)
		require.Len(t, lines, 3)
		require.Contains(t, []string{"1024", "2048"}, lines[0], "in blocks of 1024 or 512 bytes")
		if w.cells.Box.Level.Mounts() {
			require.Equal(t, "400", lines[1])
		} else {
			require.NotEqual(t, "400", lines[1])
		}
		require.Equal(t, "500", lines[2])
	})
}

// TestIndexTime: an index has its time on its way in and out, by which git knows whether a file may have changed since.
func TestIndexTime(t *testing.T) {
	t.Parallel()
	eachLevel(t, func(t *testing.T, w *world) {
		index, past := filepath.Join(w.Dir, ".git/worktrees/agent-t/index"), time.Unix(1_000_000_000, 0)
		require.NoError(t, os.Chtimes(index, past, past))
		out, _ := w.turn(`i=$(git rev-parse --git-path index); date -r "$i" +%s; echo x >new; git add new; touch -d @1000000500 "$i"`)
		require.Equal(t, "1000000000\n", out)
		info, err := os.Stat(index)
		require.NoError(t, err)
		require.Equal(t, int64(1_000_000_500), info.ModTime().Unix())
	})
}

// TestPointerReplaced: a repository that an agent makes in the place of the pointer to it is kept aside, and a turn after it works.
func TestPointerReplaced(t *testing.T) {
	t.Parallel()
	eachLevel(t, func(t *testing.T, w *world) {
		pointer := w.content(filepath.Join(w.stay.Dir, ".git"))
		_, left := w.turn(`echo two >file; rm -f .git 2>/dev/null && git init -q . && git add -A && git commit -qm elsewhere; exit 0`)
		require.Equal(t, pointer, w.content(filepath.Join(w.stay.Dir, ".git")))
		if !w.cells.Box.Level.Mounts() {
			require.Equal(t, []string{filepath.Join(w.stay.Dir, ".git")}, left.Planted)
			kept, err := filepath.Glob(filepath.Join(w.stay.Folder, "planted-*", "HEAD"))
			require.NoError(t, err)
			require.Len(t, kept, 1)
		}
		out, _ := w.turn("git status --porcelain; git commit -qam three && git log -1 --format=%s")
		require.Equal(t, " M file\nthree\n", out)
	})
}
