package worktree_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/worktree"
)

// TestFingerprint changes with each file and each folder that does, however deep, and with
// nothing else.
func TestFingerprint(t *testing.T) {
	t.Parallel()
	dir, outside := t.TempDir(), t.TempDir()
	deep := filepath.Join(dir, "a", "b")
	require.NoError(t, os.MkdirAll(deep, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(deep, "f"), []byte("x"), 0o600))
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "link")))
	was := worktree.Fingerprint(dir)
	require.NotEmpty(t, was)
	require.Equal(t, was, worktree.Fingerprint(dir))

	require.NoError(t, os.WriteFile(filepath.Join(outside, "f"), []byte("x"), 0o600))
	later := time.Now().Add(time.Minute)
	require.NoError(t, os.Chtimes(filepath.Join(outside, "f"), later, later))
	require.Equal(t, was, worktree.Fingerprint(dir), "what a link leads to is not looked at")

	require.NoError(t, os.Chtimes(filepath.Join(deep, "f"), later, later))
	changed := worktree.Fingerprint(dir)
	require.NotEqual(t, was, changed)
	require.WithinDuration(t, later, worktree.Changed(dir), time.Second)
	require.NoError(t, os.WriteFile(filepath.Join(deep, "g"), nil, 0o600))
	require.NotEqual(t, changed, worktree.Fingerprint(dir), "one more, though it is older than the newest")

	require.Empty(t, worktree.Fingerprint(filepath.Join(dir, "none")))
	require.Empty(t, worktree.Fingerprint(filepath.Join(dir, "link")))
	require.True(t, worktree.Changed(filepath.Join(dir, "none")).IsZero())
}
