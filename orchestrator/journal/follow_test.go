package journal_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/journal"
)

// follow runs Follow until the test ends; what it finds comes on the channel.
func follow(t *testing.T, dir string, from int64) (<-chan journal.Record, <-chan error) {
	t.Helper()
	found, ended := make(chan journal.Record, 100), make(chan error, 1)
	go func() {
		ended <- journal.Follow(t.Context(), dir, from, func(r journal.Record) error {
			found <- r
			return nil
		})
	}()
	return found, ended
}

func next(t *testing.T, found <-chan journal.Record) journal.Record {
	t.Helper()
	select {
	case r := <-found:
		return r
	case <-time.After(20 * time.Second):
		require.FailNow(t, "no record came")
		return journal.Record{}
	}
}

func TestFollow(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	found, _ := follow(t, dir, 2) // before there is a journal
	j, _ := open(t, dir)
	recs, err := j.AppendAll("a", "b", "c")
	require.NoError(t, err)
	require.Equal(t, recs[2], next(t, found))
	r, err := j.Append("d")
	require.NoError(t, err)
	require.Equal(t, r, next(t, found))
}

func TestFollowPassesOverATornTail(t *testing.T) {
	t.Parallel()
	text, all := written(t, 1000)
	dir := holding(t, append(text, "half a rec"...))
	found, _ := follow(t, dir, 0)
	for _, r := range all {
		require.Equal(t, r, next(t, found))
	}
	j, _ := open(t, dir)
	r, err := j.Append("after the repair")
	require.NoError(t, err)
	require.Equal(t, r, next(t, found))
}

func TestFollowEnds(t *testing.T) {
	t.Parallel()
	text, _ := written(t, 1000)

	t.Run("with the context", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancelCause(t.Context())
		enough := errors.New("enough")
		err := journal.Follow(ctx, holding(t, text), 0, func(journal.Record) error {
			cancel(enough)
			return nil
		})
		require.ErrorIs(t, err, enough)
	})
	t.Run("with the function", func(t *testing.T) {
		t.Parallel()
		err := journal.Follow(t.Context(), holding(t, text), 0, func(journal.Record) error { return os.ErrInvalid })
		require.ErrorIs(t, err, os.ErrInvalid)
	})
	t.Run("with damage", func(t *testing.T) {
		t.Parallel()
		dir := holding(t, text[1:])
		err := journal.Follow(t.Context(), dir, 0, func(journal.Record) error { return nil })
		var corrupt *journal.CorruptError
		require.ErrorAs(t, err, &corrupt)
		require.Equal(t, filepath.Join(dir, "journal.jsonl"), corrupt.Path)
	})
}
