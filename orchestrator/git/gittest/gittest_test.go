package gittest_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/git/gittest"
)

// TestWorld: plain git and orch see the same commit, and nobody's own settings count.
func TestWorld(t *testing.T) {
	t.Parallel()
	w := gittest.New(t, os.Getenv("PATH"))
	c := w.Commit("dir/file", "text")
	require.Equal(t, c, w.Head())
	require.Equal(t, "text", w.Git("show", string(c)+":dir/file"))
	require.Equal(t, "A Person <person@example.com>", w.Git("log", "-1", "--format=%an <%ae>"))
	require.Equal(t, w.Dir, w.Open().WorkTree())
	out, err := w.Try("nonsense")
	require.Error(t, err)
	require.Contains(t, out, "nonsense")
}
