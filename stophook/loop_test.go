package stophook_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/stophook"
	"github.com/beadsorch/orch/stophook/session"
)

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
		change  func(*stophook.CriteriaLoop)
		session session.Session
		block   bool
		verdict stophook.Cause
	}{
		"criteria are unmet":          {func(*stophook.CriteriaLoop) {}, session.Session{}, true, stophook.Unmet},
		"all true without the signal": {func(l *stophook.CriteriaLoop) { l.Criteria = nil }, session.Session{}, true, stophook.Unmet},
		"the signal without all true": {func(l *stophook.CriteriaLoop) { l.ExitSignal = true }, session.Session{}, true, stophook.Unmet},
		"both":                        {func(l *stophook.CriteriaLoop) { l.Criteria, l.ExitSignal = nil, true }, session.Session{}, false, stophook.Done},
		"completed":                   {func(l *stophook.CriteriaLoop) { l.Status = stophook.LoopCompleted }, session.Session{}, false, stophook.Done},
		"cancelled":                   {func(l *stophook.CriteriaLoop) { l.Status = stophook.LoopCancelled }, session.Session{}, false, stophook.Done},
		"stuck":                       {func(l *stophook.CriteriaLoop) { l.CircuitBreaker.StuckCount = 5 }, session.Session{}, false, stophook.NoProgress},
		"nearly":                      {func(l *stophook.CriteriaLoop) { l.CircuitBreaker.StuckCount = 4 }, session.Session{}, true, stophook.Unmet},
		"nobody touches the file":     {func(*stophook.CriteriaLoop) {}, session.Session{NoProgress: 4, Fingerprint: "print"}, false, stophook.NoProgress},
		"sent back too often":         {func(*stophook.CriteriaLoop) {}, session.Session{Blocks: 50}, false, stophook.MaxCycles},
	}
	for name, tt := range tests {
		l, err := stophook.ParseCriteriaLoop([]byte(loopJSON))
		require.NoError(t, err)
		tt.change(&l)
		got := stophook.DecideLoop(stophook.LoopFacts{Settings: settings(), Session: tt.session, Loop: l, Fingerprint: "print"})
		require.Equal(t, tt.verdict, got.Cause, name)
		require.Equal(t, tt.block, got.Block, name)
	}
	l, err := stophook.ParseCriteriaLoop([]byte(loopJSON))
	require.NoError(t, err)
	require.Equal(t, "unmet criteria: tests pass, no type errors", stophook.DecideLoop(stophook.LoopFacts{Settings: settings(), Loop: l}).Why)
	require.Equal(t, "[LOOP RESUME] Active loop detected\nSpec: original user request verbatim\nProgress: 1/3 steps | Iteration: 2\nUnmet criteria: tests pass, no type errors\nNext: step2", l.Resume())
}

// TestLoopLifeCycle: from the start to the end, in the file's own words.
func TestLoopLifeCycle(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), ".loop", "state.json")
	_, err := stophook.ReadCriteriaLoop(path)
	require.ErrorIs(t, err, fs.ErrNotExist)
	l := stophook.NewCriteriaLoop("do it", []string{"a", "b"}, []string{"one", "two"})
	require.NoError(t, l.Write(path))
	l, err = stophook.ReadCriteriaLoop(path)
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b"}, l.Unmet())
	for n := range 3 {
		l.EndIteration()
		require.Equal(t, stophook.CircuitBreaker{StuckCount: n, LastUnmet: "a"}, l.CircuitBreaker)
	}
	require.NoError(t, l.SetCriterion("a", true))
	l.EndIteration()
	require.Equal(t, stophook.CircuitBreaker{LastUnmet: "b"}, l.CircuitBreaker, "another criterion starts to count anew")
	require.NoError(t, l.CompleteStep(""))
	require.NoError(t, l.CompleteStep("two"))
	require.Empty(t, l.RemainingSteps)
	require.ErrorIs(t, l.CompleteStep("two"), stophook.ErrNoSuch)
	require.ErrorIs(t, l.SetCriterion("c", true), stophook.ErrNoSuch)
	require.False(t, l.ExitSignal)
	require.NoError(t, l.SetCriterion("b", true))
	l.EndIteration()
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
	l, err := stophook.ParseCriteriaLoop([]byte(loopJSON))
	require.NoError(t, err)
	l.EndIteration()
	require.NoError(t, l.Write(path))
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(b), `"mine"`)
	require.Contains(t, string(b), `2.50`)
	again, err := stophook.ReadCriteriaLoop(path)
	require.NoError(t, err)
	require.Equal(t, l.Unmet(), again.Unmet())
	require.Equal(t, l.CircuitBreaker, again.CircuitBreaker)
	require.NoError(t, again.Write(path))
	twice, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(b), string(twice), "written as it was read")
}

func FuzzParseLoop(f *testing.F) {
	f.Add([]byte(loopJSON))
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := stophook.ParseCriteriaLoop(data)
		if err != nil {
			if !errors.Is(err, session.ErrState) {
				t.Fatal(err)
			}
			return
		}
		stophook.DecideLoop(stophook.LoopFacts{Settings: settings(), Loop: l})
		l.Resume()
		l.EndIteration()
		path := filepath.Join(t.TempDir(), "state.json")
		require.NoError(t, l.Write(path))
		again, err := stophook.ReadCriteriaLoop(path)
		if info, _ := os.Stat(path); info != nil && info.Size() < 1<<20 {
			require.NoError(t, err)
			require.Equal(t, l.Unmet(), again.Unmet())
		}
	})
}
