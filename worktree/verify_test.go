package worktree_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/git"
)

// Whatever a gate did to the verify worktree, the next one finds exactly its commit.
func TestCheckoutIsExact(t *testing.T) {
	t.Parallel()
	tests := map[string]func(w world){
		"nothing":               func(world) {},
		"untracked and ignored": func(w world) { w.Write("junk", "1"); w.Write("x.o", "1"); w.Write("build/deep/x", "1") },
		"changed files":         func(w world) { w.Write("file", "junk"); require.NoError(w.T, os.Remove(w.Dir+"/other")) },
		"hidden change": func(w world) {
			w.Git("update-index", "--assume-unchanged", "file")
			w.Git("update-index", "--skip-worktree", "other")
			w.Write("file", "junk")
			w.Write("other", "junk")
		},
		"switched branch": func(w world) { w.Git("checkout", "-q", "-b", "stray"); w.Commit("stray", "1") },
		"broken index": func(w world) {
			require.NoError(w.T, os.WriteFile(w.Git("rev-parse", "--git-path", "index"), []byte("x"), 0o644))
		},
		"locked index": func(w world) {
			require.NoError(w.T, os.WriteFile(w.Git("rev-parse", "--git-path", "index.lock"), nil, 0o644))
		},
		"another .git":        func(w world) { w.Write(".git", "gitdir: /nowhere") },
		"no .git":             func(w world) { require.NoError(w.T, os.Remove(w.Dir+"/.git")) },
		"a .git folder":       func(w world) { require.NoError(w.T, os.Remove(w.Dir+"/.git")); w.Write(".git/config", "x") },
		"gone":                func(w world) { require.NoError(w.T, os.RemoveAll(w.Dir)) },
		"a nested repository": func(w world) { w.Git("init", "-q", "nested"); w.Write("nested/f", "1") },
		"read-only folder": func(w world) {
			w.Write("junk/f", "1")
			require.NoError(w.T, os.Chmod(w.Dir+"/junk", 0o555))
		},
		"file for folder": func(w world) { require.NoError(w.T, os.RemoveAll(w.Dir+"/dir")); w.Write("dir", "1") },
		"symlink for folder": func(w world) {
			require.NoError(w.T, os.RemoveAll(w.Dir+"/dir"))
			require.NoError(w.T, os.Symlink(w.T.TempDir(), w.Dir+"/dir"))
		},
	}
	for name, does := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			one := w.Commit("file", "1", "other", "1", "dir/f", "1", ".gitignore", "*.o\nbuild/\n")
			two := w.Commit("file", "2", "new", "1")
			s := w.store()
			dir, err := s.Checkout(t.Context(), one)
			require.NoError(t, err)
			require.Equal(t, s.VerifyDir(), dir)
			v := w.at(dir)
			does(v)
			for _, c := range []string{string(two), string(one), string(one)} {
				_, err := s.Checkout(t.Context(), git.Commit(c))
				require.NoError(t, err)
				require.Equal(t, c, v.Git("rev-parse", "HEAD"))
				_, err = v.Try("symbolic-ref", "-q", "HEAD")
				require.Error(t, err, "detached")
				require.Empty(t, v.Git("status", "--porcelain", "--ignored"))
				require.Equal(t, v.Git("rev-parse", "HEAD^{tree}"), v.Git("write-tree"))
				require.Equal(t, w.Git("rev-parse", c+":file"), v.Git("hash-object", "file"))
				require.Equal(t, w.Git("rev-parse", c+":other"), v.Git("hash-object", "other"))
				require.Equal(t, w.Git("rev-parse", c+":dir/f"), v.Git("hash-object", "dir/f"))
			}
			require.NoError(t, s.Close(t.Context()))
			require.NoDirExists(t, dir)
			require.Len(t, lines(w.Git("worktree", "list")), 1)
		})
	}
}
