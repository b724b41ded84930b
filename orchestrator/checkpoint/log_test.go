package checkpoint_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/checkpoint"
	"github.com/beadsorch/orch/orchestrator/iteration"
	"github.com/beadsorch/orch/orchestrator/validation"
)

// clock ticks a second each time that it is asked.
func clock() func() time.Time {
	at := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	return func() time.Time { at = at.Add(time.Second); return at }
}

func open(t *testing.T, dir string) *checkpoint.Log {
	t.Helper()
	log, err := checkpoint.Open(t.Context(), dir, clock())
	require.NoError(t, err)
	return log
}

var (
	red   = validation.Verdict{Score: 50, Checks: []validation.Check{{Rule: "compiles", Passed: true}, {Rule: "tests", Why: "exit 1"}}}
	green = validation.Verdict{Score: 100, Passed: true, Checks: []validation.Check{{Rule: "tests", Passed: true}}}
)

// TestNothingIsLost: a process that is killed between any two steps finds all of them again;
// one that is killed within a step finds it whole or not at all.
func TestNothingIsLost(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "loop")
	steps := []func(log *checkpoint.Log) error{
		func(log *checkpoint.Log) error {
			_, err := log.Start("t-1", iteration.Config{MaxIterations: 5})
			return err
		},
		func(log *checkpoint.Log) error { _, err := log.Validate(red, "", iteration.Hook{}); return err },
		func(log *checkpoint.Log) error {
			_, err := log.Create(checkpoint.Checkpoint{TaskID: "t-1", Trigger: "manual", ExecutionPhase: "red", AgentContext: json.RawMessage(`{"test":"x"}`), FilesModified: []string{"a.go"}, DraftContent: "d"})
			return err
		},
		func(log *checkpoint.Log) error { _, err := log.Next("tried the first way"); return err },
		func(log *checkpoint.Log) error { _, err := log.SetLimit(9); return err },
		func(log *checkpoint.Log) error { return log.Expire(log.List()[0].ID) },
		func(log *checkpoint.Log) error {
			_, err := log.Validate(green, "<promise>COMPLETE</promise>", iteration.Hook{})
			return err
		},
		func(log *checkpoint.Log) error { _, err := log.CleanUp(1); return err },
		func(log *checkpoint.Log) error { _, err := log.End(); return err },
	}
	for n, do := range steps {
		log := open(t, dir)
		require.NoError(t, do(log), n)
		loop, err := log.Loop()
		require.NoError(t, err)
		points := log.List()
		require.NoError(t, log.Close())

		read, err := checkpoint.Read(dir, clock())
		require.NoError(t, err)
		again, err := read.Loop()
		require.NoError(t, err)
		was, err := json.Marshal(loop)
		require.NoError(t, err)
		is, err := json.Marshal(again)
		require.NoError(t, err)
		require.JSONEq(t, string(was), string(is), "step %d", n)
		require.Equal(t, len(points), len(read.List()))

		text, err := os.ReadFile(filepath.Join(dir, "journal.jsonl"))
		require.NoError(t, err)
		for _, cut := range []int{1, 7, 100} { // a torn last line
			torn := filepath.Join(t.TempDir(), "torn")
			require.NoError(t, os.MkdirAll(torn, 0o700))
			require.NoError(t, os.WriteFile(filepath.Join(torn, "journal.jsonl"), text[:len(text)-cut], 0o600))
			log := open(t, torn)
			if n > 0 {
				_, err := log.Loop()
				require.NoError(t, err)
			}
			require.NoError(t, log.Close())
		}
	}
	log := open(t, dir)
	defer log.Close()
	l, err := log.Loop()
	require.NoError(t, err)
	require.Equal(t, iteration.Complete, l.Done)
	require.Equal(t, 9, l.Config.MaxIterations)
	require.JSONEq(t, `{"test":"x"}`, string(l.AgentContext), "it carries over")
	c, err := log.Find("")
	require.NoError(t, err)
	require.Equal(t, 2, c.IterationNumber)
	require.Empty(t, c.DraftContent, "a draft does not carry over")
	require.JSONEq(t, `{"test":"x"}`, string(c.AgentContext))
	require.Contains(t, log.Instructions(c), "Iteration 2 of 9. The last validation was green, score 100.")
	_, err = log.Start("t-1", iteration.Config{MaxIterations: 1})
	require.NoError(t, err, "a loop that has ended may be followed by another")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "other"), nil, 0o600))
	require.NoError(t, checkpoint.Prune(dir))
	_, err = checkpoint.Read(dir, clock())
	require.ErrorIs(t, err, checkpoint.ErrNoLoop)
	require.FileExists(t, filepath.Join(dir, "other"))
	require.NoError(t, checkpoint.Prune(filepath.Join(dir, "none")))
}

// TestRefusals: what is refused is said why, and nothing is written.
func TestRefusals(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "loop")
	_, err := checkpoint.Read(dir, clock())
	require.ErrorIs(t, err, checkpoint.ErrNoLoop)
	log := open(t, dir)
	_, err = log.Next("")
	require.ErrorIs(t, err, checkpoint.ErrNoLoop)
	_, err = log.Validate(red, "", iteration.Hook{})
	require.ErrorIs(t, err, checkpoint.ErrNoLoop)
	_, err = log.Find("")
	require.ErrorIs(t, err, checkpoint.ErrNotFound)
	_, err = log.Start("t", iteration.Config{})
	require.ErrorIs(t, err, iteration.ErrConfig)
	_, err = log.Start("t", iteration.Config{MaxIterations: 1})
	require.NoError(t, err)
	_, err = log.Start("t", iteration.Config{MaxIterations: 1})
	require.ErrorIs(t, err, checkpoint.ErrActive)
	before, err := os.ReadFile(filepath.Join(dir, "journal.jsonl"))
	require.NoError(t, err)
	_, err = log.Next("")
	require.ErrorIs(t, err, iteration.ErrNotYet)
	for _, c := range []checkpoint.Checkpoint{{AgentContext: json.RawMessage("{")}, {AgentContext: json.RawMessage(`"` + strings.Repeat("x", 1<<20) + `"`)}, {DraftContent: strings.Repeat("x", 2<<20)}} {
		_, err = log.Create(c)
		require.ErrorIs(t, err, checkpoint.ErrContext)
	}
	require.ErrorIs(t, log.Expire("nonsense"), checkpoint.ErrNotFound)
	after, err := os.ReadFile(filepath.Join(dir, "journal.jsonl"))
	require.NoError(t, err)
	require.Equal(t, string(before), string(after))

	soon, err := log.Create(checkpoint.Checkpoint{TaskID: "t", Trigger: checkpoint.Manual, ExpiresAt: time.Date(2026, 1, 2, 12, 0, 1, 0, time.UTC)})
	require.NoError(t, err)
	_, err = log.Find(soon.ID)
	require.ErrorIs(t, err, checkpoint.ErrNotFound, "it has expired")
	c, err := log.Find("")
	require.NoError(t, err)
	require.Equal(t, checkpoint.AutoIteration, c.Trigger)
	n, err := log.CleanUp(1)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.NoError(t, log.Close())
}
