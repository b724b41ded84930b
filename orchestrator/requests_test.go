package orchestrator_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	. "github.com/beadsorch/orch/orchestrator"
	. "github.com/beadsorch/orch/orchestrator/epic"
)

// TestAskedInOrder: requests are found again, oldest first, whole.
func TestAskedInOrder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	want := []Event{
		{Fact: TaskSkipped{Status: "closed"}, Task: "e.1", Reason: "not needed"},
		{Fact: TaskRetried{Hint: "a hint\nof two lines"}, Task: "e.2"},
		{Fact: DrainStarted{}, Code: Interrupted, Reason: "asked"},
	}
	for i, e := range want {
		require.NoError(t, Ask(dir, e, at.Add(time.Duration(i)*time.Millisecond)))
	}
	got, files, err := Asked(dir)
	require.NoError(t, err)
	require.Equal(t, want, got)
	require.Len(t, files, 3)
	info, err := os.Stat(files[0])
	require.NoError(t, err)
	require.Zero(t, info.Mode().Perm()&0o077, "for this person only")
}

// TestAskedPassesOverTheRest: only whole requests for what a person may ask.
func TestAskedPassesOverTheRest(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	folder := filepath.Join(dir, "requests")
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "1.json"), 0o700))
	for name, text := range map[string]string{
		"2.json": "", "3.json": "{", "4.json": `{"kind":"task_landed","task":"e.1"}`, "5.json": `[]`, "6.json": "\x00\xff", ".new-7": `{"kind":"task_retried","task":"e.1"}`, "8.txt": `{"kind":"task_retried","task":"e.1"}`,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	require.NoError(t, os.Symlink("/dev/zero", filepath.Join(folder, "9.json")))
	got, _, err := Asked(dir)
	require.NoError(t, err)
	require.Empty(t, got)
	none, _, err := Asked(t.TempDir())
	require.NoError(t, err)
	require.Empty(t, none)
}

func FuzzAsked(f *testing.F) {
	whole, err := json.Marshal(Event{Fact: TaskRetried{Hint: "x"}, Task: "e.1"})
	require.NoError(f, err)
	f.Add(whole)
	f.Add([]byte(`{"kind":"kill_started"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := t.TempDir()
		require.NoError(t, os.MkdirAll(filepath.Join(dir, "requests"), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "requests", "1.json"), data, 0o600))
		got, _, err := Asked(dir)
		require.NoError(t, err)
		for _, e := range got {
			require.True(t, e.Requestable() || e.Fact == (RequestRefused{}))
		}
	})
}
