package git_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/git"
	"github.com/beadsorch/orch/orchestrator/proc"
)

// TestOpenWaitsForNoPipe: what git reads to find a repository is looked at first.
func TestOpenWaitsForNoPipe(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"config", "HEAD", "commondir"} {
		w := newWorld(t)
		w.Commit("file", "1")
		at := filepath.Join(w.Dir, ".git", name)
		require.NoError(t, os.RemoveAll(at))
		require.NoError(t, syscall.Mkfifo(at, 0o644))
		_, err := git.Open(t.Context(), proc.New(proc.Options{}).Run, w.Dir, w.Env)
		var unsupported *git.UnsupportedError
		require.ErrorAs(t, err, &unsupported)
		require.Equal(t, "rm "+at, unsupported.Fix)
	}
}
