package cmd

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestClosedObjects: what cannot be written to is the machine's fault, named, whether it is so from the beginning or an
// agent's git meets it, and nobody is charged.
func TestClosedObjects(t *testing.T) {
	t.Parallel()
	ready := func(t *testing.T, agent string) plainUser {
		u := newPlainUser(t, "0022", agent)
		for _, args := range [][]string{{"init", "--yes"}, {"tasks", "create", "one", "--parent", u.epic}} {
			out, code := u.orch(args...)
			require.Zero(t, code, out)
		}
		out, code := u.orch("trust", "--show", "--json")
		require.Zero(t, code, out)
		out, code = u.orch("trust", digestIn(out))
		require.Zero(t, code, out)
		return u
	}
	const agent = `echo "$ORCH_TASK" >"$ORCH_TASK"; git add -A && git commit -q -m "$ORCH_TASK"`
	goesOn := func(t *testing.T, u plainUser) {
		nobodyCharged(t, u.fixture)
		out, code := u.orch("run", u.epic)
		require.Zero(t, code, out)
	}
	refused := func(t *testing.T, u plainUser, at string) {
		out, code := u.orch("run", u.epic)
		require.Equal(t, 9, code, out)
		require.Contains(t, out, at+" cannot be written to")
		require.Contains(t, out, "[MACHINE]")
	}
	for _, name := range []string{"", "pack"} {
		t.Run("mode of objects "+name, func(t *testing.T) {
			t.Parallel()
			u := ready(t, agent)
			at := filepath.Join(u.dir, ".git", "objects", name)
			require.NoError(t, os.Chmod(at, 0o500))
			refused(t, u, at)
			require.NoError(t, os.Chmod(at, 0o700))
			out, code := u.orch("run", u.epic)
			require.Zero(t, code, out)
		})
	}
	t.Run("while an agent works", func(t *testing.T) {
		t.Parallel()
		u := ready(t, `
here=$(dirname "$0"); objects=$(git rev-parse --path-format=absolute --git-common-dir)/objects
if test ! -e "$here/once"; then : >"$here/once"; chmod -R a-w "$objects"; fi
`+agent+" || exit 1")
		out, code := u.orch("run", u.epic)
		require.Equal(t, 9, code, out)
		require.Contains(t, out, "MACHINE")
		require.Contains(t, out, filepath.Join(u.dir, ".git", "objects"))
		require.NoError(t, exec.CommandContext(t.Context(), "chmod", "-R", "u+w", filepath.Join(u.dir, ".git", "objects")).Run())
		goesOn(t, u)
	})
	t.Run("immutable", func(t *testing.T) {
		t.Parallel()
		u := ready(t, agent)
		at := filepath.Join(u.dir, ".git", "objects")
		if out, err := exec.CommandContext(t.Context(), "chattr", "+i", at).CombinedOutput(); err != nil {
			t.Skipf("SKIPPED: nothing can be made immutable here: %v: %s; run it as root on a file system that knows chattr +i", err, out)
		}
		t.Cleanup(func() { require.NoError(t, exec.Command("chattr", "-i", at).Run()) })
		refused(t, u, at)
	})
}
