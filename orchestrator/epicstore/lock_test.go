package epicstore_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gofrs/flock"
	"github.com/stretchr/testify/require"

	. "github.com/beadsorch/orch/orchestrator/epicstore"
)

// TestHeldBy asks the kernel, not the file: a name that a killed run left behind
// holds nothing.
func TestHeldBy(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, held, err := HeldBy(dir)
	require.NoError(t, err)
	require.False(t, held, "never run")

	me := Holder{PID: os.Getpid(), Host: "here", Started: time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC), Command: "run"}
	b, err := json.Marshal(me)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "holder.json"), b, 0o600))
	lock := flock.New(filepath.Join(dir, "lock"))
	require.NoError(t, lock.Lock())
	got, held, err := HeldBy(dir)
	require.NoError(t, err)
	require.True(t, held)
	require.Equal(t, me, got)

	require.NoError(t, lock.Unlock())
	_, held, err = HeldBy(dir)
	require.NoError(t, err)
	require.False(t, held)
}

// TestHeldErrorNames the holder, or at least the epic.
func TestHeldErrorNames(t *testing.T) {
	t.Parallel()
	err := &HeldError{Epic: "e-1", Holder: Holder{PID: 42, Host: "box", Command: "run", Started: time.Date(2026, 1, 2, 12, 0, 0, 0, time.Local)}}
	require.Equal(t, "orch run, process 42 on box, holds epic e-1 since 12:00:00", err.Error())
	require.Equal(t, "another orch holds epic e-1", (&HeldError{Epic: "e-1"}).Error())
}

// TestFolderMadeAgain: where the epic's folder was moved and another run has made one since, it is the folder that was
// moved, whatever it is called now, and not the lock in it.
func TestFolderMadeAgain(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"e", "saved"} {
		dir, is := filepath.Join(t.TempDir(), "epics", "e"), filepath.Join(t.TempDir(), name)
		require.NoError(t, os.MkdirAll(dir, 0o700))
		l, err := Acquire(t.Context(), dir, "e", Waiting{})
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "journal.jsonl"), nil, 0o600))
		require.NoError(t, os.Rename(dir, is))
		require.NoError(t, os.MkdirAll(dir, 0o700))
		for _, file := range []string{"lock", "journal.jsonl"} {
			require.NoError(t, os.WriteFile(filepath.Join(dir, file), nil, 0o600))
		}
		var fenced *FencedError
		require.ErrorAs(t, l.Check(), &fenced)
		require.Equal(t, []string{dir, is}, []string{fenced.Was, fenced.Is})
		require.False(t, fenced.Free)
		require.NoError(t, l.Unlock())
	}
}
