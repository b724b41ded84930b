package journal_test

import (
	"bytes"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/journal"
)

// all believes every record.
func all(recs []journal.Record) int { return len(recs) }

// mended mends a journal and gives what it holds then, with the file that it was kept in.
func mended(t *testing.T, dir string, believe func([]journal.Record) int) (journal.Mended, journal.Recovery) {
	t.Helper()
	dry, err := journal.Mend(dir, believe, clock(), true)
	require.NoError(t, err)
	require.Empty(t, dry.Kept)
	m, err := journal.Mend(dir, believe, clock(), false)
	require.NoError(t, err)
	require.Equal(t, dry.Did, m.Did, "it does what it said")
	j, rec := open(t, dir)
	require.Zero(t, rec.TornBytes)
	_, err = j.Append("next")
	require.NoError(t, err)
	return m, rec
}

func TestMend(t *testing.T) {
	t.Parallel()
	text, recs := written(t, 1500)
	lines := bytes.SplitAfter(text, []byte("\n"))
	join := func(lines ...[]byte) []byte { return bytes.Join(lines, nil) }
	dos := func(text []byte) []byte { return bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n")) }
	tests := []struct {
		name string
		text []byte
		keep int // records
		says string
	}{
		{"a record in the middle twice", join(lines[0], lines[1], lines[2], lines[2], join(lines[3:]...)), 2, "record 2 follows record 2"},
		{"two records change places", join(lines[0], lines[1], lines[3], lines[2], join(lines[4:]...)), 1, "record 3 follows record 1"},
		{"a bit flipped", join(lines[0], lines[1], bytes.Replace(lines[2], []byte("claim"), []byte("clain"), 1), join(lines[3:]...)), 1, "checksum"},
		{"the last twice", join(text, lines[len(lines)-2]), len(recs), "no record, or say the last one again"},
		{"torn", append(bytes.Clone(text), "half"...), len(recs), "no record"},
		{"line ends converted", dos(text), len(recs), "CR LF"},
		{"line ends converted in part", join(lines[0], lines[1], dos(join(lines[2:]...))), len(recs), "CR LF"},
		{"the header gone", join(lines[1:]...), 0, "line 1"},
		{"nothing but NUL", append(make([]byte, 300), '\n'), 0, "line 1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := holding(t, tt.text)
			m, rec := mended(t, dir, all)
			require.Len(t, m.Did, 1)
			require.Contains(t, m.Did[0], tt.says)
			require.Len(t, rec.Records, tt.keep)
			requirePrefix(t, recs, rec.Records)
			kept, err := os.ReadFile(m.Kept)
			require.NoError(t, err)
			require.Equal(t, tt.text, kept, "nothing is thrown away")
		})
	}
}

func TestMendCutsWhatMakesNoSense(t *testing.T) {
	t.Parallel()
	text, recs := written(t, 1500)
	dir := holding(t, text)
	m, rec := mended(t, dir, func([]journal.Record) int { return 2 })
	require.Equal(t, recs[:2], rec.Records)
	require.Contains(t, m.Did[0], "record 3 does not belong here")
	dir = holding(t, text)
	m, rec = mended(t, dir, func([]journal.Record) int { return 0 })
	require.Empty(t, rec.Records)
	require.FileExists(t, m.Kept)
}

func TestMendLeavesASoundJournalAlone(t *testing.T) {
	t.Parallel()
	text, _ := written(t, 1500)
	for _, text := range [][]byte{text, nil, text[:bytes.IndexByte(text, '\n')+1]} {
		m, _ := mended(t, holding(t, text), all)
		require.Empty(t, m)
	}
	m, err := journal.Mend(newDir(t), all, clock(), false)
	require.NoError(t, err)
	require.Empty(t, m)
}

func TestMendOfOddFiles(t *testing.T) {
	t.Parallel()
	text, recs := written(t, 1000)
	for name, spoil := range map[string]func(path string) error{
		"a link":      func(path string) error { return os.Symlink("/nowhere", path) },
		"a directory": func(path string) error { return os.Mkdir(path, 0o700) },
		"a pipe":      func(path string) error { return syscall.Mkfifo(path, 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := holding(t, nil)
			path := filepath.Join(dir, "journal.jsonl")
			require.NoError(t, os.Remove(path))
			require.NoError(t, spoil(path))
			_, err := journal.Read(dir)
			require.ErrorIs(t, err, journal.ErrUnsafe, "it neither waits nor follows")
			_, _, err = journal.Open(dir, clock())
			require.ErrorIs(t, err, journal.ErrUnsafe)
			m, rec := mended(t, dir, all)
			require.Empty(t, rec.Records)
			_, err = os.Lstat(m.Kept)
			require.NoError(t, err)
		})
	}
	dir := holding(t, text)
	require.NoError(t, os.Chmod(dir, 0o755))
	require.NoError(t, os.Chmod(filepath.Join(dir, "journal.jsonl"), 0o644))
	m, rec := mendedModes(t, dir)
	require.Len(t, m.Did, 2)
	require.Equal(t, recs, rec.Records)
}

func mendedModes(t *testing.T, dir string) (journal.Mended, journal.Recovery) {
	t.Helper()
	m, err := journal.Mend(dir, all, clock(), false)
	require.NoError(t, err)
	_, rec := open(t, dir)
	return m, rec
}

func TestMendRefuses(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("testdata", "record-v4.jsonl"))
	require.NoError(t, err)
	dir := holding(t, text)
	_, err = journal.Mend(dir, all, clock(), false)
	require.ErrorIs(t, err, journal.ErrVersion)
	require.Equal(t, text, contents(t, dir))
	dir = newDir(t)
	open(t, dir)
	_, err = journal.Mend(dir, all, clock(), false)
	require.ErrorIs(t, err, journal.ErrHeld)
}

// FuzzMend: whatever the file holds, a mended journal opens, and nothing is thrown away.
func FuzzMend(f *testing.F) {
	text, _ := written(f, 800)
	for _, seed := range []string{"", "\n", "\r\n", string(text), string(text) + string(text), string(bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n"))), "x" + string(text)} {
		f.Add([]byte(seed), 3)
	}
	f.Fuzz(func(t *testing.T, text []byte, believe int) {
		dir := holding(t, text)
		m, err := journal.Mend(dir, func(recs []journal.Record) int { return min(len(recs), max(0, believe)) }, clock(), false)
		if err != nil {
			require.ErrorIs(t, err, journal.ErrVersion)
			require.Equal(t, text, contents(t, dir))
			return
		}
		if m.Kept != "" {
			kept, err := os.ReadFile(m.Kept)
			require.NoError(t, err)
			require.Equal(t, text, kept)
		}
		j, rec, err := journal.Open(dir, clock())
		require.NoError(t, err)
		require.Zero(t, rec.TornBytes)
		require.NoError(t, j.Close())
	})
}
