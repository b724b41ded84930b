package stophook_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/stophook"
)

// never is a reader that has no end.
type never struct{}

func (never) Read([]byte) (int, error) { select {} }

func TestReadInput(t *testing.T) {
	t.Parallel()
	want := stophook.Input{Session: "s", Dir: "/repo", Event: "Stop", LastMessage: "bye", Again: true, Waiting: 2}
	claude := `{"session_id":"s","cwd":"/repo","hook_event_name":"Stop","last_assistant_message":"bye","background_tasks":[{}],"session_crons":[{}],"effort":{"level":"x"},"stop_hook_active":true}`
	tests := map[string]struct {
		text string
		want stophook.Input
	}{
		"Claude Code":           {claude, want},
		"with a mark":           {"\xef\xbb\xbf" + claude, want},
		"with more behind":      {claude + "\n{}", want},
		"Gemini CLI":            {`{"session_id":"s","cwd":"/repo","hook_event_name":"AfterAgent","prompt_response":"bye"}`, stophook.Input{Session: "s", Dir: "/repo", Event: "AfterAgent", LastMessage: "bye"}},
		"Copilot CLI":           {`{"sessionId":"s","cwd":"/repo","stopReason":"end_turn"}`, stophook.Input{Session: "s", Dir: "/repo"}},
		"no last message":       {`{"session_id":"s","last_assistant_message":null}`, stophook.Input{Session: "s"}},
		"fields of other types": {`{"session_id":["s"],"cwd":1,"background_tasks":"x","last_assistant_message":{"a":1}}`, stophook.Input{}},
	}
	for name, tt := range tests {
		got, err := stophook.ReadInput(strings.NewReader(tt.text))
		require.NoError(t, err, name)
		require.Equal(t, tt.want, got, name)
	}
	got, err := stophook.ReadInput(io.MultiReader(strings.NewReader(claude), never{}))
	require.NoError(t, err, "it does not wait for the end")
	require.Equal(t, want, got)
	for _, bad := range []string{"", "null", "[]", "{", `"x"`, "nonsense", "\x00\xff"} {
		_, err := stophook.ReadInput(strings.NewReader(bad))
		require.ErrorIs(t, err, stophook.ErrInput, bad)
	}
}

// TestStateFiles: what is no plain small file is refused, quickly, and never replaced.
func TestStateFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	s := stophook.Session{ID: "s", Epic: "e", Cycles: 3}
	require.NoError(t, stophook.SaveSession(at("sub/ok.json"), s))
	got, ok, err := stophook.LoadSession(at("sub/ok.json"), "s")
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, s, got)
	_, ok, err = stophook.LoadSession(at("sub/ok.json"), "another")
	require.NoError(t, err)
	require.False(t, ok, "two ids may have one name")
	_, ok, err = stophook.LoadSession(at("none.json"), "s")
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
		_, _, err := stophook.LoadSession(at(name), "s")
		require.ErrorIs(t, err, stophook.ErrState, name)
		_, err = stophook.ReadLoop(at(name))
		require.ErrorIs(t, err, stophook.ErrState, name)
	}
}

const loopJSON = `{
  "spec": "original user request verbatim",
  "criteria": ["tests pass", "lint clean", "no type errors"],
  "criteriaStatus": {"tests pass": false, "lint clean": true, "no type errors": false},
  "exit_signal": false,
  "steps": ["step1", "step2", "step3"],
  "completedSteps": ["step1"],
  "remainingSteps": ["step2", "step3"],
  "iteration": 2,
  "status": "in_progress",
  "circuitBreaker": {"stuckCount": 0, "lastUnmet": "tests pass"},
  "mine": {"kept": [1, 2.50]}
}`

func TestDecideLoop(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change  func(*stophook.Loop)
		session stophook.Session
		block   bool
		verdict stophook.Verdict
	}{
		"criteria are unmet":          {func(*stophook.Loop) {}, stophook.Session{}, true, stophook.Unmet},
		"all true without the signal": {func(l *stophook.Loop) { l.Criteria = nil }, stophook.Session{}, true, stophook.Unmet},
		"the signal without all true": {func(l *stophook.Loop) { l.ExitSignal = true }, stophook.Session{}, true, stophook.Unmet},
		"both":                        {func(l *stophook.Loop) { l.Criteria, l.ExitSignal = nil, true }, stophook.Session{}, false, stophook.Done},
		"completed":                   {func(l *stophook.Loop) { l.Status = stophook.LoopCompleted }, stophook.Session{}, false, stophook.Done},
		"cancelled":                   {func(l *stophook.Loop) { l.Status = stophook.LoopCancelled }, stophook.Session{}, false, stophook.Done},
		"stuck":                       {func(l *stophook.Loop) { l.CircuitBreaker.StuckCount = 5 }, stophook.Session{}, false, stophook.NoProgress},
		"nearly":                      {func(l *stophook.Loop) { l.CircuitBreaker.StuckCount = 4 }, stophook.Session{}, true, stophook.Unmet},
		"nobody touches the file":     {func(*stophook.Loop) {}, stophook.Session{Still: 4, Print: "print"}, false, stophook.NoProgress},
		"sent back too often":         {func(*stophook.Loop) {}, stophook.Session{Cycles: 50}, false, stophook.MaxCycles},
	}
	for name, tt := range tests {
		l, err := stophook.ParseLoop([]byte(loopJSON))
		require.NoError(t, err)
		tt.change(&l)
		got := stophook.DecideLoop(stophook.Input{}, settings(), tt.session, l, "print", stophook.Limits{})
		require.Equal(t, tt.verdict, got.Verdict, name)
		require.Equal(t, tt.block, got.Block, name)
	}
	l, err := stophook.ParseLoop([]byte(loopJSON))
	require.NoError(t, err)
	require.Equal(t, "unmet criteria: tests pass, no type errors", stophook.DecideLoop(stophook.Input{}, settings(), stophook.Session{}, l, "", stophook.Limits{}).Why)
	require.Equal(t, "[LOOP RESUME] Active loop detected\nSpec: original user request verbatim\nProgress: 1/3 steps | Iteration: 2\nUnmet criteria: tests pass, no type errors\nNext: step2", l.Resume())
}

// TestLoopLifeCycle: from the start to the end, in the file's own words.
func TestLoopLifeCycle(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), ".loop", "state.json")
	_, err := stophook.ReadLoop(path)
	require.ErrorIs(t, err, fs.ErrNotExist)
	l := stophook.NewLoop("do it", []string{"a", "b"}, []string{"one", "two"})
	require.NoError(t, l.Write(path))
	l, err = stophook.ReadLoop(path)
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b"}, l.Unmet())
	for n := range 3 {
		l.Iterate()
		require.Equal(t, stophook.CircuitBreaker{StuckCount: n, LastUnmet: "a"}, l.CircuitBreaker)
	}
	require.NoError(t, l.Set("a", true))
	l.Iterate()
	require.Equal(t, stophook.CircuitBreaker{LastUnmet: "b"}, l.CircuitBreaker, "another criterion starts to count anew")
	require.NoError(t, l.Step(""))
	require.NoError(t, l.Step("two"))
	require.Empty(t, l.RemainingSteps)
	require.ErrorIs(t, l.Step("two"), stophook.ErrNoSuch)
	require.ErrorIs(t, l.Set("c", true), stophook.ErrNoSuch)
	require.False(t, l.ExitSignal)
	require.NoError(t, l.Set("b", true))
	l.Iterate()
	require.True(t, l.ExitSignal)
	require.NoError(t, l.Write(path))
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	var names map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(b, &names))
	require.Len(t, names, 10, "exactly the fields of the schema")
}

// TestLoopKeepsOtherFields: what is not orch's stays in the file.
func TestLoopKeepsOtherFields(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.json")
	l, err := stophook.ParseLoop([]byte(loopJSON))
	require.NoError(t, err)
	l.Iterate()
	require.NoError(t, l.Write(path))
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(b), `"mine"`)
	require.Contains(t, string(b), `2.50`)
	again, err := stophook.ReadLoop(path)
	require.NoError(t, err)
	require.Equal(t, l.Unmet(), again.Unmet())
	require.Equal(t, l.CircuitBreaker, again.CircuitBreaker)
	require.NoError(t, again.Write(path))
	twice, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(b), string(twice), "written as it was read")
}

func FuzzReadInput(f *testing.F) {
	f.Add([]byte(`{"session_id":"s","last_assistant_message":"x"}`))
	f.Add([]byte("\xef\xbb\xbf{}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := stophook.ReadInput(bytes.NewReader(data)); err != nil && !errors.Is(err, stophook.ErrInput) {
			t.Fatal(err)
		}
	})
}

func FuzzParseLoop(f *testing.F) {
	f.Add([]byte(loopJSON))
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := stophook.ParseLoop(data)
		if err != nil {
			if !errors.Is(err, stophook.ErrState) {
				t.Fatal(err)
			}
			return
		}
		stophook.DecideLoop(stophook.Input{}, settings(), stophook.Session{}, l, "", stophook.Limits{})
		l.Resume()
		l.Iterate()
		path := filepath.Join(t.TempDir(), "state.json")
		require.NoError(t, l.Write(path))
		again, err := stophook.ReadLoop(path)
		if info, _ := os.Stat(path); info != nil && info.Size() < 1<<20 {
			require.NoError(t, err)
			require.Equal(t, l.Unmet(), again.Unmet())
		}
	})
}
