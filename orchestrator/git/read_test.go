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
	one, two := w.commit("file", "1"), w.commit("file", "2")
	w.git("checkout", "-q", "-b", "side", string(one))
	side := w.commit("other", "1")
	r := w.open()
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
	require.Equal(t, w.git("rev-parse", string(two)+"^{tree}"), tree)
	_, err = r.Tree(t.Context(), none)
	require.ErrorIs(t, err, git.ErrNoSuchRef)
}

func TestChangedFiles(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one := w.commit("same", "x\n", "gone", "1\n2\n", "grown", "1\n", "moved", "a\nb\nc\n", "binary", "\x00\x01", "mode", "x\n")
	w.git("rm", "-q", "gone")
	w.git("mv", "moved", "moved to")
	w.git("update-index", "--chmod=+x", "mode")
	w.git("config", "diff.external", "false")
	w.write("grown", "0\n1\n2\n")
	w.write("binary", "\x00\x02")
	w.write("tab\tand\nnewline \"quoted\"", "1\n")
	w.git("add", "--", "grown", "binary", "tab\tand\nnewline \"quoted\"")
	w.git("commit", "-q", "-m", "two")
	two := git.Commit(w.git("rev-parse", "HEAD"))

	changes, err := w.open().ChangedFiles(t.Context(), one, two)
	require.NoError(t, err)
	require.Equal(t, []git.FileChange{
		{Path: "binary"}, {Path: "gone", Deleted: 2}, {Path: "grown", Added: 2}, {Path: "mode"},
		{Path: "moved", Deleted: 3}, {Path: "moved to", Added: 3}, {Path: "tab\tand\nnewline \"quoted\"", Added: 1},
	}, changes)
	changes, err = w.open().ChangedFiles(t.Context(), two, two)
	require.NoError(t, err)
	require.Empty(t, changes)
	_, err = w.open().ChangedFiles(t.Context(), "", two)
	require.Error(t, err)
}

func TestWriteBlobKeepsBytes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.git("config", "core.autocrlf", "true")
	r := w.open()
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
