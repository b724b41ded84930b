package epicstore

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/epic"
)

func longEvent() epic.Event {
	return epic.Event{Fact: epic.AgentEnded{Said: strings.Repeat("last words ", 40), Round: &epic.Round{Feedback: strings.Repeat("feedback ", 40)}}}
}

// journaled is an event as the journal has it, read back.
func journaled(t *testing.T, e epic.Event) (out epic.Event) {
	t.Helper()
	b, err := json.Marshal(e)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(b, &out))
	return out
}

func saidIn(e epic.Event) string     { return e.Fact.(epic.AgentEnded).Said }
func feedbackIn(e epic.Event) string { return e.Fact.(epic.AgentEnded).Round.Feedback }

func TestLongTextsAreKeptBesideTheJournal(t *testing.T) {
	dir, e := t.TempDir(), longEvent()
	kept, err := Shelve(dir, e)
	require.NoError(t, err)
	require.Len(t, kept.Kept, 2)
	require.Less(t, len(saidIn(kept))+len(feedbackIn(kept)), 2*maxInline+8)
	require.Equal(t, longEvent(), e, "the event itself stays as it was")
	require.Equal(t, e, Unshelve(dir, journaled(t, kept)))
	again, err := Shelve(dir, e)
	require.NoError(t, err)
	require.Equal(t, kept, again)
	entries, err := os.ReadDir(filepath.Join(dir, textFolder))
	require.NoError(t, err)
	require.Len(t, entries, 2)
	info, err := entries[0].Info()
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode())
}

func TestForgottenAndChangedTexts(t *testing.T) {
	dir := t.TempDir()
	kept, err := Shelve(dir, longEvent())
	require.NoError(t, err)
	outside := filepath.Join(t.TempDir(), "outside")
	require.NoError(t, os.WriteFile(outside, []byte(saidIn(longEvent())), 0o600))
	path := filepath.Join(dir, textFolder, kept.Kept["said"])
	for name, spoil := range map[string]func() error{
		"changed": func() error { return os.WriteFile(path, []byte("something else"), 0o600) },
		"gone":    func() error { return os.Remove(path) },
		"a link":  func() error { return os.Symlink(outside, path) },
	} {
		require.NoError(t, os.RemoveAll(path))
		if name != "a link" {
			require.NoError(t, os.WriteFile(path, []byte(saidIn(longEvent())), 0o600))
		}
		require.NoError(t, spoil())
		got := Unshelve(dir, journaled(t, kept))
		require.Equal(t, saidIn(kept)+purged, saidIn(got), name)
		require.Equal(t, feedbackIn(longEvent()), feedbackIn(got), name)
	}
}

// A journal of an orch that kept all texts in it is read as it is.
func TestInlineTextsStay(t *testing.T) {
	require.Equal(t, longEvent(), Unshelve(t.TempDir(), journaled(t, longEvent())))
	short := epic.Event{Fact: epic.TaskRetried{Hint: "a hint"}}
	kept, err := Shelve(t.TempDir(), short)
	require.NoError(t, err)
	require.Equal(t, short, kept)
}

// FuzzUnshelve holds that nothing that a journal names is read from elsewhere.
func FuzzUnshelve(f *testing.F) {
	f.Add("hint", "../secret")
	f.Add("hint", strings.Repeat("a", 64))
	dir := f.TempDir()
	require.NoError(f, os.WriteFile(filepath.Join(dir, "secret"), []byte("from elsewhere"), 0o600))
	f.Fuzz(func(t *testing.T, name, hash string) {
		e := Unshelve(dir, epic.Event{Fact: epic.TaskRetried{Hint: "clause"}, Kept: map[string]string{name: hash}})
		require.NotContains(t, e.Fact.(epic.TaskRetried).Hint, "elsewhere")
		require.Nil(t, e.Kept)
	})
}
