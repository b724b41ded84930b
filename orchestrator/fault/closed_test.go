package fault_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/fault"
)

// What is no folder is not closed, nor what is not there where it can be made; a folder without the right to write is, and is named.
func TestClosed(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	file := filepath.Join(top, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.NoError(t, os.MkdirAll(filepath.Join(top, "a", "b", "c"), 0o700))
	require.NoError(t, fault.Closed(top, file, filepath.Join(file, "x"), filepath.Join(top, "none", "at", "all")))
	require.NoError(t, fault.ClosedBelow(top, filepath.Join(top, "none")))
	if os.Geteuid() == 0 {
		t.Skip("SKIPPED: modes do not stop root")
	}
	at := filepath.Join(top, "a", "b")
	require.NoError(t, os.Chmod(at, 0o500))
	t.Cleanup(func() { require.NoError(t, os.Chmod(at, 0o700)) })
	var closed *fault.ClosedError
	require.ErrorAs(t, fault.ClosedBelow(top), &closed)
	require.Equal(t, at, closed.Path)
	require.NoError(t, fault.Closed(top))
	closed = nil
	require.ErrorAs(t, fault.Closed(filepath.Join(at, "new", "one")), &closed)
	require.Equal(t, at, closed.Path)
}
