package workspace_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/config"
	"github.com/beadsorch/orch/cmd/internal/workspace"
)

// TestClientsAreThoseOfTheSettings: what the settings may name, orch can run.
func TestClientsAreThoseOfTheSettings(t *testing.T) {
	t.Parallel()
	names := []string{}
	for _, c := range workspace.Clients() {
		names = append(names, c.Name)
		require.NotEmpty(t, c.Title, c.Name)
		require.NotEmpty(t, c.Env, c.Name)
		require.NotNil(t, c.New("/bin/"+c.Name, config.Agent{Harness: c.Name}), c.Name)
	}
	require.Equal(t, config.Harnesses(), append(names, "command"))
}

// TestHookedClient gives those that a hook can hold, and says of another what orch can do.
func TestHookedClient(t *testing.T) {
	t.Parallel()
	for _, c := range workspace.Hooked() {
		same, err := workspace.HookedClient(c.Name)
		require.NoError(t, err)
		require.Equal(t, c.Title, same.Title)
	}
	var e *cli.Error
	_, err := workspace.HookedClient("opencode")
	require.ErrorAs(t, err, &e)
	require.Contains(t, e.Why, "not hold its sessions")
	_, err = workspace.HookedClient("vi")
	require.ErrorAs(t, err, &e)
	require.Equal(t, "one of claude, codex, gemini, copilot", e.Fix[0])
}
