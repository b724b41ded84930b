package local

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/private"
)

// TestLastWords: why an agent crashed is said by the last line that is meant for a person.
func TestLastWords(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	files, err := private.Open(dir)
	require.NoError(t, err)
	for _, c := range []struct{ log, want string }{
		{"", "exit 2"},
		{"error: unknown option\n\nFor more information, try '--help'.\n", "exit 2: For more information, try '--help'."},
		{"\x1b[31mError:\x1b[0m Session not found\n" + `{"type":"error"}` + "\n", "exit 2: Error: Session not found"},
		{"exit 2", "exit 2"},
		{strings.Repeat("x", 1<<20) + "\nthe end", "exit 2: the end"},
	} {
		path := filepath.Join(dir, "log")
		require.NoError(t, os.WriteFile(path, []byte(c.log), 0o600))
		require.Equal(t, c.want, withLastOutput(files, "exit 2", path))
	}
	require.Equal(t, "exit 2", withLastOutput(files, "exit 2", filepath.Join(dir, "none")))
}
