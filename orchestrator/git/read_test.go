package git_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/git"
)

func TestAncestryAndTrees(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one, two := w.Commit("file", "1"), w.Commit("file", "2")
	w.Git("checkout", "-q", "-b", "side", string(one))
	side := w.Commit("other", "1")
	r := w.Open()
	for _, tt := range []struct {
		a, b git.Commit
		want bool
	}{{one, two, true}, {two, one, false}, {two, two, true}, {side, two, false}} {
		got, err := r.IsAncestor(t.Context(), tt.a, tt.b)
		require.NoError(t, err)
		require.Equal(t, tt.want, got)
	}
	none := git.Commit(strings.Repeat("1", 40))
	_, err := r.IsAncestor(t.Context(), one, none)
	require.ErrorIs(t, err, git.ErrNoSuchRef)
	_, err = r.IsAncestor(t.Context(), none, one)
	require.ErrorIs(t, err, git.ErrNoSuchRef)

	tree, err := r.Tree(t.Context(), two)
	require.NoError(t, err)
	require.Equal(t, w.Git("rev-parse", string(two)+"^{tree}"), tree)
	_, err = r.Tree(t.Context(), none)
	require.ErrorIs(t, err, git.ErrNoSuchRef)
}

func TestChangedFiles(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one := w.Commit("same", "x\n", "gone", "1\n2\n", "grown", "1\n", "moved", "a\nb\nc\n", "binary", "\x00\x01", "mode", "x\n")
	w.Git("rm", "-q", "gone")
	w.Git("mv", "moved", "moved to")
	w.Git("update-index", "--chmod=+x", "mode")
	w.Git("config", "diff.external", "false")
	w.Write("grown", "0\n1\n2\n")
	w.Write("binary", "\x00\x02")
	w.Write("tab\tand\nnewline \"quoted\"", "1\n")
	w.Git("add", "--", "grown", "binary", "tab\tand\nnewline \"quoted\"")
	w.Git("commit", "-q", "-m", "two")
	two := git.Commit(w.Git("rev-parse", "HEAD"))

	changes, err := w.Open().ChangedFiles(t.Context(), one, two)
	require.NoError(t, err)
	require.Equal(t, []git.FileChange{
		{Path: "binary"}, {Path: "gone", Deleted: 2}, {Path: "grown", Added: 2}, {Path: "mode"},
		{Path: "moved", Deleted: 3}, {Path: "moved to", Added: 3}, {Path: "tab\tand\nnewline \"quoted\"", Added: 1},
	}, changes)
	changes, err = w.Open().ChangedFiles(t.Context(), two, two)
	require.NoError(t, err)
	require.Empty(t, changes)
	_, err = w.Open().ChangedFiles(t.Context(), "", two)
	require.Error(t, err)
}

func TestWriteBlobKeepsBytes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Git("config", "core.autocrlf", "true")
	r := w.Open()
	for _, content := range []string{"", "a\r\nb\n", "\x00\xff", strings.Repeat("long ", 100000)} {
		id, err := r.WriteBlob(t.Context(), []byte(content))
		require.NoError(t, err)
		res, err := r.Do(t.Context(), git.Call{Args: []string{"cat-file", "blob", string(id)}})
		require.NoError(t, err)
		require.Equal(t, content, string(res.Stdout))
	}
	empty, err := r.WriteBlob(t.Context(), nil)
	require.NoError(t, err)
	require.NotEmpty(t, empty)
}
