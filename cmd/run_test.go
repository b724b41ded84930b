package cmd

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/reason"
)

// TestExitCodes: each way to end a run has its own.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	tests := []struct {
		promise epic.Promise
		code    reason.Code
		want    int
	}{
		{epic.LoopDone, "", 0}, {epic.LoopBlocked, "", 3}, {epic.LoopContinue, reason.Interrupted, 130}, {epic.LoopBlocked, reason.TimeUp, 7}, {epic.LoopBlocked, reason.RunBudget, 7},
		{epic.LoopBlocked, reason.RunIterations, 7}, {epic.LoopBlocked, reason.RunFailures, 7}, {epic.LoopBlocked, reason.MaxIterations, 7}, {epic.LoopBlocked, reason.CircuitBreaker, 7}, {epic.LoopBlocked, reason.Budget, 7}, {epic.LoopError, reason.AgentCrashed, 4}, {epic.LoopBlocked, reason.AgentAuth, 4},
		{epic.LoopError, reason.TrackerDown, 1}, {epic.LoopError, reason.Machine, 9}, {epic.LoopBlocked, reason.EpicMoved, 3}, {epic.LoopBlocked, reason.RunActive, 6}, {epic.LoopBlocked, reason.BaseRed, 3},
	}
	for _, tt := range tests {
		require.Equal(t, tt.want, exitOf(epic.State{}, epic.Summary{Promise: tt.promise, Code: tt.code}, 0), "%s %s", tt.promise, tt.code)
	}
	require.Equal(t, 143, exitOf(epic.State{}, epic.Summary{Promise: epic.LoopContinue}, 15))
	require.Equal(t, 3, exitOf(epic.State{Into: epic.IntoState{Why: "dirty"}}, epic.Summary{Promise: epic.LoopDone}, 0))
}
