package validation_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/validation"
)

func TestBoundsHint(t *testing.T) {
	t.Parallel()
	require.Contains(t, validation.BoundsHint("sh: 1: /home/ann/bin/lint: not found"), "sandbox.read")
	require.Contains(t, validation.BoundsHint("cc1: permission denied"), "sandbox.read")
	require.Contains(t, validation.BoundsHint("open /home/ann/x: read-only file system"), "/home/ann/x: Read-only file system (sandbox.write")
	require.Empty(t, validation.BoundsHint("--- FAIL: TestX: got 1, want 2"))
}
