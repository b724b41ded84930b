package validation_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/validation"
)

// TestNetworkHint: what programs say where there is no network is told from other failures.
func TestNetworkHint(t *testing.T) {
	t.Parallel()
	for _, said := range []string{"curl: (6) Could not resolve host: registry.example", "go: example.com/m@v1: Get \"https://proxy.example\": dial tcp: lookup proxy.example on 127.0.0.53:53: connect: network is unreachable",
		"npm error code EAI_AGAIN", "dial tcp 127.0.0.1:5432: connect: connection refused", "pip: Temporary failure in name resolution"} {
		require.Contains(t, validation.NetworkHint(said), "workflow.setup", said)
	}
	require.Empty(t, validation.NetworkHint("--- FAIL: TestX: got 1, want 2"))
}

func TestBoundsHint(t *testing.T) {
	t.Parallel()
	require.Contains(t, validation.BoundsHint("sh: 1: /home/ann/bin/lint: not found"), "sandbox.read")
	require.Contains(t, validation.BoundsHint("cc1: permission denied"), "sandbox.read")
	require.Contains(t, validation.BoundsHint("open /home/ann/x: read-only file system"), "/home/ann/x: Read-only file system (sandbox.write")
	require.Empty(t, validation.BoundsHint("--- FAIL: TestX: got 1, want 2"))
}
