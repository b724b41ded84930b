package proc

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// keptOf is what a log of this limit should hold: the rule, without its machinery.
func keptOf(all []byte, limit int) []byte {
	half := limit / 2
	if len(all) <= 2*half {
		return all
	}
	mark := fmt.Sprintf("\n... %d bytes dropped ...\n", len(all)-2*half)
	return append(append(bytes.Clone(all[:half]), mark...), all[len(all)-half:]...)
}

func TestLogAgainstItsRule(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for round := range 300 {
		path := filepath.Join(t.TempDir(), "log")
		limit := 2 + random.IntN(60)
		l, err := openLog(nil, path, int64(limit))
		require.NoError(t, err)
		var all []byte
		for range random.IntN(12) {
			piece := make([]byte, random.IntN(40))
			for i := range piece {
				piece[i] = byte(random.IntN(256))
			}
			l.write(stdout, piece)
			all = append(all, piece...)
		}
		require.NoError(t, l.close())
		got, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, string(keptOf(all, limit)), string(got), "round %d, limit %d, %d bytes", round, limit, len(all))
		require.EqualValues(t, max(0, len(all)-limit/2*2), l.dropped())
		require.NoFileExists(t, l.tailPath())
	}
}

func TestLogGoesOnWhenTheDiskDoesNot(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("SKIPPED: no /dev/full on this system")
	}
	l, err := openLog(nil, "/dev/full", 100)
	require.NoError(t, err)
	l.write(stdout, []byte("lost"))
	l.write(stdout, make([]byte, 200))
	require.Error(t, l.close())
	require.EqualValues(t, 204, l.dropped())
}

func TestLogWithoutAPath(t *testing.T) {
	t.Parallel()
	l, err := openLog(nil, "", 0)
	require.NoError(t, err)
	l.write(stdout, []byte("gone"))
	require.NoError(t, l.close())
	require.EqualValues(t, 4, l.dropped())
}

// gather is a filter that holds all back until it is closed.
type gather struct {
	to  io.Writer
	all []byte
}

func (g *gather) Write(p []byte) (int, error) { g.all = append(g.all, p...); return len(p), nil }

func (g *gather) Close() error {
	_, err := g.to.Write(bytes.ReplaceAll(g.all, []byte("secret"), []byte("-")))
	return err
}

// What one stream writes in pieces is whole for its filter, whatever the other says in between.
func TestLogFiltersEachStream(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log")
	l, err := openLog(nil, path, 100)
	require.NoError(t, err)
	l.filterBy(func(w io.Writer) io.WriteCloser { return &gather{to: w} })
	l.write(stdout, []byte("a sec"))
	l.write(stderr, []byte("x"))
	l.write(stdout, []byte("ret b"))
	require.NoError(t, l.close())
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "a - bx", string(got))
}

// Both streams go through one filter, in the order in which they come, and the bound counts
// what the filter leaves.
func TestLogThroughAFilter(t *testing.T) {
	t.Parallel()
	const text = "a secret b"
	for i := range len(text) {
		path := filepath.Join(t.TempDir(), "log")
		l, err := openLog(nil, path, 8)
		require.NoError(t, err)
		l.filterBy(func(w io.Writer) io.WriteCloser { return &gather{to: w} })
		o := &output{log: l}
		o.takeStdout([]byte(text[:i]))
		o.takeStderr([]byte(text[i:]))
		exit := o.exit(ending{})
		require.NoError(t, exit.LogErr)
		require.Zero(t, exit.DroppedBytes)
		got, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, "a - b", string(got))
	}
	l, err := openLog(nil, "", 8) // a log that nobody keeps
	require.NoError(t, err)
	l.filterBy(func(io.Writer) io.WriteCloser { t.Error("asked for a filter of nothing"); return nil })
	l.write(stdout, []byte("x"))
	require.NoError(t, l.close())
}
