package refname_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/refname"
)

// TestNames: the names are what repositories have on disk; they stay as they are.
func TestNames(t *testing.T) {
	t.Parallel()
	e := refname.Of("app-1.2")
	require.Equal(t, "refs/heads/epic/app-1.2", e.Branch())
	require.Equal(t, "epic/app-1.2", e.ShortBranch())
	require.Equal(t, "refs/heads/orch/app-1.2/", e.Attempts())
	require.Equal(t, "refs/orch/app-1.2/attic/", e.Attic())
	require.Equal(t, "refs/orch/app-1.2/lease", e.Lease())
	require.Equal(t, "refs/orch/app-1.2/tip", e.Tip())
	for _, name := range []string{e.Branch(), e.Attempts(), e.Attic(), e.Lease(), e.Tip()} {
		require.True(t, refname.IsOrchs(name), name)
	}
	require.False(t, refname.IsOrchs("refs/heads/epics"))
	require.NotContains(t, string(refname.Of("../x y")), "/", "a hostile id")
}
