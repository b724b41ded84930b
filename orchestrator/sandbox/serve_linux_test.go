package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/beadsorch/orch/orchestrator/command"
	"github.com/beadsorch/orch/orchestrator/private"
	"github.com/beadsorch/orch/orchestrator/proc"
	"github.com/beadsorch/orch/orchestrator/sandbox"
	"github.com/beadsorch/orch/orchestrator/sandbox/sandboxtest"
)

// TestMain lets the test binary be a guard, and a sandbox.
func TestMain(m *testing.M) { sandboxtest.Main(m) }

// here is a place in a folder of the test's own, with the least that has to be there.
func here(t *testing.T) sandbox.Place {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	at := func(path string) string { return filepath.Join(top, path) }
	for _, dir := range []string{"repo/.git/objects", "trees/1", "shadow/borrowed", "home", "private", "tmp"} {
		require.NoError(t, os.MkdirAll(at(dir), 0o700))
	}
	require.NoError(t, os.WriteFile(at("trees/1/.git"), nil, 0o600))
	return sandbox.Place{Worktree: at("trees/1"), CommonDir: at("repo/.git"), Shadow: at("shadow"), Checkout: at("repo"), Siblings: at("trees"),
		Home: at("home"), PrivateHome: at("private"), Temp: at("tmp"), Program: self(t), Network: true}.Real()
}

func self(t *testing.T) string {
	t.Helper()
	file, err := os.Executable()
	require.NoError(t, err)
	return file
}

func system(t *testing.T) *proc.System {
	t.Helper()
	return proc.New(proc.Options{Guard: []string{self(t), "guard"}, Grace: 30 * time.Second})
}

// boxes are the levels that this machine has.
func boxes(t *testing.T, p sandbox.Policy) (found []sandbox.Box) {
	t.Helper()
	bwrap, _ := exec.LookPath("bwrap")
	for _, b := range sandbox.Boxes(self(t), bwrap) {
		if err := b.Try(t.Context(), system(t).RunGuarded, p); err != nil {
			t.Run(string(b.Level), func(t *testing.T) { sandboxtest.Skip(t, string(b.Level), err.Error()) })
			continue
		}
		found = append(found, b)
	}
	return found
}

// TestCommands: a command within the bounds has the arguments, the folder, the output and the exit status that it would have.
func TestCommands(t *testing.T) {
	t.Parallel()
	policy, err := sandbox.New(here(t))
	require.NoError(t, err)
	env := []string{"PATH=" + os.Getenv("PATH"), "A=b"}
	for _, b := range boxes(t, policy) {
		for name, test := range map[string]struct {
			argv []string
			code int
			out  string
			says string
		}{
			"output":     {argv: []string{"sh", "-c", `pwd; echo "$A" "$1"; echo x >new; cat new; rm new`, "sh", "a  b"}, out: policy.Dir + "\nb a  b\nx\n"},
			"a status":   {argv: []string{"sh", "-c", "exit 7"}, code: 7},
			"a signal":   {argv: []string{"sh", "-c", "kill -TERM $$"}, code: 143},
			"nothing":    {argv: []string{"no-such-program"}, code: 127, says: "no-such-program"},
			"no program": {argv: []string{"/etc/passwd"}, code: 126, says: "permission denied"},
			"files":      {argv: []string{"sh", "-c", "ls /proc/self/fd | wc -l"}, out: "4\n"},
			"home":       {argv: []string{"sh", "-c", `echo x >"$HOME/file" && cat "$HOME/file" && echo y >"$TMPDIR/file" && cat "$TMPDIR/file"`}, out: "x\ny\n"},
			"filter":     {argv: []string{"grep", "-e", "NoNewPrivs", "-e", "Seccomp:", "/proc/self/status"}, out: "NoNewPrivs:\t1\nSeccomp:\t2\n"},
			"signals":    {argv: []string{"sh", "-c", `trap "echo caught; exit 3" TERM; kill -TERM $$`}, out: "caught\n", code: 3},
		} {
			t.Run(string(b.Level)+"/"+name, func(t *testing.T) {
				t.Parallel()
				c, err := b.Wrap(command.Cmd{Argv: test.argv, Env: env}, policy)
				require.NoError(t, err)
				res, err := system(t).RunGuarded(t.Context(), c)
				var exit *command.ExitError
				if !errors.As(err, &exit) {
					require.NoError(t, err)
				}
				require.Equal(t, test.code, res.ExitCode, string(res.Stderr))
				require.Equal(t, test.out, strings.ReplaceAll(string(res.Stdout), "\r", ""))
				require.Contains(t, string(res.Stderr), test.says)
			})
		}
	}
}

// TestNoRights: where there are namespaces neither a command nor the first process of them has any capability.
func TestNoRights(t *testing.T) {
	t.Parallel()
	policy, err := sandbox.New(here(t))
	require.NoError(t, err)
	for _, b := range boxes(t, policy) {
		if !b.Level.Mounts() {
			continue
		}
		t.Run(string(b.Level), func(t *testing.T) {
			t.Parallel()
			c, err := b.Wrap(command.Cmd{Argv: []string{"sh", "-c", "cat /proc/self/status /proc/1/task/*/status | grep -E 'Cap(Eff|Prm|Amb)' | sort -u"}, Env: []string{"PATH=" + os.Getenv("PATH")}}, policy)
			require.NoError(t, err)
			res, err := system(t).RunGuarded(t.Context(), c)
			require.NoError(t, err)
			none := ":\t0000000000000000\n"
			require.Equal(t, "CapAmb"+none+"CapEff"+none+"CapPrm"+none, string(res.Stdout))
		})
	}
}

// layers reports whether this machine mounts layers in a namespace where files of this test are: not so below another overlay.
func layers(t *testing.T) bool {
	t.Helper()
	var fs unix.Statfs_t
	require.NoError(t, unix.Statfs(os.TempDir(), &fs))
	return fs.Type != unix.OVERLAYFS_SUPER_MAGIC
}

// TestCaches: a command finds what is in a cache, and what it makes of it is seen by itself alone, where there are mounts;
// elsewhere it can only read.
func TestCaches(t *testing.T) {
	t.Parallel()
	place := here(t)
	cache := filepath.Join(place.Home, ".cache", "x")
	require.NoError(t, os.MkdirAll(filepath.Join(cache, "sub"), 0o700))
	for _, name := range []string{"kept", "changed", "removed", "sub/file"} {
		require.NoError(t, os.WriteFile(filepath.Join(cache, name), []byte(name), 0o600))
	}
	place.Caches = []string{cache, filepath.Join(place.Home, "not-there")}
	policy, err := sandbox.New(place)
	require.NoError(t, err)
	for _, b := range boxes(t, policy) {
		t.Run(string(b.Level), func(t *testing.T) {
			for range 2 {
				c, err := b.Wrap(command.Cmd{Argv: []string{"sh", "-c", `cd "$1"; cat kept changed removed sub/file; echo x >changed; rm -f removed; echo new >new; rm -rf sub; ls`, "sh", cache}, Env: []string{"PATH=" + os.Getenv("PATH")}}, policy)
				require.NoError(t, err)
				res, err := system(t).RunGuarded(t.Context(), c)
				require.NoError(t, err, string(res.Stderr))
				if !b.Level.Mounts() {
					require.Equal(t, "keptchangedremovedsub/filechanged\nkept\nremoved\nsub\n", string(res.Stdout))
				} else if !layers(t) {
					require.Equal(t, "changed\nnew\n", string(res.Stdout))
				} else {
					require.Equal(t, "keptchangedremovedsub/filechanged\nkept\nnew\n", string(res.Stdout))
				}
				for _, name := range []string{"kept", "changed", "removed", "sub/file"} {
					content, err := os.ReadFile(filepath.Join(cache, name))
					require.NoError(t, err)
					require.Equal(t, name, string(content))
				}
				above, err := private.OpenAbove(place.Temp, 1)
				require.NoError(t, err)
				require.NoError(t, errors.Join(above.RemoveAll(place.Temp), above.Close()), "nothing that cannot be removed is left")
				require.NoError(t, os.Mkdir(place.Temp, 0o700))
			}
		})
	}
}

// TestFetched: what a command writes to a cache is there for those that come after it and are told so, each of which writes for itself alone.
func TestFetched(t *testing.T) {
	t.Parallel()
	for _, l := range sandbox.Levels()[:2] {
		t.Run(string(l), func(t *testing.T) {
			t.Parallel()
			place := here(t)
			cache, plain := filepath.Join(place.Home, ".cache", "x"), filepath.Join(place.Home, ".cache", "a,b")
			for _, dir := range []string{cache, plain} { // of which the second cannot be layered
				require.NoError(t, os.MkdirAll(dir, 0o700))
				require.NoError(t, os.WriteFile(filepath.Join(dir, "old"), []byte("old"), 0o600))
			}
			place.Caches = []string{cache, plain}
			policy, err := sandbox.New(place)
			require.NoError(t, err)
			found := boxes(t, policy)
			at := slices.IndexFunc(found, func(b sandbox.Box) bool { return b.Level == l })
			if at < 0 {
				return
			}
			in := func(temp, fetched, script string) string {
				p := place
				p.Temp, p.Fetched = temp, fetched
				require.NoError(t, os.MkdirAll(temp, 0o700))
				policy, err := sandbox.New(p)
				require.NoError(t, err)
				c, err := found[at].Wrap(command.Cmd{Argv: []string{"sh", "-c", script, "sh", cache, plain}, Env: []string{"PATH=" + os.Getenv("PATH")}}, policy)
				require.NoError(t, err)
				res, err := system(t).RunGuarded(t.Context(), c)
				require.NoError(t, err, string(res.Stderr))
				return string(res.Stdout)
			}
			top := filepath.Dir(place.Temp)
			setup := filepath.Join(top, "setup")
			for _, name := range []string{"one", "two"} { // a setup has several commands
				in(setup, "", `for c in "$1" "$2"; do echo `+name+` >"$c/`+name+`"; done`)
			}
			for range 2 {
				later := filepath.Join(top, "later")
				require.Equal(t, "one\ntwo\n", in(later, setup, `cat "$2/one" "$2/two"; echo mine >"$2/mine"; rm "$2/mine"`))
				if layers(t) {
					require.Equal(t, "old\none\ntwo\n", in(later, setup, `cat "$1/old"; echo; cat "$1/one" "$1/two"; test ! -e "$1/mine" || exit 3; echo mine >"$1/mine"; rm "$1/one"`))
				}
				require.NoError(t, private.RemoveAll(later))
			}
			left, err := os.ReadDir(cache)
			require.NoError(t, err)
			require.Len(t, left, 1, "the person's is as it was")
			require.NoError(t, private.RemoveAll(setup))
		})
	}
}

// TestInterrupt: a command that is interrupted may put its things in order, and what it leaves behind ends with it.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	policy, err := sandbox.New(here(t))
	require.NoError(t, err)
	for _, b := range boxes(t, policy) {
		t.Run(string(b.Level), func(t *testing.T) {
			t.Parallel()
			c, err := b.Wrap(command.Cmd{Argv: []string{"sh", "-c", `trap "echo order; exit 5" INT; (setsid sleep 1000 &); sleep 1000 & echo ready; wait`}, Env: []string{"PATH=" + os.Getenv("PATH")}}, policy)
			require.NoError(t, err)
			var out strings.Builder
			ready := make(chan struct{})
			p, err := system(t).Start(t.Context(), proc.Spec{Cmd: c, Log: filepath.Join(t.TempDir(), "log"), Output: func(b []byte) {
				was := out.Len()
				if out.Write(b); was == 0 {
					close(ready)
				}
			}})
			require.NoError(t, err)
			select {
			case <-ready:
			case <-t.Context().Done():
			}
			p.Stop(proc.Interrupted)
			exit := p.Wait()
			require.Equal(t, "ready\norder\n", out.String())
			require.Equal(t, 5, exit.Code)
			require.Empty(t, exit.Survivors)
		})
	}
}

// TestKilled: with the guard, or with what keeps the bounds, all within them ends, also what has left its session and its environment.
// Where there are no namespaces, that is the work of whoever started the guard.
func TestKilled(t *testing.T) {
	t.Parallel()
	for _, whom := range []string{"guard", "sandbox"} {
		policy, err := sandbox.New(here(t))
		require.NoError(t, err)
		for _, b := range boxes(t, policy) {
			if b.Level == sandbox.Landlock {
				continue
			}
			t.Run(whom+"/"+string(b.Level), func(t *testing.T) {
				t.Parallel()
				line := filepath.Join(policy.Dir, string(b.Level))
				require.NoError(t, unix.Mkfifo(line, 0o600))
				held, err := os.OpenFile(line, os.O_RDONLY|unix.O_NONBLOCK, 0)
				require.NoError(t, err)
				defer held.Close()
				until, err := os.OpenFile(line, os.O_WRONLY, 0) // somebody holds the other side from the beginning
				require.NoError(t, err)
				c, err := b.Wrap(command.Cmd{Argv: []string{"sh", "-c", `exec 9>"$1"; env -i setsid sleep 1000 & echo ready >&9; wait`, "sh", line}, Env: []string{"PATH=" + os.Getenv("PATH")}}, policy)
				require.NoError(t, err)
				p, err := system(t).Start(t.Context(), proc.Spec{Cmd: c, Log: filepath.Join(t.TempDir(), "log")})
				require.NoError(t, err)
				said := make([]byte, 16)
				n, err := held.Read(said)
				require.NoError(t, err)
				require.Equal(t, "ready\n", string(said[:n]))
				require.NoError(t, until.Close())
				victim := find(t, func(_ int, argv string) bool {
					return strings.Contains(argv, "\x00guard\x00") && strings.Contains(argv, "\x00"+line+"\x00")
				})
				if whom == "sandbox" {
					guard := victim
					victim = find(t, func(pid int, _ string) bool { return parent(pid) == guard })
				}
				require.NoError(t, unix.Kill(victim, unix.SIGKILL))
				p.Wait()
				n, err = held.Read(said) // ends when nobody holds the other side
				require.ErrorIs(t, err, io.EOF, string(said[:n]))
			})
		}
	}
}

// find is the one process of which is says so, by its number and its command line with zero bytes.
func find(t *testing.T, is func(pid int, argv string) bool) (found int) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	require.NoError(t, err)
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if argv, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); err == nil && is(pid, string(argv)) {
			require.Zero(t, found, "two processes")
			found = pid
		}
	}
	require.NotZero(t, found, "no such process")
	return found
}

// parent is the number of the process that a process was started by, 0 where that is not known.
func parent(pid int) (ppid int) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	rest := string(stat[strings.LastIndexByte(string(stat), ')')+1:])
	_, _ = fmt.Sscanf(rest, " %c %d", new(rune), &ppid)
	return ppid
}

// TestSetUpFails: a sandbox that cannot be set up says so, and runs nothing of the command.
func TestSetUpFails(t *testing.T) {
	t.Parallel()
	place := here(t)
	policy, err := sandbox.New(place)
	require.NoError(t, err)
	own := filepath.Join(place.Temp, "bwrap")
	require.NoError(t, os.WriteFile(own, []byte("#!/bin/sh\necho ran\n"), 0o777))
	require.NoError(t, os.Chmod(own, 0o777))
	for name, b := range map[string]sandbox.Box{
		"a program of others":  {Level: sandbox.Bubblewrap, Self: self(t), Bwrap: own},
		"a program that is no": {Level: sandbox.Bubblewrap, Self: self(t), Bwrap: "/no/bwrap"},
		"no level":             {Level: "none", Self: self(t)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := b.Wrap(command.Cmd{Argv: []string{"echo", "ran"}, Env: []string{"PATH=/usr/bin:/bin"}}, policy)
			require.NoError(t, err)
			res, err := system(t).RunGuarded(t.Context(), c)
			require.Error(t, err)
			require.Equal(t, sandbox.Failed, res.ExitCode)
			require.Empty(t, string(res.Stdout))
			require.Contains(t, string(res.Stderr), "orch sandbox: ")
			require.Error(t, b.Try(t.Context(), system(t).RunGuarded, policy))
		})
	}
}

// TestChoose: the first that stands is taken, and of those before it is said why not.
func TestChoose(t *testing.T) {
	t.Parallel()
	policy, err := sandbox.New(here(t))
	require.NoError(t, err)
	run := func(_ context.Context, c command.Cmd) (command.Result, error) {
		switch {
		case strings.Contains(c.Argv[2], `"landlock"`):
			return command.Result{Stdout: []byte(sandbox.Standing)}, nil
		case strings.Contains(c.Argv[2], "silent"):
			return command.Result{}, nil
		}
		if strings.Contains(c.Argv[2], `"namespaces"`) {
			return command.Result{ExitCode: sandbox.Failed, Stderr: []byte("orch sandbox: namespaces: operation not permitted\n")}, &command.ExitError{ExitCode: sandbox.Failed}
		}
		return command.Result{ExitCode: 1, Stderr: []byte("bwrap: setting up uid map: Permission denied\n")}, &command.ExitError{ExitCode: 1}
	}
	list := sandbox.Boxes("/orch", "/usr/bin/bwrap")
	got, trials, err := sandbox.Choose(t.Context(), run, list, policy)
	require.NoError(t, err)
	require.Equal(t, sandbox.Landlock, got.Level)
	require.Len(t, trials, 3)
	require.ErrorContains(t, trials[0].Err, "uid map")
	require.Contains(t, sandbox.Help(trials[0].Err), "bwrap-userns-restrict")
	require.EqualError(t, trials[1].Err, "namespaces: operation not permitted")
	require.NotEmpty(t, sandbox.Help(trials[1].Err))
	require.NoError(t, trials[2].Err)

	list[0].Bwrap = "/silent"
	_, trials, err = sandbox.Choose(t.Context(), run, list[:1], policy)
	require.ErrorContains(t, err, "no sandbox on this machine: bubblewrap: ")
	require.ErrorContains(t, trials[0].Err, "before the bounds stood")

	list[0].Bwrap = "" // a bwrap in the folder of whoever asks is none
	_, trials, err = sandbox.Choose(t.Context(), run, list[:1], policy)
	require.Error(t, err)
	require.ErrorIs(t, trials[0].Err, sandbox.ErrNoBwrap)
	require.Contains(t, sandbox.Help(trials[0].Err), "install bubblewrap")
}
