package worktree_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNothingIsWaitedFor: an agent leaves a pipe where git reads a file. It is taken away and named, and the work is found.
func TestNothingIsWaitedFor(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		at    string
		plant func(a agent)
	}{
		"ignored files":             {".gitignore", nil},
		"ignored files in a folder": {"sub/.gitignore", nil},
		"attributes":                {".gitattributes", nil},
		"attributes in a folder":    {"sub/.gitattributes", nil},
		"a folder that is closed": {"sub/.gitignore", func(a agent) {
			require.NoError(a.T, os.Chmod(filepath.Join(a.Dir, "sub"), 0))
		}},
		"a repository below": {"sub/.git/HEAD", func(a agent) {
			for _, dir := range []string{"refs", "objects"} {
				require.NoError(a.T, os.MkdirAll(filepath.Join(a.Dir, "sub/.git", dir), 0o755))
			}
		}},
		"its references": {"sub/.git/packed-refs", func(a agent) { a.Write("sub/.git/HEAD", "ref: refs/heads/main\n") }},
		"a repository elsewhere": {"elsewhere/HEAD", func(a agent) {
			a.Write("sub/.git", "gitdir: ../elsewhere\n")
			for _, dir := range []string{"refs", "objects"} {
				require.NoError(a.T, os.MkdirAll(filepath.Join(a.Dir, "elsewhere", dir), 0o755))
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAgent(t)
			a.Commit("committed", "1")
			a.Write("file", "2")
			a.Write("sub/new", "1")
			a.Write("x.o", "ignored")
			at := filepath.Join(a.Dir, c.at)
			require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o755))
			require.NoError(t, os.RemoveAll(at))
			require.NoError(t, syscall.Mkfifo(at, 0o644))
			if c.plant != nil {
				c.plant(a)
			}
			work := a.harvest()
			require.Contains(t, work.Blocking, c.at)
			require.True(t, work.Salvaged)
			files := a.files(work.Head)
			require.Contains(t, files, "file=2")
			require.Contains(t, files, "committed=1")
			require.Contains(t, files, ".gitignore=*.o\n/build/", "what the index has is put back, and counts")
			require.NotContains(t, files, "x.o=ignored")
			require.Empty(t, a.harvest().Blocking)

			dir, err := a.store.Checkout(t.Context(), work.Head)
			require.NoError(t, err)
			for _, name := range []string{".gitignore", ".gitattributes"} {
				require.NoError(t, os.RemoveAll(filepath.Join(dir, name)))
				require.NoError(t, syscall.Mkfifo(filepath.Join(dir, name), 0o644))
			}
			_, err = a.store.Checkout(t.Context(), work.Head)
			require.NoError(t, err)
			require.NoError(t, a.store.Remove(t.Context(), "t", 1, ""))
		})
	}
}
