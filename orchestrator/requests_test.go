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
	"github.com/beadsorch/orch/orchestrator/reason"
)

// TestAskedInOrder: requests are found again, oldest first, whole.
func TestAskedInOrder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	want := []Event{
		{Fact: TaskSkipped{Status: "closed"}, Task: "e.1", Reason: "not needed"},
		{Fact: TaskRetried{Hint: "a hint\nof two lines"}, Task: "e.2"},
		{Fact: DrainStarted{}, Code: reason.Interrupted, Reason: "asked"},
	}
	for i, e := range want {
		require.NoError(t, PostRequest(dir, e, at.Add(time.Duration(i)*time.Millisecond)))
	}
	got, err := PendingRequests(dir)
	require.NoError(t, err)
	require.Len(t, got, 3)
	for i, p := range got {
		require.NotEmpty(t, p.ID)
		require.Equal(t, p.ID, p.Event.Request)
		require.False(t, p.Event.At.IsZero(), "when it was asked")
		p.Event.Request, p.Event.At = "", time.Time{}
		require.Equal(t, want[i], p.Event)
	}
	info, err := os.Stat(filepath.Join(dir, "requests", got[0].ID+".json"))
	require.NoError(t, err)
	require.Zero(t, info.Mode().Perm()&0o077, "for this person only")
}

// TestAskedTellsOfTheRest: what is no whole request for what a person may ask is named, with why,
// but for what is being written.
func TestAskedTellsOfTheRest(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	folder := filepath.Join(dir, "requests")
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "1.json"), 0o700))
	for name, text := range map[string]string{
		"2.json": "", "3.json": "{", "4.json": `{"kind":"task_landed","task":"e.1"}`, "5.json": `[]`, "6.json": "\x00\xff", ".new-7": `{"kind":"task_retried","task":"e.1"}`, "8.txt": `{"kind":"task_retried","task":"e.1"}`, "7.json": `{"v":3,"kind":"next_requested"}`,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	require.NoError(t, os.Symlink("/dev/zero", filepath.Join(folder, "9.json")))
	got, err := PendingRequests(dir)
	require.NoError(t, err)
	var bad []string
	for _, p := range got {
		require.NotEmpty(t, p.Bad, p.ID)
		require.Equal(t, Event{Request: p.ID}, p.Event)
		bad = append(bad, p.ID)
	}
	require.Equal(t, []string{"1", "2", "3", "4", "5", "6", "7", "8.txt", "9"}, bad)
	none, err := PendingRequests(t.TempDir())
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
		got, err := PendingRequests(dir)
		require.NoError(t, err)
		require.Len(t, got, 1)
		if e := got[0].Event; got[0].Bad == "" {
			_, refused := e.Fact.(RequestRefused)
			require.True(t, e.Requestable() || refused)
		}
	})
}
