package session_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/stophook/session"
)

// never is a reader that has no end.
type never struct{}

func (never) Read([]byte) (int, error) { select {} }

func TestReadInput(t *testing.T) {
	t.Parallel()
	want := session.Input{Session: "s", Dir: "/repo", Event: "Stop", LastMessage: "bye", StopHookActive: true, BackgroundTasks: 2}
	claude := `{"session_id":"s","cwd":"/repo","hook_event_name":"Stop","last_assistant_message":"bye","background_tasks":[{}],"session_crons":[{}],"effort":{"level":"x"},"stop_hook_active":true}`
	tests := map[string]struct {
		text string
		want session.Input
	}{
		"Claude Code":           {claude, want},
		"with a mark":           {"\xef\xbb\xbf" + claude, want},
		"with more behind":      {claude + "\n{}", want},
		"Gemini CLI":            {`{"session_id":"s","cwd":"/repo","hook_event_name":"AfterAgent","prompt_response":"bye"}`, session.Input{Session: "s", Dir: "/repo", Event: "AfterAgent", LastMessage: "bye"}},
		"Copilot CLI":           {`{"sessionId":"s","cwd":"/repo","stopReason":"end_turn"}`, session.Input{Session: "s", Dir: "/repo"}},
		"no last message":       {`{"session_id":"s","last_assistant_message":null}`, session.Input{Session: "s"}},
		"fields of other types": {`{"session_id":["s"],"cwd":1,"background_tasks":"x","last_assistant_message":{"a":1}}`, session.Input{}},
	}
	for name, tt := range tests {
		got, err := session.ReadInput(strings.NewReader(tt.text))
		require.NoError(t, err, name)
		require.Equal(t, tt.want, got, name)
	}
	got, err := session.ReadInput(io.MultiReader(strings.NewReader(claude), never{}))
	require.NoError(t, err, "it does not wait for the end")
	require.Equal(t, want, got)
	for _, bad := range []string{"", "null", "[]", "{", `"x"`, "nonsense", "\x00\xff"} {
		_, err := session.ReadInput(strings.NewReader(bad))
		require.ErrorIs(t, err, session.ErrInput, bad)
	}
}

// TestStateFiles: what is no plain small file is refused, quickly, and never replaced.
func TestStateFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	s := session.Session{ID: "s", Epic: "e", Blocks: 3}
	require.NoError(t, session.Save(at("sub/ok.json"), s))
	got, ok, err := session.Load(at("sub/ok.json"), "s")
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, s, got)
	_, ok, err = session.Load(at("sub/ok.json"), "another")
	require.NoError(t, err)
	require.False(t, ok, "two ids may have one name")
	_, ok, err = session.Load(at("none.json"), "s")
	require.NoError(t, err)
	require.False(t, ok)
	info, err := os.Stat(at("sub/ok.json"))
	require.NoError(t, err)
	require.Zero(t, info.Mode().Perm()&0o077)

	require.NoError(t, syscall.Mkfifo(at("fifo"), 0o600))
	require.NoError(t, os.Symlink(at("sub/ok.json"), at("link")))
	require.NoError(t, os.Symlink("/dev/zero", at("endless")))
	require.NoError(t, os.Mkdir(at("dir"), 0o700))
	require.NoError(t, os.WriteFile(at("large"), bytes.Repeat([]byte(" "), 2<<20), 0o600))
	require.NoError(t, os.WriteFile(at("garbage"), []byte("{{"), 0o600))
	for _, name := range []string{"fifo", "link", "endless", "dir", "large", "garbage"} {
		_, _, err := session.Load(at(name), "s")
		require.ErrorIs(t, err, session.ErrState, name)
	}
}

// TestNoFolderIsMadeAnew: the state of a session makes its own folders, and none of a repository or project that is gone.
func TestNoFolderIsMadeAnew(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	s := session.Session{ID: "s", Epic: "e"}
	common := filepath.Join(top, "r", ".git")
	loop := filepath.Join(top, "orch", ".loop", "session.json")
	for _, path := range []string{session.File(common, "s"), loop} {
		require.ErrorIs(t, session.Save(path, s), fs.ErrNotExist)
	}
	left, err := os.ReadDir(top)
	require.NoError(t, err)
	require.Empty(t, left)

	require.NoError(t, os.MkdirAll(common, 0o700))
	require.NoError(t, os.Mkdir(filepath.Join(top, "orch"), 0o700))
	for _, path := range []string{session.File(common, "s"), loop} {
		require.NoError(t, session.Save(path, s))
		require.NoError(t, session.Save(path, s), "the folder is there")
	}
}

func FuzzReadInput(f *testing.F) {
	f.Add([]byte(`{"session_id":"s","last_assistant_message":"x"}`))
	f.Add([]byte("\xef\xbb\xbf{}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := session.ReadInput(bytes.NewReader(data)); err != nil && !errors.Is(err, session.ErrInput) {
			t.Fatal(err)
		}
	})
}

// TestBind: a model whose stop was blocked cannot reset its counts; a person who starts a released
// session again does.
func TestBind(t *testing.T) {
	t.Parallel()
	held := session.Session{ID: "s", Epic: "e", Blocks: 7, NoProgress: 2, Blocked: true}
	require.Equal(t, held, held.Bind("s", "e"))
	fresh := session.Session{ID: "s", Epic: "e"}
	for _, s := range []session.Session{{}, {ID: "s", Epic: "e", Blocks: 7}, {ID: "s", Epic: "e", Blocked: true, Cancelled: true, Blocks: 7}, {ID: "t", Epic: "e", Blocked: true, Blocks: 7}} {
		require.Equal(t, fresh, s.Bind("s", "e"))
	}
	require.Equal(t, session.Session{ID: "s", Epic: "f"}, held.Bind("s", "f"))
}

func TestEpicOf(t *testing.T) {
	t.Parallel()
	for prompt, want := range map[string]string{
		"/run-tasks e-1": "e-1", "$run-tasks e-1 please": "e-1", " /orch:run-tasks\te-1\nmore": "e-1", "<hook_context>x</hook_context>\n\n/run-tasks e-1\n": "e-1",
		"": "", "run the tasks of e-1": "", "what does /run-tasks e-1 do?": "", "/run-tasks": "", "/run-tasks-now e-1": "", "You are running /run-tasks for epic e-1": "",
	} {
		got, ok := session.EpicInPrompt(prompt)
		require.Equal(t, want, got, prompt)
		require.Equal(t, want != "", ok, prompt)
	}
}

// TestRecordings: what the real clients say of a stop is understood, field by field, and so
// is every other event's session.
func TestRecordings(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*/*.json")
	require.NoError(t, err)
	require.Len(t, files, 64)
	for _, path := range files {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		in, err := session.ReadInput(bytes.NewReader(text))
		require.NoError(t, err, path)
		require.NotEmpty(t, in.Session, path)
		require.NotEmpty(t, in.Dir, path)
	}
	for path, want := range map[string]session.Input{
		"claude/Stop.first":                             {Event: "Stop"},
		"claude/Stop.after-block":                       {Event: "Stop", StopHookActive: true},
		"claude/Stop.background-subagent":               {Event: "Stop", BackgroundTasks: 1},
		"claude/Stop.no-last-message-json-schema":       {Event: "Stop"},
		"codex/Stop":                                    {Event: "Stop", LastMessage: "reply 1"},
		"codex/Stop.after-block":                        {Event: "Stop", LastMessage: "reply 2", StopHookActive: true},
		"gemini/AfterAgent":                             {Event: "AfterAgent", LastMessage: "reply 1", Prompt: "do the task"},
		"gemini/AfterAgent.after-block":                 {Event: "AfterAgent", LastMessage: "reply 1\nreply 2", Prompt: "do the task", StopHookActive: true},
		"copilot/agentStop":                             {},
		"copilot/agentStop.after-block":                 {StopHookActive: true},
		"copilot/Stop.from-claude-settings":             {Event: "Stop"},
		"copilot/Stop.from-claude-settings.after-block": {Event: "Stop", StopHookActive: true},
		"copilot/userPromptSubmitted":                   {Prompt: "do the task"},
	} {
		text, err := os.ReadFile(filepath.Join("testdata", path+".json"))
		require.NoError(t, err)
		in, err := session.ReadInput(bytes.NewReader(text))
		require.NoError(t, err, path)
		if strings.HasPrefix(path, "claude/") {
			in.LastMessage = ""
		}
		require.Equal(t, want, session.Input{Event: in.Event, LastMessage: in.LastMessage, Prompt: in.Prompt, StopHookActive: in.StopHookActive, BackgroundTasks: in.BackgroundTasks}, path)
		require.Equal(t, strings.Contains(path, "Stop") || strings.Contains(path, "AfterAgent"), in.Transcript != "", path)
	}
}
