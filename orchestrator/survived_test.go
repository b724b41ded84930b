package orchestrator

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSurvivorsAreNamedOnce: however many there are, one event says so.
func TestSurvivorsAreNamedOnce(t *testing.T) {
	require.Empty(t, survivorsEvent(nil, "the gate"))
	got := survivorsEvent([]int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, "the gate")
	require.Len(t, got, 1)
	require.Equal(t, "processes of the gate do not end: 1 2 3 4 5 6 7 8 9 10 and 2 more", got[0].Reason)
}
