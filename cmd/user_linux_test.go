package cmd

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// somebody is a user id that owns nothing.
const somebody = 54321

// plainUser is a fixture whose commands run without the rights of root, and with a umask.
type plainUser struct {
	*fixture
	umask string
	limit string // of processes; "" none
	uid   uint32 // where the test runs as root
}

func newPlainUser(t *testing.T, umask, agent string) plainUser {
	t.Helper()
	return plainUserOf(t, newFixture(t, agent, "true"), umask, somebody)
}

// plainUserOf has the fixture used by a user without the rights of root.
func plainUserOf(t *testing.T, f *fixture, umask string, uid int) plainUser {
	t.Helper()
	top := filepath.Dir(f.dir)
	self, err := os.Executable()
	require.NoError(t, err)
	content, err := os.ReadFile(self)
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Join(top, "bin"), 0o700))
	syscall.ForkLock.RLock() // what another test starts meanwhile would hold the file open, and it could not be started
	err = os.WriteFile(filepath.Join(top, "bin", "orch"), content, 0o700)
	syscall.ForkLock.RUnlock()
	require.NoError(t, err)
	if os.Geteuid() == 0 {
		require.NoError(t, os.Chmod(filepath.Dir(top), 0o711))
		require.NoError(t, filepath.WalkDir(top, func(path string, _ fs.DirEntry, err error) error {
			require.NoError(t, err)
			return os.Lchown(path, uid, uid)
		}))
	}
	return plainUser{fixture: f, umask: umask, uid: uint32(uid)}
}

func (u plainUser) orch(args ...string) (string, int) {
	u.t.Helper()
	top, limit := filepath.Dir(u.dir), ""
	if u.limit != "" {
		limit = "; ulimit -u " + u.limit + " 2>/dev/null || ulimit -p " + u.limit // which dash calls it
	}
	c := exec.CommandContext(u.t.Context(), "sh", append([]string{"-c", "umask " + u.umask + limit + `; exec orch "$@"`, "orch"}, args...)...)
	c.Dir, c.Env = u.dir, append(u.env, "PATH="+filepath.Join(top, "bin")+string(os.PathListSeparator)+os.Getenv("PATH"), "TMPDIR="+top)
	if os.Geteuid() == 0 {
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: u.uid, Gid: u.uid}}
	}
	out, err := c.CombinedOutput()
	if err != nil && c.ProcessState == nil {
		require.NoError(u.t, err)
	}
	return string(out), c.ProcessState.ExitCode()
}

// TestWithoutTheRightsOfRoot goes the whole way as a person does, with any umask.
func TestWithoutTheRightsOfRoot(t *testing.T) {
	t.Parallel()
	for _, umask := range []string{"0022", "0077", "0777", "0300"} {
		t.Run(umask, func(t *testing.T) {
			t.Parallel()
			u := newPlainUser(t, umask, `echo "$ORCH_TASK" >"$ORCH_TASK"; git add -A && git commit -q -m "$ORCH_TASK"`)
			must := func(args ...string) string {
				t.Helper()
				out, code := u.orch(args...)
				require.Zero(t, code, "%v: %s", args, out)
				return out
			}
			must("init", "--yes")
			must("tasks", "create", "one", "--parent", u.epic)
			must("tasks", "create", "two", "--parent", u.epic)
			must("trust", digestIn(must("trust", "--show", "--json")))
			require.Contains(t, must("run", u.epic), "LOOP_DONE")
			require.Contains(t, must("status", u.epic), "2/2 done")
			must("gc", u.epic)
			require.Contains(t, must("run", u.epic), "LOOP_DONE")
			require.Contains(t, must("doctor"), "0 problems")
			require.NoDirExists(t, filepath.Join(u.dir, ".git", "orch", "tmp"))
		})
	}
}

// TestNoProcessLeft: a gate whose shell says that it could not fork is red where its user may have many more processes,
// and the machine's fault where few are left.
func TestNoProcessLeft(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: no user of its own can be had, whose processes are few; run it as root")
	}
	u := plainUserOf(t, newFixture(t, "true", "echo 'sh: 1: Cannot fork' >&2; exit 2"), "0022", somebody+1)
	for _, args := range [][]string{{"init", "--yes"}, {"tasks", "create", "one", "--parent", u.epic}} {
		out, code := u.orch(args...)
		require.Zero(t, code, out)
	}
	out, code := u.orch("trust", "--show", "--json")
	require.Zero(t, code, out)
	out, code = u.orch("trust", digestIn(out))
	require.Zero(t, code, out)

	u.limit = "120"
	out, code = u.orch("run", u.epic)
	require.Equal(t, 9, code, out)
	require.Contains(t, out, "Cannot fork: ")
	require.NotContains(t, out, "BASE_RED")
	u.limit = ""
	out, code = u.orch("run", u.epic)
	require.Equal(t, 3, code, out)
	require.Contains(t, out, "the gate is red on the epic branch")
}
