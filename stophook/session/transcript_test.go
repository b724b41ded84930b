package session_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/stophook/session"
)

func transcripts() map[string]string {
	return map[string]string{
		"": "",
		`{"type":"user","message":{"content":"do it"}}` + "\n" + `{"type":"assistant","message":{"content":[{"type":"text","text":"done"},{"type":"tool_use"}]}}` + "\n": "done",
		`{"type":"assistant","message":{"content":[{"type":"text","text":"before"}]}}` + "\n" + `{"type":"user","message":{"content":"go on"}}` + "\n":                   "",
		`{"type":"assistant","message":{"content":[{"type":"text","text":"mine"}]}}` + "\n" + `{"type":"user","message":{"content":[{"type":"tool_result","content":"x"}]}}` + "\n" +
			`{"type":"assistant","isSidechain":true,"message":{"content":[{"type":"text","text":"a subagent's"}]}}`: "mine",
		`{"type":"user.message","data":{"content":"do"}}` + "\n" + `{"type":"assistant.message","data":{"content":"done"}}` + "\n" + `{"type":"assistant.turn_end"}`: "done",
		`{"type":"assistant.message","data":{"content":"before"}}` + "\n" + `{"type":"user.message","data":{"content":"go on"}}`:                                     "",
		"rubbish\n" + `{"type":"assistant","message":{"content":7}}`:                                                                                                 "",
		strings.Repeat("x", 1<<20) + "\n" + `{"type":"assistant.message","data":{"content":"the end"}}`:                                                              "the end",
	}
}

func TestLastSaid(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "transcript.jsonl")
	for text, want := range transcripts() {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		require.Equal(t, want, session.LastAssistantMessage(path), text[:min(len(text), 300)])
	}
	require.NoError(t, os.WriteFile(path, []byte(`{"type":"assistant.message","data":{"content":"x"}}`), 0o600))
	require.NoError(t, os.Symlink(path, filepath.Join(dir, "link")))
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o600))
	for _, bad := range []string{"link", "fifo", "none", "."} {
		require.Empty(t, session.LastAssistantMessage(filepath.Join(dir, bad)), bad)
	}
}

func FuzzLastSaid(f *testing.F) {
	for text := range transcripts() {
		f.Add(text[:min(len(text), 1000)])
	}
	path := filepath.Join(f.TempDir(), "transcript.jsonl")
	f.Fuzz(func(t *testing.T, text string) {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		require.True(t, utf8.ValidString(session.LastAssistantMessage(path)))
	})
}
