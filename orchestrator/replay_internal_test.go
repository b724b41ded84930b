package orchestrator

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/epic"
)

// TestARequestPutBack: the file of a request that was taken asks for nothing when it is there again, and goes; that is
// told once, however often it is done.
func TestARequestPutBack(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	id, err := PostAwaitedRequest(dir, epic.Event{Fact: epic.TaskRetried{}, Task: "e.1"}, time.Now())
	require.NoError(t, err)
	path := filepath.Join(dir, requestDir, id+".json")
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	to := make(chan Request)
	go takeRequests(ctx, dir, to)
	r := <-to
	require.Equal(t, id, r.Event.Request)
	require.FileExists(t, path, "until the journal has it")
	r.Done()
	require.NoFileExists(t, path)

	require.NoError(t, os.WriteFile(path, content, 0o600))
	r = <-to
	require.IsType(t, epic.LeftoverFound{}, r.Event.Fact)
	require.Contains(t, r.Event.Reason, id)
	require.NoFileExists(t, path)
	require.NoError(t, os.WriteFile(path, content, 0o600))
	next, err := PostAwaitedRequest(dir, epic.Event{Fact: epic.TaskRetried{}, Task: "e.2"}, time.Now())
	require.NoError(t, err)
	r = <-to
	require.Equal(t, next, r.Event.Request, "what is asked for goes on, and the copy is told no more")
	require.NoFileExists(t, path)
}

// TestACopyOfARequest asks for nothing by another name.
func TestACopyOfARequest(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	id, err := PostAwaitedRequest(dir, epic.Event{Fact: epic.TaskRetried{}, Task: "e.1"}, time.Now())
	require.NoError(t, err)
	require.NoError(t, os.Rename(filepath.Join(dir, requestDir, id+".json"), filepath.Join(dir, requestDir, "0-other.json")))
	all, err := PendingRequests(dir)
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.Contains(t, all[0].Bad, "a copy of the request "+id)
}
