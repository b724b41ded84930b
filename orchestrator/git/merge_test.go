package git_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/git"
)

// fork commits two sets of files on top of the same commit.
func (w world) fork(base, ours, theirs []string) (o, t git.Commit) {
	w.T.Helper()
	b := w.Commit(base...)
	o = w.Commit(ours...)
	w.Git("checkout", "-q", "--detach", string(b))
	t = w.Commit(theirs...)
	w.Git("checkout", "-q", "main")
	return o, t
}

func TestMerge(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name                string
		base, ours, theirs  []string
		conflicts           []string
		merged, mergedWants string
	}{
		{"apart", []string{"a", "1"}, []string{"b", "1"}, []string{"c", "1"}, nil, "c", "1"},
		{"same file", []string{"a", "1\n2\n3\n4\n"}, []string{"a", "0\n1\n2\n3\n4\n"}, []string{"a", "1\n2\n3\n4\n5\n"}, nil, "a", "0\n1\n2\n3\n4\n5\n"},
		{"conflict", []string{"a\nb", "1\n"}, []string{"a\nb", "2\n", "ok", "1"}, []string{"a\nb", "3\n"}, []string{"a\nb"}, "ok", "1"},
		{"union by attribute", []string{"log", "1\n", ".gitattributes", "log merge=union\n"}, []string{"log", "1\n2\n"}, []string{"log", "1\n3\n"}, nil, "log", "1\n2\n3\n"},
		{"union by attribute below", []string{"d/e/log", "1\n", "d/e/.gitattributes", "log merge=union\n"}, []string{"d/e/log", "1\n2\n"}, []string{"d/e/log", "1\n3\n"}, nil, "d/e/log", "1\n2\n3\n"},
		{"binary by attribute", []string{"data", "1\n2\n3\n4\n", ".gitattributes", "data -merge\n"}, []string{"data", "0\n1\n2\n3\n4\n"}, []string{"data", "1\n2\n3\n4\n5\n"}, []string{"data"}, "data", "0\n1\n2\n3\n4\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			ours, theirs := w.fork(tt.base, tt.ours, tt.theirs)
			r := w.Open()
			m, err := r.Merge(t.Context(), ours, theirs)
			require.NoError(t, err)
			require.Equal(t, tt.conflicts, m.Files)
			require.Equal(t, len(tt.conflicts) == 0, m.Clean())
			if !m.Clean() {
				require.NotEmpty(t, m.Messages)
			}
			res, err := r.Do(t.Context(), git.Call{Args: []string{"cat-file", "blob", m.Tree + ":" + tt.merged}})
			require.NoError(t, err)
			require.Equal(t, tt.mergedWants, string(res.Stdout))
			require.NoError(t, r.Close())
			require.NoDirExists(t, r.ScratchDir())
		})
	}
}

func TestMergeRunsTheUsersDriverOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Git("config", "merge.ours-wins.driver", "true")
	w.Git("config", "merge.renormalize", "true") // git 2.39 aborts on it without a work tree
	ours, theirs := w.fork([]string{"a", "1\n", ".gitattributes", "a merge=ours-wins\n"}, []string{"a", "2\n"}, []string{"a", "3\n"})
	m, err := w.Open().Merge(t.Context(), ours, theirs)
	require.NoError(t, err)
	require.True(t, m.Clean())
	require.Equal(t, "2", w.Git("cat-file", "blob", m.Tree+":a"))
}

func TestMergeOfStrangers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one := w.Commit("a", "1")
	w.Git("checkout", "-q", "--orphan", "stranger")
	stranger := w.Commit("a", "2")
	r := w.Open()
	m, err := r.Merge(t.Context(), one, stranger)
	require.NoError(t, err)
	require.False(t, m.Clean())
	require.Empty(t, m.Files)
	require.NotEmpty(t, m.Messages)

	_, err = r.Merge(t.Context(), one, git.Commit(strings.Repeat("1", 40)))
	require.Error(t, err, "a commit that is not here is no conflict")
}

// A tree cannot make orch write outside of its scratch directory.
func TestMergeWithAttributesInHostilePlaces(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	outside := t.TempDir()
	require.NoError(t, os.Symlink(outside, filepath.Join(w.Dir, "link")))
	ours, theirs := w.fork([]string{"a", "1", "-rf/.gitattributes", "* text\n", "x\ny/.gitattributes", "* text\n"}, []string{"b", "1"}, []string{"c", "1"})
	m, err := w.Open().Merge(t.Context(), ours, theirs)
	require.NoError(t, err)
	require.True(t, m.Clean())
	left, err := os.ReadDir(outside)
	require.NoError(t, err)
	require.Empty(t, left)
}
