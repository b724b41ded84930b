package git_test

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDamagedGraph(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Commit("a", "1")
	w.Commit("a", "2")
	head := w.Commit("a", "3")
	repo := w.Open()
	why, damaged := repo.DamagedGraph(t.Context(), head)
	require.False(t, damaged, "there is none: %s", why)

	w.Git("commit-graph", "write", "--reachable")
	_, damaged = repo.DamagedGraph(t.Context(), head)
	require.False(t, damaged, "one that is whole")

	path := filepath.Join(w.Dir, ".git", "objects", "info", "commit-graph")
	graph, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.Chmod(path, 0o600))
	for chunk := 8; ; chunk += 12 { // the table of chunks: a name, and where it begins
		if string(graph[chunk:chunk+4]) != "CDAT" {
			continue
		}
		at := binary.BigEndian.Uint64(graph[chunk+4:])
		for n := range uint64(3) {
			copy(graph[at+36*n+20:], "AAAA") // the first parent
		}
		break
	}
	require.NoError(t, os.WriteFile(path, graph, 0o600))
	why, damaged = repo.DamagedGraph(t.Context(), head)
	require.True(t, damaged)
	require.Contains(t, why, "commit-graph in "+filepath.Dir(path))
	require.Contains(t, why, "invalid parent position")
}
