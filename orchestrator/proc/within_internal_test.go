package proc

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestCounted: a step in which this process was stopped is no longer than two.
func TestCounted(t *testing.T) {
	require.Equal(t, 15*time.Millisecond, counted(15*time.Millisecond, 10*time.Millisecond))
	require.Equal(t, 20*time.Millisecond, counted(time.Hour, 10*time.Millisecond))
}
