package worktree_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/engine"
)

// What is mounted in a worktree is left alone, and named; what is around it goes.
func TestCloseNamesAMount(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	mnt := filepath.Join(a.Dir, "build", "mnt")
	require.NoError(t, os.MkdirAll(mnt, 0o700))
	if err := syscall.Mount("none", mnt, "tmpfs", 0, ""); err != nil {
		t.Skip("SKIPPED: only root may mount: ", err)
	}
	t.Cleanup(func() {
		left, err := filepath.Glob(filepath.Join(filepath.Dir(a.Dir), ".trash", "*", "tree", "build", "mnt"))
		require.NoError(t, err)
		for _, at := range left {
			require.NoError(t, syscall.Unmount(at, 0))
		}
	})
	a.Write("build/mnt/precious", "1")
	a.Write("build/rest", "1")
	require.NoError(t, a.store.Remove(t.Context(), "t", 1, ""))
	var left *engine.LeftError
	require.ErrorAs(t, a.store.Close(t.Context()), &left)
	require.Len(t, left.Left, 1)
	require.Contains(t, left.Left[0].What, "something is mounted at")
	require.Contains(t, left.Left[0].Fix, "umount")
	require.FileExists(t, filepath.Join(left.Left[0].Path, "tree", "build", "mnt", "precious"))
}

// Files that an agent made unreadable for its own user are work like others.
func TestUnreadableFilesAreKept(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("SKIPPED: root reads everything")
	}
	a := newAgent(t)
	a.Write("secret", "1")
	a.Write("dir/deep", "1")
	require.NoError(t, os.Chmod(filepath.Join(a.Dir, "secret"), 0))
	require.NoError(t, os.Chmod(filepath.Join(a.Dir, "dir"), 0))
	work := a.harvest()
	require.Empty(t, work.Unread)
	require.Contains(t, a.user.files(work.Head), "secret=1")
	require.Contains(t, a.user.files(work.Head), "dir/deep=1")
	require.NoError(t, a.store.Remove(t.Context(), "t", 1, ""))
	require.NoError(t, a.store.Close(t.Context()))
}
