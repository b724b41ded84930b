package cmd

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/core"
)

// TestExitCodes: each way to end a run has its own.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	tests := []struct {
		promise core.Promise
		code    core.Code
		want    int
	}{
		{core.LoopDone, "", 0}, {core.LoopBlocked, "", 3}, {core.LoopContinue, core.Interrupted, 130}, {core.LoopBlocked, core.TimeUp, 7}, {core.LoopBlocked, core.Budget, 7},
		{core.LoopBlocked, core.MaxIterations, 7}, {core.LoopBlocked, core.CircuitBreaker, 7}, {core.LoopError, core.AgentCrashed, 4}, {core.LoopBlocked, core.AgentAuth, 4},
		{core.LoopError, core.TrackerDown, 1}, {core.LoopError, core.Machine, 9}, {core.LoopBlocked, core.EpicMoved, 3}, {core.LoopBlocked, core.RunActive, 6}, {core.LoopBlocked, core.BaseRed, 3},
	}
	for _, tt := range tests {
		require.Equal(t, tt.want, exitOf(core.State{}, core.Summary{Promise: tt.promise, Code: tt.code}, 0), "%s %s", tt.promise, tt.code)
	}
	require.Equal(t, 143, exitOf(core.State{}, core.Summary{Promise: core.LoopContinue}, 15))
	require.Equal(t, 3, exitOf(core.State{Into: core.IntoState{Why: "dirty"}}, core.Summary{Promise: core.LoopDone}, 0))
}
