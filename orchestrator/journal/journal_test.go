package journal_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/journal"
)

type event struct {
	Kind string `json:"kind"`
	Text string `json:"text,omitempty"`
}

// clock ticks a second a call.
func clock() func() time.Time {
	t := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	return func() time.Time {
		t = t.Add(time.Second)
		return t
	}
}

func newDir(t testing.TB) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "epic")
}

func open(t testing.TB, dir string) (*journal.Journal, journal.Recovery) {
	t.Helper()
	j, rec, err := journal.Open(dir, clock())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, j.Close()) })
	return j, rec
}

// written makes a journal of about size bytes and gives its text and records.
func written(t testing.TB, size int) (text []byte, recs []journal.Record) {
	t.Helper()
	dir := newDir(t)
	j, _ := open(t, dir)
	for i := 0; ; i++ {
		r, err := j.Append(event{Kind: "claim", Text: strings.Repeat("é<&>\n", i%7)})
		require.NoError(t, err)
		recs = append(recs, r)
		text = contents(t, dir)
		if len(text) >= size {
			return text, recs
		}
	}
}

func contents(t testing.TB, dir string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "journal.jsonl"))
	require.NoError(t, err)
	return text
}

// holding makes a journal directory with this text.
func holding(t testing.TB, text []byte) string {
	t.Helper()
	dir := newDir(t)
	require.NoError(t, os.Mkdir(dir, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "journal.jsonl"), text, 0o600))
	return dir
}

func TestAppendedIsReadBack(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	j, rec := open(t, dir)
	require.Empty(t, rec)

	one, err := j.Append(event{Kind: "claim", Text: "<promise>COMPLETE</promise>"})
	require.NoError(t, err)
	more, err := j.AppendAll(event{Kind: "started"}, json.RawMessage("{\"a\":\n [1, null]}"))
	require.NoError(t, err)
	want := append([]journal.Record{one}, more...)
	for i, r := range want {
		require.EqualValues(t, i+1, r.Seq)
		require.Equal(t, time.UTC, r.At.Location())
	}
	require.JSONEq(t, `{"a":[1,null]}`, string(more[1].Event))
	require.Contains(t, string(contents(t, dir)), "<promise>")

	for range 2 {
		require.NoError(t, j.Close())
		got, err := journal.Read(dir)
		require.NoError(t, err)
		require.Equal(t, journal.Recovery{Records: want}, got)
		var again journal.Recovery
		j, again = open(t, dir)
		require.Equal(t, got, again)
	}
}

func TestOpenGoesOnWithTheChain(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	for i := range 5 {
		j, rec := open(t, dir)
		require.Len(t, rec.Records, i)
		r, err := j.Append(i)
		require.NoError(t, err)
		require.EqualValues(t, i+1, r.Seq)
		require.NoError(t, j.Close())
	}
}

func TestAppendOfNothing(t *testing.T) {
	t.Parallel()
	j, _ := open(t, newDir(t))
	recs, err := j.AppendAll()
	require.NoError(t, err)
	require.Empty(t, recs)
}

func TestAnEventWithoutJSONChangesNothing(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	j, _ := open(t, dir)
	before := contents(t, dir)
	for _, bad := range []any{make(chan int), json.RawMessage("{"), func() {}} {
		_, err := j.AppendAll(1, bad)
		require.Error(t, err)
		require.NotErrorIs(t, err, journal.ErrBroken)
	}
	require.Equal(t, before, contents(t, dir))
	r, err := j.Append(1)
	require.NoError(t, err)
	require.EqualValues(t, 1, r.Seq)
}

func TestAppendAfterClose(t *testing.T) {
	t.Parallel()
	j, _ := open(t, newDir(t))
	require.NoError(t, j.Close())
	require.NoError(t, j.Close())
	_, err := j.Append(1)
	require.ErrorIs(t, err, journal.ErrBroken)
	require.ErrorIs(t, err, os.ErrClosed)
}

func TestPrivate(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		spoil func(t *testing.T, dir string) error
	}{
		{"directory open to the group", func(_ *testing.T, dir string) error { return os.Chmod(dir, 0o750) }},
		{"directory open to all", func(_ *testing.T, dir string) error { return os.Chmod(dir, 0o777) }},
		{"directory is a link", func(_ *testing.T, dir string) error {
			return errors.Join(os.Rename(dir, dir+".real"), os.Symlink(dir+".real", dir))
		}},
		{"file is a link", func(_ *testing.T, dir string) error {
			path := filepath.Join(dir, "journal.jsonl")
			return errors.Join(os.Rename(path, path+".real"), os.Symlink(path+".real", path))
		}},
		{"file is a directory", func(_ *testing.T, dir string) error {
			path := filepath.Join(dir, "journal.jsonl")
			return errors.Join(os.Remove(path), os.Mkdir(path, 0o700))
		}},
		{"file open to others", func(_ *testing.T, dir string) error {
			return os.Chmod(filepath.Join(dir, "journal.jsonl"), 0o644)
		}},
		{"another owner", func(t *testing.T, dir string) error {
			if os.Geteuid() != 0 {
				t.Skip("SKIPPED: only root can give a directory away")
			}
			return os.Chown(dir, 12345, -1)
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := newDir(t)
			j, _ := open(t, dir)
			require.NoError(t, j.Close())
			require.NoError(t, tt.spoil(t, dir))
			_, _, err := journal.Open(dir, clock())
			require.ErrorIs(t, err, journal.ErrUnsafe)
		})
	}
}

func TestMadePrivate(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	open(t, dir)
	info, err := os.Stat(dir)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
	info, err = os.Stat(filepath.Join(dir, "journal.jsonl"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
}

func TestReadOfNoJournal(t *testing.T) {
	t.Parallel()
	_, err := journal.Read(newDir(t))
	require.ErrorIs(t, err, os.ErrNotExist)
}

// What a released version wrote is read by every later one.
func TestGoldenVersions(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"v1.jsonl", "v2.jsonl"} { // the second was continued in version 2
		text, err := os.ReadFile(filepath.Join("testdata", name))
		require.NoError(t, err)
		rec, err := journal.Read(holding(t, text))
		require.NoError(t, err)
		require.Zero(t, rec.TornBytes)
		require.Equal(t, []journal.Record{
			{Seq: 1, At: time.Date(2026, 1, 2, 3, 4, 7, 0, time.UTC), Event: json.RawMessage(`{"kind":"claimed","task":"bd-1"}`)},
			{Seq: 2, At: time.Date(2026, 1, 2, 3, 4, 8, 0, time.UTC), Event: json.RawMessage(`{"kind":"landed","task":"bd-1","text":"<é>"}`)},
		}, rec.Records)
	}
}

// A journal of version 1 goes on in version 3, so that an orch which knows no other refuses it.
func TestVersion1GoesOnInVersion3(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("testdata", "v1.jsonl"))
	require.NoError(t, err)
	dir := holding(t, text)
	j, _ := open(t, dir)
	_, err = j.Append(event{Kind: "next"})
	require.NoError(t, err)
	now := string(contents(t, dir))
	require.Equal(t, string(text), now[:len(text)], "what was written is not changed")
	require.Contains(t, now[len(text):], `{"v":3,"seq":3,`)
	rec, err := journal.Read(dir)
	require.NoError(t, err)
	require.Len(t, rec.Records, 3)
}

func ExampleOpen() {
	base, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(base)
	dir := filepath.Join(base, "epic")

	j, _, err := journal.Open(dir, time.Now)
	if err != nil {
		panic(err)
	}
	if _, err := j.Append(map[string]string{"kind": "claimed"}); err != nil {
		panic(err) // nothing may be done that is not written down
	}
	if err := j.Close(); err != nil {
		panic(err)
	}

	_, found, err := journal.Open(dir, time.Now)
	if err != nil {
		panic(err)
	}
	for _, r := range found.Records {
		fmt.Println(r.Seq, string(r.Event))
	}
	// Output: 1 {"kind":"claimed"}
}
