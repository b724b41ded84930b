// Package streamtest holds the readers of agent clients to recordings of the real ones.
package streamtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/harness"
)

// Replay feeds testdata/NAME.jsonl to a reader, in pieces of an odd size, and gives the
// outcome for an exit code.
func Replay(t *testing.T, h harness.Harness, name string, exitCode int) harness.Outcome {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+".jsonl"))
	require.NoError(t, err)
	return Read(t, h, string(text), exitCode)
}

// Read feeds a text to a reader, in pieces of an odd size.
func Read(t *testing.T, h harness.Harness, text string, exitCode int) harness.Outcome {
	t.Helper()
	r := h.Reader()
	for text != "" {
		n := min(len(text), 97)
		wrote, err := r.Write([]byte(text[:n]))
		require.NoError(t, err)
		require.Equal(t, n, wrote)
		text = text[n:]
	}
	return r.Outcome(exitCode)
}

// Fuzz holds a reader to what every reader promises, from the recordings on.
func Fuzz(f *testing.F, h harness.Harness) {
	recordings, err := filepath.Glob("testdata/*.jsonl")
	require.NoError(f, err)
	for _, path := range recordings {
		text, err := os.ReadFile(path)
		require.NoError(f, err)
		f.Add(string(text), 1)
	}
	f.Fuzz(func(t *testing.T, text string, exitCode int) {
		out := Read(t, h, text, exitCode)
		require.Equal(t, out, Read(t, h, text, exitCode), "the same output, the same outcome")
		require.Contains(t, []harness.Kind{harness.Ended, harness.RateLimited, harness.Unavailable, harness.Auth, harness.UsageLimit, harness.ContextFull, harness.Crashed}, out.Kind)
		require.True(t, utf8.ValidString(out.Text) && utf8.ValidString(out.Detail))
		require.False(t, strings.ContainsFunc(out.Detail, func(r rune) bool { return r < ' ' }), out.Detail)
		require.GreaterOrEqual(t, out.RetryAfter, time.Duration(0))
		require.LessOrEqual(t, len(out.Text), 1<<20)
	})
}
