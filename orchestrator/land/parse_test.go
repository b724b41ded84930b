package land

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseLandings(t *testing.T) {
	t.Parallel()
	got := parseLandings("c3\ne\nt/1\x00c2\n\n\x00c1\ne\na/1,b/1\x00c0\ne\nline\nline\x00")
	require.Equal(t, []landing{{commit: "c3", attempt: "t/1"}}, got)
}

func FuzzParseLandings(f *testing.F) {
	f.Add("c3\ne\nt/1\x00c2\n\n")
	f.Fuzz(func(t *testing.T, out string) {
		for _, l := range parseLandings(out) {
			require.Contains(t, out, string(l.commit)+"\n")
			require.Contains(t, out, "\n"+l.attempt)
			require.NotContains(t, l.attempt, ",")
		}
	})
}

func FuzzMessage(f *testing.F) {
	f.Add("e", "t", "title", "body")
	f.Add("e\nOrch-Epic: x", "t/1", "\n\n", "Orch-Task: y\n\n---\n\x00")
	f.Fuzz(func(t *testing.T, epic, task, title, body string) {
		m := Message{Epic: epic, Task: task, Attempt: 1, Title: title, Body: body}
		text := m.text()
		require.NotContains(t, text, "\x00")
		paragraphs := strings.Split(strings.TrimSuffix(text, "\n"), "\n\n")
		last := strings.Split(paragraphs[len(paragraphs)-1], "\n")
		require.Len(t, last, 3, "the trailers are a paragraph of their own")
		require.True(t, strings.HasPrefix(last[2], trailerAttempt+": ") && strings.HasSuffix(last[2], "/1"))
		require.NotContains(t, strings.SplitN(text, "\n\n", 2)[0], "\n")
	})
}
