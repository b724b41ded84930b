package worktree_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/git"
)

// start is what every attempt of these tests begins with.
var start = []string{".gitignore=*.o\n/build/", "file=1", "other=1"}

// with is start with one more file.
func with(extra ...string) []string {
	return slices.Sorted(slices.Values(append(extra, start...)))
}

func TestHarvestFindsTheWork(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		does     func(a agent)
		want     []string // files of the head
		salvaged bool
		attic    []string
	}{
		{"nothing", func(agent) {}, start, false, nil},
		{"commits", func(a agent) { a.commit("new", "1") }, with("new=1"), false, nil},
		{"writes", func(a agent) { a.write("new", "1") }, with("new=1"), true, nil},
		{"commits, then writes", func(a agent) { a.commit("new", "1"); a.write("z", "2") }, with("new=1", "z=2"), true, nil},
		{"stages", func(a agent) { a.write("new", "1"); a.git("add", "new"); a.write("new", "2") }, with("new=2"), true, nil},
		{"intends to add", func(a agent) { a.write("new", "1"); a.git("add", "-N", "new") }, with("new=1"), true, nil},
		{"deletes", func(a agent) { require.NoError(a.t, os.Remove(a.dir+"/other")) }, start[:2], true, nil},
		{"unstages", func(a agent) { a.git("rm", "-q", "--cached", "other") }, start, false, nil},
		{"puts a folder where a file was", func(a agent) {
			require.NoError(a.t, os.Remove(a.dir+"/other"))
			a.write("other/below", "1")
		}, []string{start[0], start[1], "other/below=1"}, true, nil},
		{"ignores", func(a agent) { a.write("a.o", "1"); a.write("build/x", "1") }, start, false, nil},
		{"hides a change", func(a agent) { a.git("update-index", "--assume-unchanged", "file"); a.write("file", "2") },
			[]string{start[0], "file=2", start[2]}, true, nil},
		{"switches to a branch of its own", func(a agent) { a.git("switch", "-q", "-c", "mine"); a.commit("new", "1"); a.write("z", "1") },
			with("new=1", "z=1"), true, nil},
		{"detaches", func(a agent) { a.git("checkout", "-q", "--detach"); a.commit("new", "1") }, with("new=1"), false, nil},
		{"goes back to look", func(a agent) { a.commit("new", "1"); a.git("checkout", "-q", "--detach", "HEAD~") }, with("new=1"), false, nil},
		{"goes back and writes", func(a agent) {
			a.commit("new", "1")
			a.git("checkout", "-q", "--detach", "HEAD~")
			a.write("z", "1")
		}, with("new=1", "z=1"), true, nil},
		{"resets hard", func(a agent) { a.commit("new", "1"); a.git("reset", "-q", "--hard", "HEAD~") }, start, false, with("new=1")},
		{"resets soft", func(a agent) { a.commit("new", "1"); a.git("reset", "-q", "--soft", "HEAD~") }, with("new=1"), true, with("new=1")},
		{"amends", func(a agent) {
			a.commit("new", "1")
			a.write("new", "2")
			a.git("commit", "-q", "-a", "--amend", "-m", "x")
		},
			with("new=2"), false, with("new=1")},
		{"deletes the branch", func(a agent) {
			a.commit("new", "1")
			a.git("checkout", "-q", "--detach")
			a.git("update-ref", "-d", a.names.Branch)
		}, with("new=1"), false, nil},
		{"deletes the branch it is on", func(a agent) {
			a.commit("new", "1")
			a.git("update-ref", "-d", a.names.Branch)
			a.write("z", "1")
		}, with("new=1", "z=1"), true, nil},
		{"starts without history", func(a agent) { a.git("checkout", "-q", "--orphan", "fresh"); a.write("new", "1") }, with("new=1"), true, nil},
		{"makes two branches", func(a agent) {
			a.commit("first", "1")
			a.env = append(a.env, "GIT_COMMITTER_DATE=2037-01-01T00:00:00Z")
			a.git("checkout", "-q", "--detach", string(a.base))
			a.commit("second", "1")
		}, with("second=1"), false, with("first=1")},
		{"commits below the base", func(a agent) { a.git("checkout", "-q", "--detach", "HEAD~"); a.write("new", "1") }, with("new=1"), true, nil},
		{"breaks its index", func(a agent) {
			a.write("new", "1")
			require.NoError(a.t, os.WriteFile(a.git("rev-parse", "--git-path", "index"), []byte("no index"), 0o644))
		}, with("new=1"), true, nil},
		{"leaves a lock", func(a agent) {
			a.write("new", "1")
			require.NoError(a.t, os.WriteFile(a.git("rev-parse", "--git-path", "index.lock"), nil, 0o644))
		}, with("new=1"), true, nil},
		{"replaces its .git file", func(a agent) { a.write("new", "1"); a.write(".git", "gitdir: /nowhere\n") }, with("new=1"), true, nil},
		{"rebases", func(a agent) {
			a.commit("new", "1")
			other := a.git("commit-tree", "HEAD~^{tree}", "-p", "HEAD~", "-m", "upstream")
			a.git("rebase", "-q", other)
		}, with("new=1"), false, with("new=1")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.commit("older", "1")
			require.NoError(t, os.Remove(w.dir+"/older"))
			w.commit("file", "1", "other", "1", ".gitignore", "*.o\n/build/\n")
			a := w.agent("t")
			tt.does(a)
			made := a.reflog()

			work := a.harvest()
			require.Equal(t, tt.want, w.files(work.Head))
			require.Equal(t, tt.salvaged, work.Salvaged)
			require.Empty(t, work.Unmerged)
			for _, c := range made {
				a.kept(c)
			}
			if tt.attic != nil {
				require.Equal(t, tt.attic, w.files(git.Commit(w.git("rev-parse", a.names.Attic))))
			}
			again := a.harvest()
			require.Equal(t, work.Head, again.Head, "a second look finds the same")
			require.False(t, again.Salvaged)
		})
	}
}

// An agent that goes on after its work was committed for it finds a clean worktree on its
// branch: otherwise "git commit -a" would take what orch added for deleted.
func TestHarvestLeavesACleanWorktreeOnTheBranch(t *testing.T) {
	t.Parallel()
	for name, does := range map[string]func(a agent){
		"on the branch": func(agent) {},
		"elsewhere":     func(a agent) { a.git("switch", "-q", "-c", "mine") },
		"detached":      func(a agent) { a.git("checkout", "-q", "--detach") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAgent(t)
			a.write("new", "1")
			does(a)
			a.harvest()
			require.Empty(t, a.git("status", "--porcelain"))
			require.Equal(t, a.names.Branch, a.git("symbolic-ref", "HEAD"))
			a.write("file", "2")
			a.git("commit", "-q", "-a", "-m", "more")
			require.Equal(t, []string{start[0], "file=2", "new=1", start[2]}, a.files(a.harvest().Head))
		})
	}
}

func TestHarvestInTheMiddleOfAMerge(t *testing.T) {
	t.Parallel()
	begin := func(t *testing.T) (agent, git.Commit) {
		a := newAgent(t)
		upstream := git.Commit(a.user.commit("file", "theirs\n", "their", "1"))
		a.commit("file", "mine\n")
		_, err := a.try("merge", string(upstream))
		require.Error(t, err, "a conflict")
		return a, upstream
	}
	t.Run("unmerged", func(t *testing.T) {
		t.Parallel()
		a, _ := begin(t)
		a.write("new", "1")
		mine, index := a.head(), read(t, a.git("rev-parse", "--git-path", "index"))
		work := a.harvest()
		require.Equal(t, []string{"file"}, work.Unmerged)
		require.Equal(t, mine, work.Head)
		require.False(t, work.Salvaged)
		require.Contains(t, a.attic(), "new=1")
		require.Equal(t, index, read(t, a.git("rev-parse", "--git-path", "index")), "the agent goes on where it was")
		require.FileExists(t, a.git("rev-parse", "--git-path", "MERGE_HEAD"))
	})
	t.Run("markers added", func(t *testing.T) {
		t.Parallel()
		a, _ := begin(t)
		mine := a.head()
		a.git("add", "-A")
		work := a.harvest()
		require.Equal(t, []string{"file"}, work.Unmerged)
		require.Equal(t, mine, work.Head)
	})
	t.Run("resolved", func(t *testing.T) {
		t.Parallel()
		a, upstream := begin(t)
		mine := a.head()
		a.write("file", "both\n")
		a.git("add", "file")
		work := a.harvest()
		require.Empty(t, work.Unmerged)
		require.True(t, work.Salvaged)
		require.Equal(t, string(mine)+" "+string(upstream), a.git("log", "-1", "--format=%P", string(work.Head)))
		require.Equal(t, []string{start[0], "file=both", start[2], "their=1"}, a.files(work.Head))
		require.Empty(t, a.git("status", "--porcelain"))
		require.NoFileExists(t, a.git("rev-parse", "--git-path", "MERGE_HEAD"))
		require.Equal(t, work.Head, a.harvest().Head)
	})
	t.Run("resolved for theirs", func(t *testing.T) {
		t.Parallel()
		a, upstream := begin(t)
		a.git("checkout", "-q", "--ours", "file")
		a.git("rm", "-q", "-f", "their")
		a.git("add", "file")
		work := a.harvest()
		require.Contains(t, a.git("log", "-1", "--format=%P", string(work.Head)), string(upstream), "a merge that changes nothing is one all the same")
	})
}

func TestHarvestInTheMiddleOfARebase(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	upstream := a.user.commit("file", "theirs\n")
	a.commit("first", "1")
	a.commit("file", "mine\n")
	a.commit("last", "1")
	mine := a.head()
	_, err := a.try("rebase", string(upstream))
	require.Error(t, err)
	half := a.head()
	require.NotEqual(t, mine, half)

	work := a.harvest()
	require.Equal(t, mine, work.Head, "the branch has all of it still")
	require.Equal(t, []string{"file"}, work.Unmerged)
	a.kept(half)
	a.git("rebase", "--abort")
	require.Equal(t, mine, a.harvest().Head)
}

// What was written beside an older commit, and contradicts the newest one, is no part of it.
func TestHarvestOfWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	tip := a.commit("file", "2\n")
	a.git("checkout", "-q", "--detach", "HEAD~")
	a.write("file", "3\n")
	work := a.harvest()
	require.Equal(t, tip, work.Head)
	require.Equal(t, []string{"file"}, work.Unmerged)
	require.Contains(t, a.attic(), "file=3")
}

func TestHarvestReportsWhatIsNotInTheWork(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	a.write("x.o", "1")
	a.write("build/a", "1")
	a.write("build/b", "1")
	for _, name := range []string{"clone", "sub/empty"} {
		a.git("init", "-q", name)
	}
	a.write("clone/file", "1")
	a.write("new", "1")
	a.write("sub/new", "1")
	a.write("git~1", "no tree can have this name")
	require.NoError(t, syscall.Mkfifo(a.dir+"/fifo", 0o600))
	require.NoError(t, os.Symlink("/etc", a.dir+"/link"))
	work := a.harvest()
	require.Equal(t, 2, work.Ignored, "a file and a folder")
	require.ElementsMatch(t, []string{"clone", "sub/empty"}, work.Nested)
	require.Equal(t, []string{"git~1"}, work.Unread)
	require.Equal(t, []string{start[0], "file=1", "link=/etc", "new=1", "other=1", "sub/new=1"}, a.files(work.Head))
}

func TestHarvestTouchesNoStash(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	a.write("file", "stashed")
	a.git("stash")
	a.write("new", "1")
	before := a.git("stash", "list")
	a.harvest()
	require.Equal(t, before, a.git("stash", "list"))
}

// The worktree or its admin directory may be gone; what was committed is not.
func TestHarvestOfRuins(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	c := a.commit("new", "1")
	require.NoError(t, os.RemoveAll(a.dir))
	require.Equal(t, c, a.harvest().Head)
	require.False(t, a.store.Exists("t", 1))
	a.user.git("worktree", "prune")
	require.NoError(t, os.RemoveAll(filepath.Join(a.user.dir, ".git/worktrees")))
	require.Equal(t, c, a.harvest().Head)
	require.NoError(t, a.store.Remove(t.Context(), "t", 1, ""))
	a.user.git("cat-file", "-e", a.names.Attic+":new")
}

// reflog is every commit that was HEAD of the worktree.
func (a agent) reflog() (all []git.Commit) {
	a.t.Helper()
	for _, line := range lines(read(a.t, a.admin()+"/logs/HEAD")) {
		if id := line[41:81]; strings.Trim(id, "0") != "" {
			all = append(all, git.Commit(id))
		}
	}
	return all
}
