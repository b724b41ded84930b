package worktree_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/git"
)

// TestHarvestOfALostCommit: the commit of an attempt cannot be read, as after a power cut. It is named, the files are the
// work, and the attempt can be looked at again and removed.
func TestHarvestOfALostCommit(t *testing.T) {
	t.Parallel()
	const nowhere = "2222222222222222222222222222222222222222"
	object := func(a agent, id string) string {
		at := filepath.Join(a.user.Dir, ".git/objects", id[:2], id[2:])
		require.NoError(a.T, os.Chmod(at, 0o600))
		return at
	}
	ref := func(a agent, id string) {
		require.NoError(a.T, os.WriteFile(filepath.Join(a.user.Dir, ".git", a.names.Branch), []byte(id+"\n"), 0o600))
	}
	for name, damage := range map[string]func(a agent, id string) string{
		"empty":   func(a agent, id string) string { require.NoError(a.T, os.Truncate(object(a, id), 0)); return id },
		"cut":     func(a agent, id string) string { require.NoError(a.T, os.Truncate(object(a, id), 9)); return id },
		"gone":    func(a agent, id string) string { require.NoError(a.T, os.Remove(object(a, id))); return id },
		"another": func(a agent, _ string) string { ref(a, nowhere); return nowhere },
		"a tree":  func(a agent, id string) string { id = a.Git("rev-parse", id+"^{tree}"); ref(a, id); return id },
		"detached and empty": func(a agent, id string) string {
			a.Git("checkout", "-q", "--detach")
			require.NoError(a.T, os.Truncate(object(a, id), 0))
			return id
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAgent(t)
			lost := damage(a, strings.TrimSpace(string(a.Commit("new", "1"))))
			work := a.harvest()
			require.Equal(t, []git.Commit{git.Commit(lost)}, work.Lost)
			require.True(t, work.Salvaged)
			require.Contains(t, a.files(work.Head), "new=1")
			require.Equal(t, string(a.base), a.user.Git("rev-parse", string(work.Head)+"^"))
			again := a.harvest()
			require.Empty(t, again.Lost)
			require.Equal(t, work.Head, again.Head)
			require.NoError(t, a.store.Remove(t.Context(), "t", 1, ""))
			a.kept(work.Head)

			require.NoError(t, a.store.Add(t.Context(), "t", 2, a.base))
			b := agent{world: a.user.at(a.store.Name("t", 2).Dir), user: a.user, store: a.store, names: a.store.Name("t", 2), base: a.base}
			damage(b, strings.TrimSpace(string(b.Commit("newer", "2"))))
			require.NoError(t, a.store.Remove(t.Context(), "t", 2, ""), "without a look before")
			_, err := b.user.Try("rev-parse", "--verify", b.names.Branch)
			require.Error(t, err)
		})
	}
}
