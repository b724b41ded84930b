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

func open(t *testing.T, dir string) *checkpoint.Book {
	t.Helper()
	b, err := checkpoint.Open(t.Context(), dir, clock())
	require.NoError(t, err)
	return b
}

var (
	red   = validation.Verdict{Score: 50, Checks: []validation.Check{{Rule: "compiles", Passed: true}, {Rule: "tests", Why: "exit 1"}}}
	green = validation.Verdict{Score: 100, Passed: true, Checks: []validation.Check{{Rule: "tests", Passed: true}}}
)

// TestNothingIsLost: a process that is killed between any two steps finds all of them again;
// one that is killed within a step finds it whole or not at all.
func TestNothingIsLost(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "book")
	steps := []func(b *checkpoint.Book) error{
		func(b *checkpoint.Book) error {
			_, err := b.Start("t-1", iteration.Config{MaxIterations: 5})
			return err
		},
		func(b *checkpoint.Book) error { _, err := b.Validate(red, "", iteration.Hook{}); return err },
		func(b *checkpoint.Book) error {
			_, err := b.Create(checkpoint.Checkpoint{TaskID: "t-1", Trigger: "manual", ExecutionPhase: "red", AgentContext: json.RawMessage(`{"test":"x"}`), FilesModified: []string{"a.go"}, DraftContent: "d"})
			return err
		},
		func(b *checkpoint.Book) error { _, err := b.Next("tried the first way"); return err },
		func(b *checkpoint.Book) error { _, err := b.Limit(9); return err },
		func(b *checkpoint.Book) error { return b.Expire(b.List()[0].ID) },
		func(b *checkpoint.Book) error {
			_, err := b.Validate(green, "<promise>COMPLETE</promise>", iteration.Hook{})
			return err
		},
		func(b *checkpoint.Book) error { _, err := b.CleanUp(1); return err },
		func(b *checkpoint.Book) error { _, err := b.End(); return err },
	}
	for n, do := range steps {
		b := open(t, dir)
		require.NoError(t, do(b), n)
		loop, err := b.Loop()
		require.NoError(t, err)
		points := b.List()
		require.NoError(t, b.Close())

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
			b := open(t, torn)
			if n > 0 {
				_, err := b.Loop()
				require.NoError(t, err)
			}
			require.NoError(t, b.Close())
		}
	}
	b := open(t, dir)
	defer b.Close()
	l, err := b.Loop()
	require.NoError(t, err)
	require.Equal(t, iteration.Complete, l.Done)
	require.Equal(t, 9, l.Config.MaxIterations)
	require.JSONEq(t, `{"test":"x"}`, string(l.AgentContext), "it carries over")
	c, err := b.Newest("")
	require.NoError(t, err)
	require.Equal(t, 2, c.IterationNumber)
	require.Empty(t, c.DraftContent, "a draft does not carry over")
	require.JSONEq(t, `{"test":"x"}`, string(c.AgentContext))
	require.Contains(t, b.Instructions(c), "Iteration 2 of 9. The last validation was green, score 100.")
	_, err = b.Start("t-1", iteration.Config{MaxIterations: 1})
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
	dir := filepath.Join(t.TempDir(), "book")
	_, err := checkpoint.Read(dir, clock())
	require.ErrorIs(t, err, checkpoint.ErrNoLoop)
	b := open(t, dir)
	_, err = b.Next("")
	require.ErrorIs(t, err, checkpoint.ErrNoLoop)
	_, err = b.Validate(red, "", iteration.Hook{})
	require.ErrorIs(t, err, checkpoint.ErrNoLoop)
	_, err = b.Newest("")
	require.ErrorIs(t, err, checkpoint.ErrNotFound)
	_, err = b.Start("t", iteration.Config{})
	require.ErrorIs(t, err, iteration.ErrConfig)
	_, err = b.Start("t", iteration.Config{MaxIterations: 1})
	require.NoError(t, err)
	_, err = b.Start("t", iteration.Config{MaxIterations: 1})
	require.ErrorIs(t, err, checkpoint.ErrActive)
	before, err := os.ReadFile(filepath.Join(dir, "journal.jsonl"))
	require.NoError(t, err)
	_, err = b.Next("")
	require.ErrorIs(t, err, iteration.ErrNotYet)
	for _, c := range []checkpoint.Checkpoint{{AgentContext: json.RawMessage("{")}, {AgentContext: json.RawMessage(`"` + strings.Repeat("x", 1<<20) + `"`)}, {DraftContent: strings.Repeat("x", 2<<20)}} {
		_, err = b.Create(c)
		require.ErrorIs(t, err, checkpoint.ErrContext)
	}
	require.ErrorIs(t, b.Expire("nonsense"), checkpoint.ErrNotFound)
	after, err := os.ReadFile(filepath.Join(dir, "journal.jsonl"))
	require.NoError(t, err)
	require.Equal(t, string(before), string(after))

	soon, err := b.Create(checkpoint.Checkpoint{TaskID: "t", Trigger: checkpoint.Manual, ExpiresAt: time.Date(2026, 1, 2, 12, 0, 1, 0, time.UTC)})
	require.NoError(t, err)
	_, err = b.Newest(soon.ID)
	require.ErrorIs(t, err, checkpoint.ErrNotFound, "it has expired")
	c, err := b.Newest("")
	require.NoError(t, err)
	require.Equal(t, checkpoint.AutoIteration, c.Trigger)
	n, err := b.CleanUp(1)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.NoError(t, b.Close())
}
