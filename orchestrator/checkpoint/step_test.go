package checkpoint_test

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/checkpoint"
	"github.com/beadsorch/orch/orchestrator/iteration"
)

// TestTell: who is told of the steps hears each once that can be taken, before it is; and what
// cannot be kept there is not taken here.
func TestTell(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "book")
	b := open(t, dir)
	var heard []string
	fails := errors.New("no room")
	var refuse error
	b.Tell(func(s checkpoint.Step) error {
		before, err := checkpoint.LoopIn(dir, clock())
		require.True(t, errors.Is(err, checkpoint.ErrNoLoop) || before.Iteration != s.Loop.Iteration || len(before.History) != len(s.Loop.History) || before.Done != s.Loop.Done || before.Config.MaxIterations != s.Loop.Config.MaxIterations, "it is not there yet")
		heard = append(heard, s.Kind)
		return refuse
	})
	_, err := b.Next("")
	require.ErrorIs(t, err, checkpoint.ErrNoLoop)
	_, err = b.Start("t-1", iteration.Config{MaxIterations: 5})
	require.NoError(t, err)
	_, err = b.Create(checkpoint.Checkpoint{TaskID: "t-1", Trigger: "manual"})
	require.NoError(t, err)
	_, err = b.Start("t-1", iteration.Config{MaxIterations: 5})
	require.ErrorIs(t, err, checkpoint.ErrActive)
	refuse = fails
	_, err = b.Validate(red, "", iteration.Hook{})
	require.ErrorIs(t, err, fails)
	_, err = b.Next("")
	require.ErrorIs(t, err, iteration.ErrNotYet, "it was not validated")
	refuse = nil
	_, err = b.Validate(red, "", iteration.Hook{})
	require.NoError(t, err)
	_, err = b.Next("")
	require.NoError(t, err)
	_, err = b.Limit(2)
	require.NoError(t, err)
	_, err = b.Validate(green, "<promise>COMPLETE</promise>", iteration.Hook{})
	require.NoError(t, err)
	for range 2 { // the second time changes nothing
		_, err = b.End()
		require.NoError(t, err)
	}
	require.Equal(t, []string{"started", "validated", "validated", "advanced", "limited", "validated", "ended"}, heard)
	require.NoError(t, b.Close())
}
