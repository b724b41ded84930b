package setup_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/setup"
)

// orch is one invocation in a new repository, and what it prints.
func orch(t *testing.T) (*cli.Invocation, *bytes.Buffer) {
	t.Helper()
	var out bytes.Buffer
	a := &cli.Invocation{Process: cli.Process{Env: []string{"PATH=" + os.Getenv("PATH"), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1"}, Dir: t.TempDir(), Stdout: &out, Stderr: &out, Now: time.Now}}
	git := exec.CommandContext(t.Context(), "git", "init", "-q", a.Dir)
	git.Env = a.Env
	require.NoError(t, git.Run())
	return a, &out
}

func execute(t *testing.T, c *cobra.Command, args ...string) error {
	t.Helper()
	c.SilenceErrors, c.SilenceUsage = true, true
	c.SetArgs(args)
	return c.ExecuteContext(t.Context())
}

// TestPlugin is written whole, and never over something.
func TestPlugin(t *testing.T) {
	t.Parallel()
	a, out := orch(t)
	dir := filepath.Join(a.Dir, "plugin")
	require.NoError(t, execute(t, setup.Init(a), "--plugin", dir))
	require.Contains(t, out.String(), "/orch:run-tasks EPIC")
	require.FileExists(t, filepath.Join(dir, ".claude-plugin", "plugin.json"))

	var e *cli.Error
	require.ErrorAs(t, execute(t, setup.Init(a), "--plugin", dir), &e)
	require.Equal(t, "EXISTS", e.Code)
}

// TestConfigExplain shows the settings that a key begins, and where they come from.
func TestConfigExplain(t *testing.T) {
	t.Parallel()
	a, out := orch(t)
	a.Env = append(a.Env, "ORCH_RUN_ATTEMPTS=7")
	require.NoError(t, execute(t, setup.Config(a), "explain", "run.attempts"))
	require.Regexp(t, `^run\.attempts +7 +ORCH_RUN_ATTEMPTS\n$`, out.String())

	var e *cli.Error
	require.ErrorAs(t, execute(t, setup.Config(a), "explain", "run.atempts"), &e)
	require.Equal(t, cli.ExitNotFound, e.Exit)
}
