package cmd

import (
	"encoding/json"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestGCOfWhatIsMounted: what a mount keeps is said to be kept, and is not counted as removed, before
// as after.
func TestGCOfWhatIsMounted(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "echo one >one", "true")
	f.task("one")
	f.must("orch", "run", f.epic)
	aside := filepath.Join(f.dir+".worktrees", f.epic, ".trash", "KEPT")
	at := filepath.Join(aside, "tree", "m")
	require.NoError(t, os.MkdirAll(at, 0o700))
	if err := syscall.Mount("none", at, "tmpfs", 0, ""); err != nil {
		t.Skip("SKIPPED: only root may mount: ", err)
	}
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(at, 0)) })
	for _, args := range [][]string{{"-n"}, {}} {
		var doc struct {
			Removed []string
			Kept    []struct{ Path, Why string }
		}
		out := f.must("orch", append([]string{"gc", f.epic, "--json"}, args...)...)
		require.NoError(t, json.Unmarshal([]byte(out), &doc), out)
		require.NotContains(t, doc.Removed, aside)
		require.NotEmpty(t, doc.Removed, "the logs")
		require.Len(t, doc.Kept, 1)
		require.Equal(t, aside, doc.Kept[0].Path)
		require.Contains(t, doc.Kept[0].Why, "mounted at "+at)
	}
	require.Contains(t, f.must("orch", "gc", f.epic), "0 removed")
}
