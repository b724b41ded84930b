package checkpoint_test

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/checkpoint"
	"github.com/beadsorch/orch/orchestrator/iteration"
)

// TestOnStep: each step that can be taken is reported once, before it is taken; and a step whose
// report fails is not taken.
func TestOnStep(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "loop")
	log := open(t, dir)
	var reported []string
	fails := errors.New("no room")
	var refuse error
	log.OnStep(func(s checkpoint.Step) error {
		before, err := checkpoint.ReadLoop(dir, clock())
		require.True(t, errors.Is(err, checkpoint.ErrNoLoop) || before.Iteration != s.Loop.Iteration || len(before.History) != len(s.Loop.History) || before.Done != s.Loop.Done || before.Config.MaxIterations != s.Loop.Config.MaxIterations, "it is not there yet")
		reported = append(reported, s.Kind)
		return refuse
	})
	_, err := log.Next("")
	require.ErrorIs(t, err, checkpoint.ErrNoLoop)
	_, err = log.Start("t-1", iteration.Config{MaxIterations: 5})
	require.NoError(t, err)
	_, err = log.Create(checkpoint.Checkpoint{TaskID: "t-1", Trigger: "manual"})
	require.NoError(t, err)
	_, err = log.Start("t-1", iteration.Config{MaxIterations: 5})
	require.ErrorIs(t, err, checkpoint.ErrActive)
	refuse = fails
	_, err = log.Validate(red, "", iteration.Hook{})
	require.ErrorIs(t, err, fails)
	_, err = log.Next("")
	require.ErrorIs(t, err, iteration.ErrNotYet, "it was not validated")
	refuse = nil
	_, err = log.Validate(red, "", iteration.Hook{})
	require.NoError(t, err)
	_, err = log.Next("")
	require.NoError(t, err)
	_, err = log.SetLimit(2)
	require.NoError(t, err)
	_, err = log.Validate(green, "<promise>COMPLETE</promise>", iteration.Hook{})
	require.NoError(t, err)
	for range 2 { // the second time changes nothing
		_, err = log.End()
		require.NoError(t, err)
	}
	require.Equal(t, []string{"started", "validated", "validated", "advanced", "limited", "validated", "ended"}, reported)
	require.NoError(t, log.Close())
}
