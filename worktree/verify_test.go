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
		"untracked and ignored": func(w world) { w.write("junk", "1"); w.write("x.o", "1"); w.write("build/deep/x", "1") },
		"changed files":         func(w world) { w.write("file", "junk"); require.NoError(w.t, os.Remove(w.dir+"/other")) },
		"hidden change": func(w world) {
			w.git("update-index", "--assume-unchanged", "file")
			w.git("update-index", "--skip-worktree", "other")
			w.write("file", "junk")
			w.write("other", "junk")
		},
		"switched branch": func(w world) { w.git("checkout", "-q", "-b", "stray"); w.commit("stray", "1") },
		"broken index": func(w world) {
			require.NoError(w.t, os.WriteFile(w.git("rev-parse", "--git-path", "index"), []byte("x"), 0o644))
		},
		"locked index": func(w world) {
			require.NoError(w.t, os.WriteFile(w.git("rev-parse", "--git-path", "index.lock"), nil, 0o644))
		},
		"another .git":        func(w world) { w.write(".git", "gitdir: /nowhere") },
		"no .git":             func(w world) { require.NoError(w.t, os.Remove(w.dir+"/.git")) },
		"a .git folder":       func(w world) { require.NoError(w.t, os.Remove(w.dir+"/.git")); w.write(".git/config", "x") },
		"gone":                func(w world) { require.NoError(w.t, os.RemoveAll(w.dir)) },
		"a nested repository": func(w world) { w.git("init", "-q", "nested"); w.write("nested/f", "1") },
		"read-only folder": func(w world) {
			w.write("junk/f", "1")
			require.NoError(w.t, os.Chmod(w.dir+"/junk", 0o555))
		},
		"file for folder": func(w world) { require.NoError(w.t, os.RemoveAll(w.dir+"/dir")); w.write("dir", "1") },
		"symlink for folder": func(w world) {
			require.NoError(w.t, os.RemoveAll(w.dir+"/dir"))
			require.NoError(w.t, os.Symlink(w.t.TempDir(), w.dir+"/dir"))
		},
	}
	for name, does := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			one := w.commit("file", "1", "other", "1", "dir/f", "1", ".gitignore", "*.o\nbuild/\n")
			two := w.commit("file", "2", "new", "1")
			s := w.store()
			dir, err := s.Checkout(t.Context(), one)
			require.NoError(t, err)
			require.Equal(t, s.VerifyDir(), dir)
			v := w.at(dir)
			does(v)
			for _, c := range []string{string(two), string(one), string(one)} {
				_, err := s.Checkout(t.Context(), git.Commit(c))
				require.NoError(t, err)
				require.Equal(t, c, v.git("rev-parse", "HEAD"))
				_, err = v.try("symbolic-ref", "-q", "HEAD")
				require.Error(t, err, "detached")
				require.Empty(t, v.git("status", "--porcelain", "--ignored"))
				require.Equal(t, v.git("rev-parse", "HEAD^{tree}"), v.git("write-tree"))
				require.Equal(t, w.git("rev-parse", c+":file"), v.git("hash-object", "file"))
				require.Equal(t, w.git("rev-parse", c+":other"), v.git("hash-object", "other"))
				require.Equal(t, w.git("rev-parse", c+":dir/f"), v.git("hash-object", "dir/f"))
			}
			require.NoError(t, s.Close(t.Context()))
			require.NoDirExists(t, dir)
			require.Len(t, lines(w.git("worktree", "list")), 1)
		})
	}
}
