package snapshot_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/reason"
	"github.com/beadsorch/orch/orchestrator/snapshot"
)

var now = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func task(id epic.TaskID, state epic.TaskState, code reason.Code) *epic.Task {
	t := &epic.Task{Node: epic.Node{ID: id, Title: "the \x1b[31mtitle\nof " + string(id)}, State: state, Code: code, Since: now,
		Attempts: []epic.Attempt{{Number: 1, Iteration: 2, Failure: code, Ended: now}}}
	if state == epic.Landed {
		t.Commit = "82a8e31b3487aaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	}
	return t
}

// TestFiles tells how an epic stands: what is in focus, what has landed, and each task.
func TestFiles(t *testing.T) {
	t.Parallel()
	s := epic.State{Epic: "e", Tasks: []*epic.Task{task("e.1", epic.Landed, ""), task("e.2", epic.Parked, reason.GateFailed), task("../e", epic.Waiting, "")}}
	s.Run.Ended = now
	sum := epic.Summary{Promise: epic.LoopBlocked, Reason: "one needs you", Counts: epic.Counts{Total: 3, Done: 1, NeedsYou: 1}}
	files, err := snapshot.Files(s, sum, now)
	require.NoError(t, err)
	var state snapshot.State
	require.NoError(t, json.Unmarshal([]byte(files["orchestrator-state.json"]), &state))
	require.Equal(t, "blocked", state.Phase)
	require.Equal(t, epic.TaskID("e.2"), state.Focus)
	require.Equal(t, "LOOP_BLOCKED", state.Promise)
	require.Contains(t, files["focus.md"], "e.2  the title of e.2")
	require.Contains(t, files["focus.md"], "GATE_FAILED")
	require.Contains(t, files["history.md"], "2026-01-02 12:00  e.1  82a8e31b3487  the title of e.1")
	require.NotContains(t, files["history.md"], "e.2")
	require.Len(t, files, 6)
	for path := range files {
		require.True(t, filepath.IsLocal(path), path)
	}

	s.Tasks, sum.Counts = s.Tasks[:1], epic.Counts{Total: 1, Done: 1}
	files, err = snapshot.Files(s, sum, now)
	require.NoError(t, err)
	require.Contains(t, files["focus.md"], "Nothing: one needs you")
	require.Contains(t, files["orchestrator-state.json"], `"phase": "done"`)
}

// TestWrite replaces the whole snapshot: nothing of the one before is left.
func TestWrite(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "snapshot")
	require.NoError(t, snapshot.Write(dir, map[string]string{"focus.md": "one", "issues/a.md": "a"}))
	require.NoError(t, snapshot.Write(dir, map[string]string{"focus.md": "two"}))
	text, err := os.ReadFile(filepath.Join(dir, "focus.md"))
	require.NoError(t, err)
	require.Equal(t, "two", string(text))
	require.NoDirExists(t, filepath.Join(dir, "issues"))
	require.NoDirExists(t, dir+".old")
	require.NoDirExists(t, dir+".new")
	require.NoError(t, os.Mkdir(dir+".new", 0o700), "what a killed writer left")
	require.NoError(t, snapshot.Write(dir, map[string]string{"focus.md": "three"}))
}
