package sandbox_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/command"
	"github.com/beadsorch/orch/orchestrator/sandbox"
)

// TestWrap: what is secret is in the environment alone, and what has other programs load something is not even there.
func TestWrap(t *testing.T) {
	t.Parallel()
	policy, err := sandbox.New(usual())
	require.NoError(t, err)
	env := []string{"PATH=/bin", "KEY=secret", "HOME=/home/ann", "TMPDIR=/tmp", "XDG_CONFIG_HOME=/home/ann/.config", "XDG_DATA_DIRS=/usr/share", "LD_PRELOAD=/x", "BASH_ENV=/x",
		"GIT_DIR=/x", "GIT_AUTHOR_NAME=A", "SSH_AUTH_SOCK=/x", "DBUS_SESSION_BUS_ADDRESS=/x", "XDG_RUNTIME_DIR=/run/user/1"}
	c := command.Cmd{Argv: []string{"make", "test"}, Env: env, Dir: "/elsewhere"}
	temp := "/home/ann/repo.worktrees/e/.tmp/1"
	for l, want := range map[sandbox.Level][]string{
		sandbox.Bubblewrap: {"XDG_CONFIG_HOME=/home/ann/.config", "HOME=/home/ann"},
		sandbox.Landlock:   {"XDG_CONFIG_HOME=/home/ann/repo.worktrees/e/.home/1/.config", "HOME=/home/ann/repo.worktrees/e/.home/1"},
	} {
		wrapped, err := sandbox.Box{Level: l, Self: "/home/ann/go/bin/orch", Bwrap: "/usr/bin/bwrap"}.Wrap(c, policy)
		require.NoError(t, err)
		require.Equal(t, "/home/ann/go/bin/orch", wrapped.Argv[0])
		require.Equal(t, []string{"--", "make", "test"}, wrapped.Argv[3:])
		require.Equal(t, policy.Dir, wrapped.Dir)
		require.NotContains(t, strings.Join(wrapped.Argv, " "), "secret")
		require.Equal(t, []string{"PATH=/bin", "KEY=secret", want[0], "XDG_DATA_DIRS=/usr/share", "GIT_AUTHOR_NAME=A", want[1],
			"TMPDIR=" + temp, "TMP=" + temp, "TEMP=" + temp, "GOTMPDIR=" + temp}, wrapped.Env)
	}
	require.Equal(t, []string{"make", "test"}, c.Argv, "the command stays as it was")
}

// TestWrapTooLong: what does not fit on a command line is refused by name.
func TestWrapTooLong(t *testing.T) {
	t.Parallel()
	place := usual()
	for range 600 {
		place.Read = append(place.Read, "/home/ann/"+strings.Repeat("x", 120+len(place.Read)%40)+strings.Repeat("y", len(place.Read)/40))
	}
	policy, err := sandbox.New(place)
	require.NoError(t, err)
	_, err = sandbox.Box{Level: sandbox.Landlock, Self: "/orch"}.Wrap(command.Cmd{}, policy)
	require.ErrorIs(t, err, sandbox.ErrTooLong)
}

// TestPromisesAreATable: each threat once, and what only newer kernels stop is not promised for older ones.
func TestPromisesAreATable(t *testing.T) {
	t.Parallel()
	seen := map[sandbox.Threat]bool{}
	stopped := map[sandbox.Level]int{}
	for _, p := range sandbox.Promises() {
		require.False(t, seen[p.Threat], p.Threat)
		require.NotEmpty(t, p.Says)
		seen[p.Threat] = true
		for _, l := range sandbox.Levels() {
			require.False(t, p.Stopped(l, 0) && l == sandbox.Landlock, "%s without landlock", p.Threat)
			if p.Stopped(l, 7) {
				stopped[l]++
			}
		}
	}
	require.Equal(t, map[sandbox.Level]int{sandbox.Bubblewrap: len(seen), sandbox.Namespaces: len(seen), sandbox.Landlock: len(seen) - 4}, stopped)
}
