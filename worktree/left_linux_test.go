package worktree_test

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/engine"
	"github.com/beadsorch/orch/orchestrator/proc"
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

// What could not be removed of an entry is tried again by the next process, and named by it, and does not keep it from
// starting.
func TestRepairTriesAMountAgain(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	left := filepath.Join(a.user.Dir, ".git", "orch", "tmp", fmt.Sprintf("removed-%d-%d-%s-AAAA", os.Getpid(), 1, proc.Here())) // of a process that has ended
	mnt := filepath.Join(left, "admin", "mnt")
	require.NoError(t, os.MkdirAll(mnt, 0o700))
	if err := syscall.Mount("none", mnt, "tmpfs", 0, ""); err != nil {
		t.Skip("SKIPPED: only root may mount: ", err)
	}
	unmount := sync.OnceValue(func() error { return syscall.Unmount(mnt, 0) })
	t.Cleanup(func() { require.NoError(t, unmount()) })
	found := repaired(t, a.store)
	require.Len(t, found, 1)
	require.False(t, found[0].Fixed)
	require.Equal(t, left, found[0].Path)
	require.Contains(t, found[0].Fix, "umount")
	_, err := a.store.Sweep(t.Context(), false)
	require.NoError(t, err)
	var named *engine.LeftError
	require.ErrorAs(t, a.store.Close(t.Context()), &named)
	require.Len(t, named.Left, 1)
	require.NoError(t, unmount())
	require.Empty(t, repaired(t, a.store))
	require.NoDirExists(t, left)
}

// The folder that an entry is removed in tells by its name whose it is, so that the next process need not wait for it to be old.
func TestRemovedEntriesNameTheirProcess(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	mnt := filepath.Join(a.admin(), "mnt")
	require.NoError(t, os.MkdirAll(mnt, 0o700))
	if err := syscall.Mount("none", mnt, "tmpfs", 0, ""); err != nil {
		t.Skip("SKIPPED: only root may mount: ", err)
	}
	tmp := filepath.Join(a.user.Dir, ".git", "orch", "tmp")
	t.Cleanup(func() {
		left, err := filepath.Glob(filepath.Join(tmp, "*", "admin", "mnt"))
		require.NoError(t, err)
		for _, at := range left {
			require.NoError(t, syscall.Unmount(at, 0))
		}
	})
	require.NoError(t, a.store.Remove(t.Context(), "t", 1, ""))
	left, err := filepath.Glob(filepath.Join(tmp, fmt.Sprintf("removed-%d-*", os.Getpid())))
	require.NoError(t, err)
	require.Len(t, left, 1)
}
