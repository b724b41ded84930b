package workspace_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/cmd/internal/config"
	"github.com/beadsorch/orch/cmd/internal/workspace"
)

// TestKinds: the defaults of the settings are among what they may name.
func TestKinds(t *testing.T) {
	t.Parallel()
	c, _, err := config.Sources{Kinds: workspace.Kinds()}.Load()
	require.NoError(t, err)
	require.Contains(t, workspace.Kinds().Engines, c.Run.Engine)
	for _, kind := range append(workspace.Kinds().Trackers, c.Tracker.Kind) {
		_, _, err := config.Sources{Env: []string{"ORCH_TRACKER_KIND=" + kind}, Kinds: workspace.Kinds()}.Load()
		require.NoError(t, err)
	}
}
