package cmd

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/epic"
)

// TestExitCodes: each way to end a run has its own.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	tests := []struct {
		promise epic.Promise
		code    epic.Code
		want    int
	}{
		{epic.LoopDone, "", 0}, {epic.LoopBlocked, "", 3}, {epic.LoopContinue, epic.Interrupted, 130}, {epic.LoopBlocked, epic.TimeUp, 7}, {epic.LoopBlocked, epic.RunBudget, 7},
		{epic.LoopBlocked, epic.RunIterations, 7}, {epic.LoopBlocked, epic.RunFailures, 7}, {epic.LoopBlocked, epic.MaxIterations, 7}, {epic.LoopBlocked, epic.CircuitBreaker, 7}, {epic.LoopBlocked, epic.Budget, 7}, {epic.LoopError, epic.AgentCrashed, 4}, {epic.LoopBlocked, epic.AgentAuth, 4},
		{epic.LoopError, epic.TrackerDown, 1}, {epic.LoopError, epic.Machine, 9}, {epic.LoopBlocked, epic.EpicMoved, 3}, {epic.LoopBlocked, epic.RunActive, 6}, {epic.LoopBlocked, epic.BaseRed, 3},
	}
	for _, tt := range tests {
		require.Equal(t, tt.want, exitOf(epic.State{}, epic.Summary{Promise: tt.promise, Code: tt.code}, 0), "%s %s", tt.promise, tt.code)
	}
	require.Equal(t, 143, exitOf(epic.State{}, epic.Summary{Promise: epic.LoopContinue}, 15))
	require.Equal(t, 3, exitOf(epic.State{Into: epic.IntoState{Why: "dirty"}}, epic.Summary{Promise: epic.LoopDone}, 0))
}
