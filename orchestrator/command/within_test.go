package command_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/command"
)

// TestCounted: a step in which this process was stopped is no longer than two.
func TestCounted(t *testing.T) {
	t.Parallel()
	require.Equal(t, 15*time.Millisecond, command.Counted(15*time.Millisecond, 10*time.Millisecond))
	require.Equal(t, 20*time.Millisecond, command.Counted(time.Hour, 10*time.Millisecond))
}

func TestWithin(t *testing.T) {
	t.Parallel()
	late := errors.New("late")
	ctx, cancel := command.Within(t.Context(), time.Millisecond, late)
	defer cancel()
	<-ctx.Done()
	require.ErrorIs(t, context.Cause(ctx), late)

	parent, end := context.WithCancel(t.Context())
	ctx, cancel = command.Within(parent, time.Hour, late)
	end()
	<-ctx.Done()
	require.NotErrorIs(t, context.Cause(ctx), late)
	cancel()
}
