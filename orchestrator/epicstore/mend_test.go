package epicstore_test

import (
	"encoding/json"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/epicstore"
	"github.com/beadsorch/orch/orchestrator/journal"
)

// An event of a newer orch, in a record that this one can read, is neither damage nor cut.
func TestAnEventOfANewerOrchStays(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "e")
	j, _, err := journal.Open(dir, time.Now)
	require.NoError(t, err)
	_, err = j.AppendAll(json.RawMessage(`{"v":4,"kind":"run_started"}`))
	require.NoError(t, err)
	require.NoError(t, j.Close())
	rec, err := journal.Read(dir)
	require.NoError(t, err)
	_, err = epicstore.Replay(rec.Records)
	require.ErrorIs(t, err, epic.ErrNewer)
	m, err := epicstore.Mend(t.Context(), dir, func(epic.TaskID) bool { return true }, time.Now, false)
	require.NoError(t, err)
	require.Empty(t, m)
}
