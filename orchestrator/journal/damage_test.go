package journal_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/journal"
)

// requirePrefix holds for records that are the first few of all.
func requirePrefix(t testing.TB, all, some []journal.Record) {
	t.Helper()
	require.LessOrEqual(t, len(some), len(all))
	for i, r := range some {
		require.Equal(t, all[i], r)
	}
}

func TestEveryPrefixIsAPrefix(t *testing.T) {
	t.Parallel()
	text, all := written(t, 4<<10)
	dir := holding(t, nil)
	path := filepath.Join(dir, "journal.jsonl")
	for n := range len(text) + 1 {
		require.NoError(t, os.WriteFile(path, text[:n], 0o600))
		rec, err := journal.Read(dir)
		require.NoError(t, err, "%d bytes", n)
		lines := bytes.Count(text[:n], []byte("\n"))
		require.Len(t, rec.Records, max(lines-1, 0), "%d bytes", n)
		requirePrefix(t, all, rec.Records)
		require.EqualValues(t, n-(bytes.LastIndexByte(text[:n], '\n')+1), rec.TornBytes)
	}
}

// A flipped bit is told, but in the last line, which may as well be torn; there too no
// record is read otherwise than it was written.
func TestEveryBitFlipIsFound(t *testing.T) {
	t.Parallel()
	text, all := written(t, 4<<10)
	last := bytes.LastIndexByte(text[:len(text)-1], '\n') + 1
	dir := holding(t, nil)
	path := filepath.Join(dir, "journal.jsonl")
	bits := []int{0, 5} // of each byte: the lowest, and the one that tells small letters from capitals
	if os.Getenv("ORCH_TEST_STRICT") != "" {
		bits = []int{0, 1, 2, 3, 4, 5, 6, 7}
	}
	step := 1
	if testing.Short() { // which is for races, and here is one goroutine
		step = 16
	}
	for i := 0; i < len(text); i += step {
		for _, bit := range bits {
			spoilt := bytes.Clone(text)
			spoilt[i] ^= 1 << bit
			require.NoError(t, os.WriteFile(path, spoilt, 0o600))
			rec, err := journal.Read(dir)
			if i < last {
				require.ErrorIs(t, err, journal.ErrCorrupt, "byte %d bit %d", i, bit)
				continue
			}
			require.NoError(t, err, "byte %d bit %d", i, bit)
			require.EqualValues(t, len(text)-last, rec.TornBytes)
			require.Len(t, rec.Records, len(all)-1)
			requirePrefix(t, all, rec.Records)
		}
	}
}

func TestDamage(t *testing.T) {
	t.Parallel()
	text, _ := written(t, 1500)
	lines := bytes.SplitAfter(text, []byte("\n"))
	join := func(lines ...[]byte) []byte { return bytes.Join(lines, nil) }
	body := join(lines[1:]...)
	other, _ := written(t, 500)
	otherLines := bytes.SplitAfter(bytes.ReplaceAll(other, []byte("claim"), []byte("other")), []byte("\n"))
	tests := []struct {
		name string
		text []byte
		line int
		why  string
	}{
		{"no header", body, 1, "format"},
		{"a line is missing", join(lines[0], lines[1], join(lines[3:]...)), 3, "record 3 follows record 1"},
		{"a line comes twice", join(lines[0], lines[1], body), 3, "record 1 follows record 1"},
		{"two lines change places", join(lines[0], lines[2], lines[1], join(lines[3:]...)), 2, "record 2 follows record 0"},
		{"an empty line", join(lines[0], []byte("\n"), body), 2, "checksum"},
		{"edited by hand", bytes.Replace(text, []byte("claim"), []byte("CLAIM"), 1), 2, "checksum"},
		{"zeros in the middle", join(lines[0], make([]byte, 512), []byte("\n"), body), 2, "checksum"},
		{"a missing newline", join(lines[0], bytes.TrimSuffix(lines[1], []byte("\n")), join(lines[2:]...)), 2, "checksum"},
		{"two headers", join(lines[0], text), 2, "follows"},
		{"line ends were converted", bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n")), 1, "CR LF"},
		{"line ends were converted from a line on", join(lines[0], lines[1], bytes.ReplaceAll(join(lines[2:]...), []byte("\n"), []byte("\r\n"))), 3, "CR LF"},
		{"the last line twice, and one more", join(text, lines[len(lines)-2], lines[1]), len(lines), "follows"},
		{"something else", []byte("hello\n"), 1, "checksum"},
		{"a foreign record", join(lines[0], otherLines[1], body), 2, "checksum"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := holding(t, tt.text)
			_, _, err := journal.Open(dir, clock())
			var corrupt *journal.CorruptError
			require.ErrorAs(t, err, &corrupt)
			require.ErrorIs(t, err, journal.ErrCorrupt)
			require.Equal(t, tt.line, corrupt.Line)
			require.Contains(t, corrupt.Why, tt.why)
			require.Contains(t, err.Error(), filepath.Join(dir, "journal.jsonl"))
			require.Equal(t, tt.text, contents(t, dir), "nothing is changed")

			sound, err := journal.Read(holding(t, tt.text[:corrupt.ValidPrefix]))
			require.NoError(t, err, "the advice that it gives holds")
			require.Zero(t, sound.TornBytes)
		})
	}
}

func TestChainOfAnotherJournal(t *testing.T) {
	t.Parallel()
	text, _ := written(t, 1500)
	other := newDir(t)
	j, _ := open(t, other)
	for range 3 {
		_, err := j.Append("elsewhere")
		require.NoError(t, err)
	}
	lines, foreign := bytes.SplitAfter(text, []byte("\n")), bytes.SplitAfter(contents(t, other), []byte("\n"))
	dir := holding(t, bytes.Join([][]byte{lines[0], lines[1], foreign[2]}, nil))
	_, err := journal.Read(dir)
	require.ErrorIs(t, err, journal.ErrCorrupt)
	require.ErrorContains(t, err, "does not continue")
}

func TestTornTailIsCutAndKept(t *testing.T) {
	t.Parallel()
	text, all := written(t, 1500)
	last := text[bytes.LastIndexByte(text[:len(text)-1], '\n')+1:]
	for name, tail := range map[string][]byte{
		"half a line":                   []byte(`{"v":1,"seq":99,"at":"20`),
		"a damaged line":                []byte("{\"v\":1}\n"),
		"several lines":                 []byte("a\nb\nc\n"),
		"zeros":                         make([]byte, 4096),
		"zeros, then a line":            append(make([]byte, 100), "x\n"...),
		"the last line":                 last,
		"the last line, and half of it": append(bytes.Clone(last), last[:len(last)/2]...),
		"the last line three times":     bytes.Repeat(last, 3),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := holding(t, append(bytes.Clone(text), tail...))
			j, rec := open(t, dir)
			require.EqualValues(t, len(tail), rec.TornBytes)
			require.Equal(t, all, rec.Records)
			require.Equal(t, text, contents(t, dir))
			kept, err := filepath.Glob(filepath.Join(dir, "journal.torn-*"))
			require.NoError(t, err)
			require.Len(t, kept, 1)
			aside, err := os.ReadFile(kept[0])
			require.NoError(t, err)
			require.Equal(t, tail, aside)

			r, err := j.Append(1)
			require.NoError(t, err)
			require.EqualValues(t, len(all)+1, r.Seq)
			require.NoError(t, j.Close())
			_, rec = open(t, dir)
			require.Zero(t, rec.TornBytes)
			require.Len(t, rec.Records, len(all)+1)
		})
	}
}

func TestTornHeaderBeginsAgain(t *testing.T) {
	t.Parallel()
	dir := holding(t, []byte(`{"format":"orch-jou`))
	j, rec := open(t, dir)
	require.EqualValues(t, 19, rec.TornBytes)
	_, err := j.Append(1)
	require.NoError(t, err)
	require.NoError(t, j.Close())
	_, rec = open(t, dir)
	require.Len(t, rec.Records, 1)
}

func TestNewerVersionIsRefused(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"header-v4.jsonl", "record-v4.jsonl"} {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		require.NoError(t, err)
		dir := holding(t, text)
		_, _, err = journal.Open(dir, clock())
		require.ErrorIs(t, err, journal.ErrVersion, name)
		_, err = journal.Read(dir)
		require.ErrorIs(t, err, journal.ErrVersion, name)
		require.Equal(t, text, contents(t, dir))
	}
}

// Whatever the file holds, reading says what it is, opening agrees, and a journal that
// opens takes records.
func FuzzOpen(f *testing.F) {
	text, _ := written(f, 800)
	for _, seed := range []string{"", "\n", "{}\n", string(text), string(text) + "{\"v\":1", strings.Replace(string(text), "claim", "clasp", 1), string(text) + "\n" + string(text)} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		dir := holding(t, text)
		seen, readErr := journal.Read(dir)
		j, rec, err := journal.Open(dir, clock())
		if readErr != nil {
			require.ErrorContains(t, err, readErr.Error())
			require.Equal(t, text, contents(t, dir))
			return
		}
		require.NoError(t, err)
		require.Equal(t, seen, rec)
		r, err := j.Append("next")
		require.NoError(t, err)
		require.EqualValues(t, len(rec.Records)+1, r.Seq)
		require.NoError(t, j.Close())
		after, err := journal.Read(dir)
		require.NoError(t, err)
		require.Equal(t, append(rec.Records, r), after.Records)
	})
}
