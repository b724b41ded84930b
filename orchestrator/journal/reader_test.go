package journal_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/journal"
)

// readOn gives what a Reader finds now.
func readOn(r *journal.Reader) (found []journal.Record, err error) {
	err = r.Read(func(rec journal.Record) error {
		found = append(found, rec)
		return nil
	})
	return found, err
}

func TestReader(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	r := journal.NewReader(dir)
	_, err := readOn(r)
	require.ErrorIs(t, err, os.ErrNotExist)
	j, _ := open(t, dir)
	recs, err := j.AppendAll("a", "b", "c")
	require.NoError(t, err)
	found, err := readOn(r)
	require.NoError(t, err)
	require.Equal(t, recs, found)
	found, err = readOn(r)
	require.NoError(t, err)
	require.Empty(t, found)
	d, err := j.Append("d")
	require.NoError(t, err)
	found, err = readOn(r)
	require.NoError(t, err)
	require.Equal(t, []journal.Record{d}, found)
}

// However the writer's bytes come, each record is told once and none is told by half.
func TestReaderOfAJournalThatIsBeingWritten(t *testing.T) {
	t.Parallel()
	text, all := written(t, 2000)
	dir := holding(t, nil)
	path := filepath.Join(dir, journal.File)
	r := journal.NewReader(dir)
	var found []journal.Record
	for n := 0; n <= len(text); n += 7 {
		require.NoError(t, os.WriteFile(path, text[:n], 0o600))
		more, err := readOn(r)
		require.NoError(t, err, "after %d bytes", n)
		found = append(found, more...)
	}
	require.NoError(t, os.WriteFile(path, text, 0o600))
	more, err := readOn(r)
	require.NoError(t, err)
	require.Equal(t, all, append(found, more...))
}

func TestReaderPassesOverATornTail(t *testing.T) {
	t.Parallel()
	text, all := written(t, 1000)
	dir := holding(t, append(text, "half a rec"...))
	r := journal.NewReader(dir)
	found, err := readOn(r)
	require.NoError(t, err)
	require.Equal(t, all, found)
	j, _ := open(t, dir) // which cuts it
	rec, err := j.Append("after the repair")
	require.NoError(t, err)
	found, err = readOn(r)
	require.NoError(t, err)
	require.Equal(t, []journal.Record{rec}, found)
}

// A journal that takes the place of another is read from its start, whatever it has in common
// with that one.
func TestReaderOfAnotherJournal(t *testing.T) {
	t.Parallel()
	for name, put := range map[string]func(t *testing.T, path string, text []byte){
		"renamed over it": func(t *testing.T, path string, text []byte) {
			require.NoError(t, os.WriteFile(path+".new", text, 0o600))
			require.NoError(t, os.Rename(path+".new", path))
		},
		"written over it": func(t *testing.T, path string, text []byte) { require.NoError(t, os.WriteFile(path, text, 0o600)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, lengths := range [][2]int{{30, 5}, {5, 30}} {
				dir, other := newDir(t), newDir(t)
				of(t, dir, lengths[0], clock())
				recs := of(t, other, lengths[1], func() time.Time { return time.Unix(1e9, 0) })
				r := journal.NewReader(dir)
				_, err := readOn(r)
				require.NoError(t, err)
				put(t, filepath.Join(dir, journal.File), contents(t, other))
				_, err = readOn(r)
				require.ErrorIs(t, err, journal.ErrReplaced, "%v", lengths)
				found, err := readOn(r)
				require.NoError(t, err)
				require.Equal(t, recs, found)
			}
		})
	}
}

// of makes a journal with so many records.
func of(t *testing.T, dir string, records int, now func() time.Time) []journal.Record {
	t.Helper()
	j, _, err := journal.Open(dir, now)
	require.NoError(t, err)
	recs, err := j.AppendAll(slices.Repeat([]any{"one of them"}, records)...)
	require.NoError(t, err)
	require.NoError(t, j.Close())
	return recs
}

func TestReaderFails(t *testing.T) {
	t.Parallel()
	text, _ := written(t, 1000)
	err := journal.NewReader(holding(t, text)).Read(func(journal.Record) error { return os.ErrInvalid })
	require.ErrorIs(t, err, os.ErrInvalid)
	dir := holding(t, text[1:])
	_, err = readOn(journal.NewReader(dir))
	var corrupt *journal.CorruptError
	require.ErrorAs(t, err, &corrupt)
	require.Equal(t, filepath.Join(dir, "journal.jsonl"), corrupt.Path)
}
