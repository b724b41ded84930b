package land_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/git"
	"github.com/beadsorch/orch/orchestrator/land"
)

// raw makes a commit on top of base by its text alone, as git itself would not.
func (w world) raw(base git.Commit, author string) git.Commit {
	w.T.Helper()
	w.Write("work", author)
	w.Git("add", "work")
	tree := w.Git("write-tree")
	text := "tree " + tree + "\nparent " + string(base) + "\n" + author + "committer a <a@a> 1 +0000\n\nx\n"
	r := w.Open()
	res, err := r.Do(w.T.Context(), git.Call{Args: []string{"hash-object", "-t", "commit", "-w", "--stdin", "--literally"}, Stdin: []byte(text)})
	require.NoError(w.T, err)
	return git.Commit(strings.TrimSpace(string(res.Stdout)))
}

// TestBuildOfAnyAuthor: what an agent wrote as the author of its commit, and git would not have, lands all the same.
func TestBuildOfAnyAuthor(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ line, want string }{
		"ordinary":             {"author An Agent <agent@x> 1700000000 +0530\n", "An Agent <agent@x> 1700000000 +0530"},
		"early":                {"author a <a@a> 1 +0000\n", "a <a@a> 1 +0000"},
		"an offset of none":    {"author a <a@a> 1 +9999\n", "a <a@a> 1 +0000"},
		"minutes of none":      {"author a <a@a> 1 +0099\n", "a <a@a> 1 +0000"},
		"a date of none":       {"author a <a@a> never\n", "a <a@a>"},
		"seconds of none":      {"author a <a@a> 99999999999999999 +9999\n", "a <a@a>"},
		"more seconds":         {"author a <a@a> 18446744073709551615 +0000\n", "a <a@a>"},
		"negative":             {"author a <a@a> -5 +0000\n", "a <a@a>"},
		"no name":              {"author  <a@a> 7 +0000\n", "unknown <a@a> 7 +0000"},
		"a name of delimiters": {"author .,; <a@a> 7 +0000\n", "unknown <a@a> 7 +0000"},
		"no address":           {"author a <> 7 +0000\n", "a <> 7 +0000"},
		"brackets":             {"author <<a>> <b<c>> 7 +0000\n", ""},
		"control characters":   {"author a\x1b[31m <a@a\x07> 7 +0000\n", "a[31m <a@a> 7 +0000"},
		"nothing":              {"author\n", "unknown <>"},
		"none at all":          {"", "unknown <>"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			base := w.Commit("file", "1")
			attempt := w.raw(base, c.line)
			built, err := land.Build(t.Context(), w.Open(), base, attempt, land.Message{Epic: "e", Task: "t", Attempt: 1})
			require.NoError(t, err)
			got := w.Git("log", "-1", "--date=raw", "--format=%an <%ae> %ad", string(built.Commit))
			require.True(t, strings.HasPrefix(got, c.want), got)
			w.Git("fsck", "--strict", "--no-dangling", "--connectivity-only", string(built.Commit))
		})
	}
}
