package workspace_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/workspace"
	"github.com/beadsorch/orch/orchestrator/harness/all"
)

// TestOneNameOneClient: a client with hooks is the one that orch starts by that name.
func TestOneNameOneClient(t *testing.T) {
	t.Parallel()
	for _, hooked := range workspace.ClientsWithHooks() {
		c, known := all.Client(hooked.Name)
		require.True(t, known, hooked.Name)
		require.Equal(t, c.Title, hooked.Title)
	}
}

// TestHookedClient gives those that a hook can hold, and says of another what orch can do.
func TestHookedClient(t *testing.T) {
	t.Parallel()
	for _, c := range workspace.ClientsWithHooks() {
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
