package worktree_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/engine"
)

// plantings are files of operations that no git has left, by name.
func plantings() map[string]map[string]string {
	return map[string]map[string]string{
		"an empty rebase": {"rebase-apply/": ""}, "another": {"rebase-merge/": ""}, "a rebase with a plan only": {"rebase-merge/git-rebase-todo": "exec touch pwned\n"},
		"a sequencer": {"sequencer/": ""}, "a merge of nothing": {"MERGE_HEAD": "garbage\n", "MERGE_MSG": "evil\n"}, "a pick": {"CHERRY_PICK_HEAD": ""},
		"a revert": {"REVERT_HEAD": "x"}, "a bisect": {"BISECT_START": "main\n"}, "its log": {"BISECT_LOG": "git bisect start\n"},
	}
}

// TestMendPutsPlantedOperationsAside: what was planted as an operation of git in another's worktree, or where the gate
// runs, is put aside and said; work there is whole work.
func TestMendPutsPlantedOperationsAside(t *testing.T) {
	t.Parallel()
	for name, files := range plantings() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAgent(t)
			a.Commit("work", "1")
			a.Write("uncommitted", "2")
			admin := a.admin()
			for file, content := range files {
				at := filepath.Join(admin, file)
				require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o755))
				if strings.HasSuffix(file, "/") {
					require.NoError(t, os.MkdirAll(at, 0o755))
					continue
				}
				require.NoError(t, os.WriteFile(at, []byte(content), 0o644))
			}
			said := 0
			found, err := a.store.Mend(t.Context(), func(all []engine.Leftover) error {
				said = len(all)
				for _, l := range all {
					_, err := os.Lstat(l.Path)
					require.NoError(t, err, "it is said before it is done")
				}
				return nil
			})
			require.NoError(t, err)
			require.NotEmpty(t, found)
			require.Len(t, found, said)
			for _, l := range found {
				require.Contains(t, l.What, "was planted")
				_, kept, _ := strings.Cut(l.What, "kept at ")
				_, err := os.Lstat(kept)
				require.NoError(t, err)
				require.NoFileExists(t, l.Path)
				require.NoDirExists(t, l.Path)
			}
			again, err := a.store.Mend(t.Context(), nil)
			require.NoError(t, err)
			require.Empty(t, again)
			work := a.harvest()
			require.True(t, work.Salvaged)
			require.Empty(t, work.Unmerged)
			require.Equal(t, []string{"1", "2"}, []string{a.user.Git("show", string(work.Head)+":work"), a.user.Git("show", string(work.Head)+":uncommitted")})
			require.NotContains(t, a.Git("status"), "in progress")
		})
	}
}

// TestMendLeavesHonestOperations: an agent that ends in the middle of one has its work looked at as it is.
func TestMendLeavesHonestOperations(t *testing.T) {
	t.Parallel()
	conflict := func(a agent) {
		a.Git("checkout", "-q", "-b", "side")
		a.Commit("file", "side")
		a.Git("checkout", "-q", "-")
		a.Commit("file", "mine")
	}
	for name, begin := range map[string]func(a agent){
		"merge":        func(a agent) { conflict(a); _, _ = a.Try("merge", "side") },
		"rebase":       func(a agent) { conflict(a); _, _ = a.Try("rebase", "side") },
		"rebase apply": func(a agent) { conflict(a); _, _ = a.Try("rebase", "--apply", "side") },
		"cherry-pick":  func(a agent) { conflict(a); _, _ = a.Try("cherry-pick", "side") },
		"revert":       func(a agent) { conflict(a); a.Commit("file", "more"); _, _ = a.Try("revert", "HEAD^") },
		"picks":        func(a agent) { conflict(a); _, _ = a.Try("cherry-pick", "side", "side^") },
		"bisect":       func(a agent) { conflict(a); a.Git("bisect", "start") },
		"squash": func(a agent) {
			a.Git("checkout", "-q", "-b", "side")
			a.Commit("new", "side")
			a.Git("checkout", "-q", "-")
			a.Git("merge", "-q", "--squash", "side")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAgent(t)
			begin(a)
			before := a.Git("status")
			found, err := a.store.Mend(t.Context(), nil)
			require.NoError(t, err)
			require.Empty(t, found)
			require.Equal(t, before, a.Git("status"))
		})
	}
}

// TestHarvestEndsOperations: once all that is in the files is work, nothing waits to be gone on with, and nothing of that is deleted.
func TestHarvestEndsOperations(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	a.Commit("work", "1")
	a.Git("bisect", "start")
	work := a.harvest()
	require.Contains(t, work.Ended, "BISECT_LOG")
	require.NotContains(t, a.Git("status"), "bisect")
	kept, err := filepath.Glob(filepath.Join(a.user.Dir, ".git/orch/damaged/*/BISECT_LOG"))
	require.NoError(t, err)
	require.Len(t, kept, 1)
	require.Empty(t, a.harvest().Ended)
}

// TestCheckoutHasNoOperations: what is judged is a tree, in the middle of nothing.
func TestCheckoutHasNoOperations(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	dir, err := a.store.Checkout(t.Context(), a.base)
	require.NoError(t, err)
	v := a.at(dir)
	admins, err := filepath.Glob(filepath.Join(a.user.Dir, ".git/worktrees/verify-*"))
	require.NoError(t, err)
	for _, name := range []string{"MERGE_HEAD", "BISECT_LOG", "BISECT_START", "SQUASH_MSG"} {
		require.NoError(t, os.WriteFile(filepath.Join(admins[0], name), []byte(string(a.base)+"\n"), 0o644))
	}
	require.NoError(t, os.Mkdir(filepath.Join(admins[0], "rebase-apply"), 0o755))
	before := v.Git("status")
	require.True(t, slices.ContainsFunc([]string{"rebase", "bisect", "merge"}, func(s string) bool { return strings.Contains(before, s) }))
	_, err = a.store.Checkout(t.Context(), a.base)
	require.NoError(t, err)
	for _, word := range []string{"rebase", "bisect", "merge"} {
		require.NotContains(t, v.Git("status"), word)
	}
}
