package orchestrator

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/reason"
)

// A flood of requests is taken up to a bound of each kind; the rest is put aside, and told of once.
func TestAFloodOfRequests(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	for range 3 * maxPending {
		at = at.Add(time.Millisecond)
		require.NoError(t, PostRequest(dir, epic.Event{Fact: epic.LandRequested{}, Task: "e.1", Attempt: 1}, at))
	}
	require.NoError(t, PostRequest(dir, epic.Event{Fact: epic.DrainStarted{}, Code: reason.Interrupted}, at.Add(time.Second)))
	for n := range maxPending + 2 {
		require.NoError(t, os.WriteFile(filepath.Join(dir, requestDir, string(rune('a'+n%26))+string(rune('a'+n/26))+".json"), nil, 0o600))
	}
	ctx, cancel := context.WithCancel(t.Context())
	taken, ended := make(chan Request), make(chan struct{})
	go func() { takeRequests(ctx, dir, taken); close(ended) }()
	kinds := map[epic.Kind]int{}
	for range maxPending + maxPending + 1 + 2 {
		r := <-taken
		kinds[r.Event.Kind()]++
		if r.Done != nil {
			r.Done()
		}
	}
	cancel()
	<-ended
	require.Equal(t, map[epic.Kind]int{"land_requested": maxPending, "request_refused": maxPending + 2, (epic.Event{Fact: epic.DrainStarted{}}).Kind(): 1}, kinds)
	aside, err := os.ReadDir(filepath.Join(dir, requestDir, badDir))
	require.NoError(t, err)
	require.Len(t, aside, 2*maxPending+maxPending+2)
	left, err := PendingRequests(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}
