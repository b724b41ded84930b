package worktree_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/git"
	"github.com/beadsorch/orch/orchestrator/proc"
	"github.com/beadsorch/orch/worktree"
)

// TestModes holds, in a child with the umask, that nobody else gets into what orch makes:
// the folder of the worktrees, each of them, the gate's own, their admin directories.
func TestModes(t *testing.T) {
	if at := os.Getenv("WORKTREE_TEST_AT"); at != "" {
		repo, err := git.Open(t.Context(), proc.New(proc.Options{}).Run, filepath.Join(at, "repo"), os.Environ())
		require.NoError(t, err)
		s, err := worktree.Open(worktree.Options{Repo: repo, Root: filepath.Join(at, "wt", "e"), Epic: "e", Lock: filepath.Join(repo.CommonDir(), "orch", "worktree.lock"), Now: time.Now})
		require.NoError(t, err)
		head, err := repo.Resolve(t.Context(), "HEAD")
		require.NoError(t, err)
		require.NoError(t, s.Add(t.Context(), "t", 1, head))
		_, err = s.Checkout(t.Context(), head)
		require.NoError(t, err)
		return
	}
	for _, umask := range []string{"000", "022", "077"} {
		t.Run(umask, func(t *testing.T) {
			at, err := filepath.EvalSymlinks(t.TempDir())
			require.NoError(t, err)
			c := exec.CommandContext(t.Context(), "sh", "-c", `umask 022; cd "$AT" && git init -q repo && cd repo && echo a >a && git add a &&
				git -c user.name=n -c user.email=e commit -q -m a && umask "$1" && exec "$0" -test.run '^TestModes$'`, os.Args[0], umask)
			c.Env = append(os.Environ(), "WORKTREE_TEST_AT="+at, "AT="+at, "HOME="+at)
			out, err := c.CombinedOutput()
			require.NoError(t, err, string(out))
			admins, err := filepath.Glob(filepath.Join(at, "repo", ".git", "worktrees", "*"))
			require.NoError(t, err)
			require.Len(t, admins, 2)
			private := append(admins, filepath.Join(at, "wt"), filepath.Join(at, "wt", "e"), filepath.Join(at, "wt", "e", "agent-t"),
				filepath.Join(at, "wt", "e", "verify"), filepath.Join(at, "repo", ".git", "orch"))
			for _, path := range private {
				info, err := os.Stat(path)
				require.NoError(t, err)
				require.Equal(t, fs.FileMode(0o700), info.Mode().Perm(), path)
			}
		})
	}
}
