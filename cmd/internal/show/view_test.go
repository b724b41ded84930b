package show_test

import (
	"bytes"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/show"
	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/journal"
	"github.com/beadsorch/orch/orchestrator/watch"
)

// Off a terminal a line has the time of its event, whenever it is printed.
func TestLinesHaveTheTimeOfTheirEvent(t *testing.T) {
	t.Parallel()
	dir, at := filepath.Join(t.TempDir(), "e"), time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	j, _, err := journal.Open(dir, time.Now)
	require.NoError(t, err)
	_, err = j.AppendAll(epic.Event{At: at, Fact: epic.RunStarted{Epic: "e", Number: 1, Mode: epic.ModeRun}},
		epic.Event{At: at.Add(time.Minute), Fact: epic.RequestRefused{}, Reason: "no"})
	require.NoError(t, err)
	require.NoError(t, j.Close())
	now := func() time.Time { return at.Add(time.Hour) }
	var out bytes.Buffer
	a := &cli.App{Process: cli.Process{Stdout: &out, Now: now}}
	require.NoError(t, show.NewView(a, watch.Open(dir, now), show.ViewOptions{Run: 1}).Show())
	require.Contains(t, out.String(), "time=2026-01-02T03:05:05Z level=warn msg=\"refused: no\"")
}
