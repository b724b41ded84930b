package cmd

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/beadsorch/orch/orchestrator/sandbox"
)

// bounded runs a test at each level that this machine has, on a fixture whose orch goes by the settings.
func bounded(t *testing.T, make func(*testing.T) *fixture, test func(*testing.T, *fixture, sandbox.Level)) {
	t.Helper()
	for _, l := range fewLevels(levelsHere(t)) {
		t.Run(string(l), func(t *testing.T) {
			t.Parallel()
			f := make(t)
			f.env = append(f.env, "ORCH_SANDBOX_LEVEL="+string(l))
			test(t, f, l)
		})
	}
}

// fewLevels are the strongest and the weakest level in an ordinary run, all in a strict one.
func fewLevels(all []sandbox.Level) []sandbox.Level {
	if thorough(2, 1, 1) == 1 || len(all) < 3 {
		return all
	}
	return []sandbox.Level{all[0], all[len(all)-1]}
}

// boundedAgent does its task, and then all that an agent may not. $HOME of its own is all the home that it has.
const boundedAgent = `cd "$ORCH_WORKTREE"; cat "$ORCH_BRIEF" | grep -q "Task" || exit 9
git log --format=%s | grep -qx base || exit 8
if test -e "$HOME/was-here"; then echo again >>again; git add again; fi; echo x >"$HOME/was-here"
echo "$ORCH_TASK" >"work-$ORCH_TASK"; git add "work-$ORCH_TASK"; git commit -qm work || exit 7
top=TOP; common=$top/repo/.git
for f in "$top/repo/tracked" "$top/secret" "$common/config" "$common/refs/heads/main" "$common/packed-refs" "$common/info/attributes" "$common/orch/epics/e-1/journal.jsonl"; do
	{ cat "$f" && echo evil >"$f"; rm -f "$f"; } >>read 2>/dev/null
done
echo evil >"$common/hooks/post-commit"; chmod +x "$common/hooks/post-commit"; echo evil >"$top/planted"; ln "$top/secret" linked
git config core.fsmonitor "touch $top/planted"; git update-ref refs/heads/main HEAD; git branch mine; git tag mine; rm -rf "$top/repo.worktrees/e-1/verify"
git add -A read; git commit -qm "what was read"
kill -9 $PPID
exit 0
`

// TestBounded: at each level an agent does its work, and nothing else of the person's is read or changed; the landing, the status and the
// journal say what bounded it; nothing is left of it.
func TestBounded(t *testing.T) {
	t.Parallel()
	bounded(t, func(t *testing.T) *fixture {
		top := t.TempDir()
		f := newFixtureIn(t, top, strings.ReplaceAll(boundedAgent, "TOP", top), "test -f work-e-1.1 -o ! -f work-e-1.1; ! cat "+top+"/secret; ! touch "+top+"/planted; test -f tracked")
		f.write(filepath.Join(top, "secret"), "the person's secret")
		f.write(filepath.Join(f.dir, "tracked"), "as it is")
		f.must("git", "add", "tracked")
		f.must("git", "commit", "-qm", "base")
		return f
	}, func(t *testing.T, f *fixture, l sandbox.Level) {
		top := filepath.Dir(f.dir)
		f.task("one")
		f.task("two", ".1")
		before, config := f.checkout(), f.must("cat", ".git/config")
		out, code := f.run(nil, "orch", "run", f.epic)
		require.Zero(t, code, "%s\n%s", out, f.must("orch", "logs", "e-1.1"))
		require.Equal(t, before, f.checkout())
		require.Equal(t, config, f.must("cat", ".git/config"))
		secret, err := os.ReadFile(filepath.Join(top, "secret"))
		require.NoError(t, err)
		require.Equal(t, "the person's secret", string(secret))
		require.NoFileExists(t, filepath.Join(top, "planted"))
		require.NoFileExists(t, filepath.Join(f.dir, ".git/hooks/post-commit"))
		require.NotContains(t, f.must("git", "show", "epic/e-1:read"), "secret")
		require.NotContains(t, f.must("git", "show", "epic/e-1:read"), "journal")
		require.NotContains(t, out, "TAMPERED")
		require.Equal(t, "main", f.must("git", "branch", "--list", "main", "mine", "--format=%(refname:short)"))
		require.Empty(t, f.must("git", "tag"))
		require.Contains(t, f.must("git", "log", "--format=%(trailers:key=Orch-Sandbox,valueonly)", "epic/e-1"), string(l))
		require.Contains(t, f.must("orch", "events", f.epic), "refs/heads/mine", "what was not taken back is named")
		require.Contains(t, f.must("orch", "status"), string(l))
		var status struct {
			Run struct{ Sandbox string }
		}
		require.NoError(t, json.Unmarshal([]byte(f.must("orch", "status", "--json")), &status))
		require.Equal(t, string(l), status.Run.Sandbox)
		f.nothingBounded()
	})
}

// nothingBounded: no process, cell, home or scratch folder is left.
func (f *fixture) nothingBounded() {
	f.t.Helper()
	f.noProcesses()
	for _, pattern := range []string{"attempts/*/*/cell", "homes/*", "../../tmp/cell-*", "../../tmp/shadow-*", "../../tmp/trial-*"} {
		left, err := filepath.Glob(filepath.Join(f.epicDir(), pattern))
		require.NoError(f.t, err)
		require.Empty(f.t, left)
	}
	require.NoDirExists(f.t, f.dir+".worktrees")
}

// TestBoundedKilled: what an agent has committed in its sandbox when orch was killed is taken back by the next run.
func TestBoundedKilled(t *testing.T) {
	t.Parallel()
	bounded(t, func(t *testing.T) *fixture {
		top := t.TempDir()
		f := newFixtureIn(t, top, `cd "$ORCH_WORKTREE"; if test "$ORCH_ATTEMPT" = 1 && test -e "$HOME/../../../../../../../line"; then :; fi
			echo "$ORCH_ATTEMPT" >"work-$ORCH_ATTEMPT"; git add -A; git commit -qm "attempt $ORCH_ATTEMPT"; if test "$ORCH_ATTEMPT" = 1; then git rev-parse HEAD; echo committed >`+top+`/line/fifo; sleep 1000; fi`, "true")
		require.NoError(t, os.Mkdir(filepath.Join(top, "line"), 0o700))
		require.NoError(t, unix.Mkfifo(filepath.Join(top, "line/fifo"), 0o600))
		f.env = append(f.env, "ORCH_SANDBOX_WRITE="+filepath.Join(top, "line"))
		return f
	}, func(t *testing.T, f *fixture, _ sandbox.Level) {
		f.task("one")
		before := f.checkout()
		c := exec.CommandContext(t.Context(), filepath.Join(f.bin, "orch"), "run", f.epic)
		c.Dir, c.Env = f.dir, f.env
		require.NoError(t, c.Start())
		said, err := os.ReadFile(filepath.Join(filepath.Dir(f.dir), "line/fifo")) // waits for the agent
		require.NoError(t, err)
		require.Equal(t, "committed\n", string(said))
		require.NoError(t, c.Process.Kill())
		require.Error(t, c.Wait())
		out, code := f.run(nil, "orch", "run", f.epic)
		require.Zero(t, code, out)
		require.Equal(t, before, f.checkout())
		kept := f.must("git", "for-each-ref", "--format=%(refname) %(subject)", "refs/orch/e-1/attic")
		require.Contains(t, kept+f.must("git", "log", "--format=%s", "epic/e-1"), "attempt 1")
		require.Contains(t, f.must("git", "log", "--format=%s", "epic/e-1"), "attempt 2")
		require.NotContains(t, out, "TAMPERED")
		f.nothingBounded()
	})
}

// TestBoundedKilledAnywhere is TestKilledAnywhere in a sandbox, at fewer moments.
func TestBoundedKilledAnywhere(t *testing.T) {
	t.Parallel()
	bounded(t, killFixture, func(t *testing.T, f *fixture, l sandbox.Level) {
		if l == sandbox.Landlock && thorough(2, 1, 1) == 2 {
			t.Skip("strict runs try it at each level")
		}
		was := f.checkout()
		out, code := f.run(nil, "orch", "run", f.epic)
		require.Zero(t, code, out)
		tree := f.must("git", "rev-parse", "epic/"+f.epic+"^{tree}")
		require.Equal(t, was, f.checkout())
		events := countEvents(t, f)
		for n := 5; n <= events; n += thorough(60, 16, 3) {
			f := killFixture(t)
			f.env = append(f.env, "ORCH_SANDBOX_LEVEL="+string(l))
			f.run([]string{"ORCH_TEST_KILL=after " + strconv.Itoa(n)}, "orch", "run", f.epic)
			out, code := f.run(nil, "orch", "run", f.epic)
			require.Zero(t, code, out)
			f.oracle(tree, out)
			f.nothingBounded()
		}
	})
}

// TestBoundedOrNot: without a level nothing starts, and only the person's side does without.
func TestBoundedOrNot(t *testing.T) {
	t.Parallel()
	f := newFixture(t, `cd "$ORCH_WORKTREE"; echo x >work; git add -A; git commit -qm work`, "true")
	f.byDefault()
	f.env = append(f.env, "XDG_CONFIG_HOME="+filepath.Join(filepath.Dir(f.dir), "own"))
	f.task("one")
	own := filepath.Join(filepath.Dir(f.dir), "own/orch/config.yaml")
	f.write(own, "workflow: {sandbox: {level: bubblewrap}}\n")
	git := filepath.Dir(lookPath(t, "git"))
	none := "PATH=" + f.bin + ":" + withoutBwrap(t, git)
	out, code := f.run([]string{none}, "orch", "run", f.epic)
	require.Equal(t, 4, code, out)
	require.Contains(t, out, "NO_SANDBOX")
	require.Contains(t, out, "orch run --no-sandbox")
	require.NotContains(t, f.must("git", "branch"), "epic", "nothing has begun")

	f.write(filepath.Join(f.dir, "project.yaml"), strings.Replace(f.read("project.yaml"), "workflow:\n", "workflow:\n  sandbox: {level: off}\n", 1))
	out, code = f.run(nil, "orch", "run", f.epic)
	require.Equal(t, 2, code, out)
	require.Contains(t, out, "is not for a repository to say")
	f.write(filepath.Join(f.dir, "project.yaml"), strings.Replace(f.read("project.yaml"), "  sandbox: {level: off}\n", "", 1))

	out, code = f.run([]string{none}, "orch", "run", "--no-sandbox", f.epic)
	require.Zero(t, code, out)
	require.Contains(t, f.must("git", "log", "-1", "--format=%(trailers:key=Orch-Sandbox,valueonly)", "epic/e-1"), "off")
	f.write(own, "workflow: {sandbox: {level: off}}\n")
	require.Contains(t, f.must("orch", "status"), "no sandbox")
}

func (f *fixture) read(name string) string {
	f.t.Helper()
	text, err := os.ReadFile(filepath.Join(f.dir, name))
	require.NoError(f.t, err)
	return string(text)
}

func lookPath(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	require.NoError(t, err)
	return path
}

// withoutBwrap is a folder with the programs of another, but for one.
func withoutBwrap(t *testing.T, from string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range listing(t, from) {
		if name != "bwrap" {
			require.NoError(t, os.Symlink(filepath.Join(from, name), filepath.Join(dir, name)))
		}
	}
	return dir
}

// TestClientsBounded: each real client lands two tasks within bounds, goes on with a conversation after a red gate, and changes nothing of
// the home but its own folder.
func TestClientsBounded(t *testing.T) {
	t.Parallel()
	levels := levelsHere(t)
	for name, agent := range unattended() {
		at := levels[:1]
		if name == "claude" || name == "codex" {
			at = slices.Compact([]sandbox.Level{levels[0], levels[len(levels)-1]})
		}
		for _, l := range at {
			t.Run(name+"/"+string(l), func(t *testing.T) {
				t.Parallel()
				f, model := clientFixture(t, name, agent, wrongThenRight)
				f.env = append(f.env, "ORCH_SANDBOX_LEVEL="+string(l))
				one := name != "opencode" // which makes itself at home for each task
				if one {
					f.task("task one")
				}
				f.task("task two")
				before := f.checkout()
				out, code := f.run(nil, "orch", "run", f.epic)
				require.Zero(t, code, "%s\n%s", out, f.must("orch", "logs", "e-1.1"))
				if one {
					require.Equal(t, "right", f.must("git", "show", "epic/e-1:one.txt"))
				}
				require.Equal(t, "right", f.must("git", "show", "epic/e-1:two.txt"))
				requireResumed(t, model)
				require.Equal(t, before, f.checkout())
				f.nothingBounded()
			})
		}
	}
}

// TestBoundedGate: a gate that looks for what it cannot see is red, and says which setting may help; that setting does.
func TestBoundedGate(t *testing.T) {
	t.Parallel()
	levelsHere(t)
	top := t.TempDir()
	f := newFixtureIn(t, top, `cd "$ORCH_WORKTREE"; echo x >work; git add -A; git commit -qm work`, "grep -q needed "+top+"/person/data")
	f.write(filepath.Join(top, "person/data"), "needed")
	f.env = append(f.env, "ORCH_SANDBOX_LEVEL=auto")
	f.task("one")
	out, code := f.run(nil, "orch", "run", f.epic)
	require.Equal(t, 3, code, out)
	require.Contains(t, out, "BASE_RED")
	require.Contains(t, out, "sandbox.read")
	out, code = f.run([]string{"ORCH_SANDBOX_READ=" + top + "/person/data"}, "orch", "run", f.epic)
	require.Zero(t, code, out)
}

// TestBoundedHook: the program of a task's hook reads the checkout, and changes nothing of it.
func TestBoundedHook(t *testing.T) {
	t.Parallel()
	levelsHere(t)
	f := newFixture(t, `cd "$ORCH_WORKTREE"; echo x >work; git add -A; git commit -qm work; echo "<promise>COMPLETE</promise>"`, "true")
	f.write(filepath.Join(f.dir, "hook.sh"), `cat >/dev/null; cat .gitignore >/dev/null && ! echo evil 2>/dev/null >>.gitignore && ! touch planted 2>/dev/null && { touch .git/planted 2>/dev/null; echo '{"action":"complete","reason":"read only"}'; }`)
	f.must("git", "add", "hook.sh")
	f.must("git", "commit", "-qm", "hook")
	f.env = append(f.env, "ORCH_SANDBOX_LEVEL=auto")
	f.task("one")
	f.must("orch", "hook", "register", "e-1.1", "--type", "command", "--command", "sh", "--command", "hook.sh")
	f.trust()
	out, code := f.run(nil, "orch", "run", f.epic)
	require.Zero(t, code, out)
	require.Contains(t, out+f.must("orch", "events", f.epic), "read only")
	require.NoFileExists(t, filepath.Join(f.dir, ".git/planted"))
}

// TestBoundedLimits: an agent that uses more than it may is ended, the task says why and what to do, and the other agents and the run go on.
func TestBoundedLimits(t *testing.T) {
	t.Parallel()
	bounded(t, func(t *testing.T) *fixture {
		return newFixture(t, `cd "$ORCH_WORKTREE"; case "$ORCH_TASK" in
			e-1.1) grow() { if [ "$1" -gt 0 ]; then sleep 1000 & (grow $(($1 - 1))) & (grow $(($1 - 1))) & fi; }; grow 6; sleep 1000 ;;
			e-1.2) head -c 15000000 /dev/zero >"$HOME/large"; cp "$HOME/large" "$TMPDIR/large"; sleep 1000 ;;
			*) echo x >work; git add -A; git commit -qm work ;; esac`, "true")
	}, func(t *testing.T, f *fixture, _ sandbox.Level) {
		for _, title := range []string{"one", "two", "three"} {
			f.task(title)
		}
		before := f.checkout()
		out, code := f.run([]string{"ORCH_SANDBOX_LIMITS_PROCESSES=60", "ORCH_SANDBOX_LIMITS_DISK=20MB", "ORCH_RUN_ATTEMPTS=1"}, "orch", "run", f.epic)
		require.Equal(t, 3, code, out)
		require.Contains(t, out, "PROCESS_LIMIT")
		require.Contains(t, out, "DISK_LIMIT")
		require.Contains(t, f.must("orch", "events", f.epic), "had more than 60 processes")
		require.Equal(t, "x", f.must("git", "show", "epic/e-1:work"))
		require.Equal(t, before, f.checkout())
		f.noProcesses()
	})
}

// TestBoundedRefused: what an agent did to its repository without git is kept and named, its task is parked, and a retry begins anew.
func TestBoundedRefused(t *testing.T) {
	t.Parallel()
	bounded(t, func(t *testing.T) *fixture {
		return newFixture(t, `cd "$ORCH_WORKTREE"; echo "$ORCH_ATTEMPT" >work; git add work; git commit -qm "attempt $ORCH_ATTEMPT"
			if [ "$ORCH_ATTEMPT" = 1 ]; then common=$(git rev-parse --git-common-dir); ref=$(git symbolic-ref HEAD); rm "$common/$ref"; mkdir "$common/$ref"; fi; exit 0`, "true")
	}, func(t *testing.T, f *fixture, _ sandbox.Level) {
		f.task("one")
		out, code := f.run(nil, "orch", "run", f.epic)
		require.Equal(t, 3, code, out)
		status := f.must("orch", "status")
		require.Contains(t, status, "WORK_REFUSED")
		require.Contains(t, status, "refused-1")
		require.Contains(t, status, "orch sandbox explain e-1.1")
		require.Contains(t, f.must("orch", "sandbox", "explain", "e-1.1"), "refused    ")
		require.Equal(t, "1", f.must("git", "show", "refs/orch/e-1/attic/e-1.1/1:work"))
		require.NotContains(t, f.must("git", "log", "--format=%s", "epic/e-1"), "one")
		f.must("orch", "retry", "e-1.1")
		out, code = f.run(nil, "orch", "run", f.epic)
		require.Zero(t, code, out)
		require.Equal(t, "2", f.must("git", "show", "epic/e-1:work"))
		f.nothingBounded()
	})
}

// TestBoundedHint: an agent that changed nothing, and a gate that was red, name in their reason the path that was refused, and the setting.
func TestBoundedHint(t *testing.T) {
	t.Parallel()
	levelsHere(t)
	f := newFixture(t, `cd "$ORCH_WORKTREE"; if [ "$ORCH_TASK" = e-1.2 ]; then echo x >work; git add -A; git commit -qm work; exit; fi; echo x >/usr/planted; exit 0`,
		"! test -f work || touch /usr/built")
	f.env = append(f.env, "ORCH_SANDBOX_LEVEL=auto")
	f.task("one")
	f.task("two")
	out, code := f.run(nil, "orch", "run", f.epic)
	require.Equal(t, 3, code, out)
	status := f.must("orch", "status", f.epic)
	require.Regexp(t, `NO_CHANGE.*/usr/planted: (Read-only file system \(sandbox\.write|Permission denied \(sandbox\.read or sandbox\.write) opens it`, status)
	require.Regexp(t, `GATE_FAILED.*/usr/built: (Read-only|Permission denied)`, status)
}

// TestBoundedWithCaches: a person without the rights of root whose home has caches, over which layers are laid, gets the same run, and
// nothing is left of what the level was tried with.
func TestBoundedWithCaches(t *testing.T) {
	t.Parallel()
	levelsHere(t)
	f := newFixture(t, `cd "$ORCH_WORKTREE"; echo x >work; git add -A; git commit -qm work`, "true")
	home := filepath.Dir(f.dir)
	f.write(filepath.Join(home, ".cache/go-build/00/a"), "x")
	f.write(filepath.Join(home, ".npm/a"), "x")
	f.byDefault()
	u := plainUserOf(t, f, "022", somebody)
	out, code := u.orch("tasks", "create", "one", "--parent", "e-1")
	require.Zero(t, code, out)
	for range 2 {
		out, code = u.orch("run", "e-1")
		require.Zero(t, code, out)
	}
	left, err := filepath.Glob(filepath.Join(f.dir, ".git/orch/tmp/*"))
	require.NoError(t, err)
	require.Empty(t, left)
}
