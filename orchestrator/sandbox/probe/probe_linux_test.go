package probe

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/command"
	"github.com/beadsorch/orch/orchestrator/proc"
	"github.com/beadsorch/orch/orchestrator/sandbox"
	"github.com/beadsorch/orch/orchestrator/sandbox/sandboxtest"
)

// TestMain lets the test binary be what is started: a guard, a sandbox, the attacker, and a whole probe.
func TestMain(m *testing.M) {
	sandboxtest.Main(m, Serve, func(args []string) (int, bool) {
		if len(args) != 4 || args[1] != "whole-probe" {
			return 0, false
		}
		return wholeProbe(sandbox.Level(args[2]), args[3]), true
	})
}

// none is no sandbox at all.
const none sandbox.Level = "none"

// notHere is the exit status where a level cannot be had.
const notHere = 3

// wholeProbe prints what a level stops in the folder dir.
func wholeProbe(l sandbox.Level, dir string) int {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	run := withEnvironment(proc.New(proc.Options{Guard: []string{self, "guard"}}).RunGuarded, []string{"PATH=/usr/bin:/bin"})
	b := sandbox.Box{Level: l, Self: self, Bwrap: bwrap()}
	wrap, program := b.Wrap, b.Program()
	if l == none {
		program, wrap = self, func(c command.Cmd, _ sandbox.Policy) (command.Cmd, error) { return c, nil }
	}
	var missing error
	leaky := func(c command.Cmd, p sandbox.Policy) (command.Cmd, error) {
		if l != none && missing == nil {
			if missing = b.Try(context.Background(), run, p); missing != nil {
				return c, missing
			}
		}
		c, err := wrap(c, p)
		c.Argv = append([]string{"sh", "-c", `exec 7</etc/passwd; exec "$@"`, "sh"}, c.Argv...)
		return c, err
	}
	results, err := attackAll(context.Background(), run, dir, self, program, leaky)
	if missing != nil {
		fmt.Fprint(os.Stderr, missing)
		return notHere
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	stopped := map[sandbox.Threat]bool{}
	for _, r := range results {
		stopped[r.Promise.Threat] = r.Stopped
	}
	if err := json.NewEncoder(os.Stdout).Encode(stopped); err != nil {
		panic(err)
	}
	return 0
}

func bwrap() string {
	path, err := exec.LookPath("bwrap")
	if err != nil {
		return ""
	}
	return path
}

// somebody is a user id that owns nothing.
const somebody = 54321

// users are those that a test can be: who runs it, and where that is root somebody else.
func users() map[string]int {
	if os.Geteuid() == 0 {
		return map[string]int{"root": 0, "somebody": somebody}
	}
	return map[string]int{"user": os.Geteuid()}
}

// probed runs a whole probe as a user.
func probed(t *testing.T, l sandbox.Level, uid int) map[sandbox.Threat]bool {
	t.Helper()
	top, err := os.MkdirTemp("", "orch-probe-") // no folder of the test's is open to others
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(top)) })
	program := copied(t, top)
	work := filepath.Join(top, "work")
	require.NoError(t, os.Mkdir(work, 0o700))
	c := exec.CommandContext(t.Context(), program, "whole-probe", string(l), work)
	c.Env, c.Dir = []string{"PATH=" + os.Getenv("PATH")}, work
	if uid != os.Geteuid() {
		require.NoError(t, os.Chmod(top, 0o755))
		if err := os.Chown(work, uid, uid); err != nil { // root of a container that knows no other user
			sandboxtest.Skip(t, "somebody", err.Error())
		}
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
	}
	var out, errs strings.Builder
	c.Stdout, c.Stderr = &out, &errs
	err = c.Run()
	if c.ProcessState != nil && c.ProcessState.ExitCode() == notHere {
		sandboxtest.Skip(t, string(l), errs.String())
	}
	require.NoError(t, err, errs.String())
	stopped := map[sandbox.Threat]bool{}
	require.NoError(t, json.Unmarshal([]byte(out.String()), &stopped))
	require.Len(t, stopped, len(sandbox.Promises()))
	return stopped
}

// copied is the test binary where every user finds it.
func copied(t *testing.T, dir string) string {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	content, err := os.ReadFile(self)
	require.NoError(t, err)
	path := filepath.Join(dir, "orch")
	syscall.ForkLock.RLock() // what another test starts meanwhile would hold the file open, and it could not be started
	err = os.WriteFile(path, content, 0o755)
	syscall.ForkLock.RUnlock()
	require.NoError(t, err)
	return path
}

// TestPromises: each level stops all that the table promises, and each row is one that can be done without it.
func TestPromises(t *testing.T) {
	t.Parallel()
	for _, l := range sandbox.Levels() {
		for name, uid := range users() {
			t.Run(string(l)+"/"+name, func(t *testing.T) {
				t.Parallel()
				stopped := probed(t, l, uid)
				for _, p := range sandbox.Promises() {
					if p.Stopped(l, sandbox.ABI()) {
						require.True(t, stopped[p.Threat], "%s is promised to be stopped: %s", p.Threat, p.Says)
					}
				}
			})
		}
	}
}

// TestProbesCanFail: without a sandbox each threat is carried out, but for what a kernel does not have, or what a container or
// a setting of the machine forbids.
func TestProbesCanFail(t *testing.T) {
	t.Parallel()
	notHere := []sandbox.Threat{sandbox.Vsock, sandbox.Uring, sandbox.Keyring, sandbox.Namespace, sandbox.Machine, sandbox.Mount, sandbox.Trace} // of which some need rights
	for name, uid := range users() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stopped := probed(t, none, uid)
			for threat, was := range stopped {
				if was && !slices.Contains(notHere, threat) {
					t.Errorf("%s was not done without a sandbox: its probe shows nothing", threat)
				}
			}
		})
	}
}
