package project_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/config"
	"github.com/beadsorch/orch/cmd/internal/project"
)

// TestOddAgentFiles: what is in the agents' folder and is no definition is passed over, and
// never waited for.
func TestOddAgentFiles(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	dir := filepath.Join(root, config.AgentsFolder)
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "folder.md"), 0o700))
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "fifo.md"), 0o600))
	require.NoError(t, os.Symlink("nowhere", filepath.Join(dir, "gone.md")))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "huge.md"), make([]byte, 2<<20), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "me.md"), []byte("---\niteration: {maxIterations: 4}\n---\nYou count twice.\n"), 0o600))
	c, _, err := project.Settings(cli.Process{}, root, config.Kinds{})
	require.NoError(t, err)
	require.Equal(t, 4, c.Agents["me"].MaxIterations)
	require.Equal(t, map[string]string{"me": "You count twice."}, c.Roles)

	require.NoError(t, syscall.Mkfifo(filepath.Join(root, project.SettingsFile), 0o600))
	var bad *config.Error
	_, _, err = project.Settings(cli.Process{}, root, config.Kinds{})
	require.ErrorAs(t, err, &bad)
	require.Contains(t, bad.Error(), "is no plain file")
}
