package harness_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/harness"
)

func TestExitWords(t *testing.T) {
	t.Parallel()
	require.Equal(t, "exit 0", harness.DescribeExit(0))
	require.Equal(t, "exit 127", harness.DescribeExit(127))
	require.Equal(t, "ended by SIGKILL", harness.DescribeExit(137))
	require.Equal(t, "exit 250", harness.DescribeExit(250))
}
