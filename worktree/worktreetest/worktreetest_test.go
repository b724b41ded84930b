package worktreetest_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/worktree/worktreetest"
)

func TestSnapshotSeesWhatIsThePersonsAndNoMore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, content string) {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
	}
	write("file", "1")
	write(".git/packed-refs", "# pack-refs with: peeled\nabc refs/heads/main\n")
	before := worktreetest.Snapshot(t, dir)

	for _, name := range []string{".git/objects/ab/c", ".git/orch/x", ".git/refs/heads/orch/e/t/1", ".git/refs/orch/e/lease",
		".git/refs/heads/epic/e", ".git/worktrees/agent-t-1/HEAD", ".git/logs/refs/heads/epic/e"} {
		write(name, "ours")
	}
	write(".git/packed-refs", "# other\nabc refs/heads/main\ndef refs/heads/orch/e/t/1\n")
	require.Equal(t, before, worktreetest.Snapshot(t, dir))

	for _, name := range []string{"file", "new", ".git/HEAD", ".git/index", ".git/config", ".git/hooks/pre-commit", ".git/refs/heads/x",
		".git/refs/stash", ".git/logs/HEAD", ".git/worktrees/theirs/HEAD", ".git/packed-refs"} {
		was := worktreetest.Snapshot(t, dir)
		write(name, "changed")
		require.NotEqual(t, was, worktreetest.Snapshot(t, dir), name)
	}
	was := worktreetest.Snapshot(t, dir)
	require.NoError(t, os.Chmod(filepath.Join(dir, "file"), 0o755))
	require.NotEqual(t, was, worktreetest.Snapshot(t, dir))
}
