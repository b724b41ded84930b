package git_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
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

// TestBlobs: whatever is in them, and whatever else is asked for.
func TestBlobs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	head := w.Commit("text", "a\nb", "empty", "", "binary", "\x00 blob 7\n\n")
	var ids []string
	for _, file := range []string{"text", "empty", "binary"} {
		ids = append(ids, w.Git("rev-parse", string(head)+":"+file))
	}
	blobs, err := w.Open().Blobs(t.Context(), append(ids, strings.Repeat("1", 40), string(head)))
	require.NoError(t, err)
	require.Equal(t, map[string][]byte{ids[0]: []byte("a\nb"), ids[1]: {}, ids[2]: []byte("\x00 blob 7\n\n")}, blobs)
	blobs, err = w.Open().Blobs(t.Context(), nil)
	require.NoError(t, err)
	require.Empty(t, blobs)
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
	}, counted(changes))
	var raw strings.Builder
	for _, c := range changes {
		fmt.Fprintf(&raw, ":%s %s %s %s %s\x00", c.OldMode, c.NewMode, c.Old, c.New, c.Path)
	}
	want := regexp.MustCompile(` [ADMT]\x00`).ReplaceAllString(w.Git("diff-tree", "-r", "-z", "--no-abbrev", "--no-renames", string(one), string(two)), " ")
	require.Equal(t, want, raw.String())
	changes, err = w.Open().ChangedFiles(t.Context(), two, two)
	require.NoError(t, err)
	require.Empty(t, changes)
	_, err = w.Open().ChangedFiles(t.Context(), "", two)
	require.Error(t, err)
}

// counted leaves of the changes how many lines came and went.
func counted(changes []git.FileChange) (only []git.FileChange) {
	for _, c := range changes {
		only = append(only, git.FileChange{Path: c.Path, Added: c.Added, Deleted: c.Deleted})
	}
	return only
}

func TestReadable(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	packed := w.Commit("a", "1\n")
	w.Git("gc", "-q")
	loose, damaged := w.Commit("a", "2\n"), w.Commit("a", "3\n")
	blob := git.Commit(w.Git("rev-parse", string(loose)+":a"))
	object := filepath.Join(w.Dir, ".git", "objects", string(damaged[:2]), string(damaged[2:]))
	require.NoError(t, os.Chmod(object, 0o600))
	require.NoError(t, os.WriteFile(object, nil, 0o600))
	gone := git.Commit(strings.Repeat("1", 40))
	readable, err := w.Open().Readable(t.Context(), []git.Commit{packed, loose, damaged, blob, gone, ""})
	require.NoError(t, err)
	require.Equal(t, map[git.Commit]bool{packed: true, loose: true}, readable)
	readable, err = w.Open().Readable(t.Context(), nil)
	require.NoError(t, err)
	require.Empty(t, readable)
}

// A commit whose file holds another's content is not believed.
func TestIsAncestorBelievesNoForgery(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one, two := w.Commit("a", "1\n"), w.Commit("a", "2\n")
	w.Git("checkout", "-q", "--orphan", "other")
	other := w.Commit("b", "1\n")
	file := func(c git.Commit) string {
		return filepath.Join(w.Dir, ".git", "objects", string(c[:2]), string(c[2:]))
	}
	forged, err := os.ReadFile(file(two)) // whose parent is one
	require.NoError(t, err)
	require.NoError(t, os.Chmod(file(other), 0o600))
	require.NoError(t, os.WriteFile(file(other), forged, 0o600))
	has, _ := w.Open().IsAncestor(t.Context(), one, other)
	require.False(t, has)
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
