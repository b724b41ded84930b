package worktree_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/command"
	"github.com/beadsorch/orch/orchestrator/fault"
	"github.com/beadsorch/orch/orchestrator/git"
	"github.com/beadsorch/orch/orchestrator/proc"
	"github.com/beadsorch/orch/worktree"
)

// start is what every attempt of these tests begins with.
var start = []string{".gitignore=*.o\n/build/", "file=1", "other=1"}

// with is start with one more file.
func with(extra ...string) []string {
	return slices.Sorted(slices.Values(append(extra, start...)))
}

// TestHarvestWithoutRoom: a file that git has no room for is not gone without; one that it refuses is,
// whatever it is called.
func TestHarvestWithoutRoom(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	a.Write("work", "1")
	a.Write("more", "2")
	o := a.user.options()
	full := true
	real := proc.New(proc.Options{}).Run
	o.Repo = o.Repo.RunBy(func(ctx context.Context, c command.Cmd) (command.Result, error) {
		if full && slices.Contains(c.Argv, "--add") && strings.Contains(string(c.Stdin), "work") {
			e := &command.ExitError{Argv: c.Argv, ExitCode: 128, Stderr: "error: unable to create temporary file: No space left on device\nerror: work: failed to insert into database\n"}
			return command.Result{Stderr: []byte(e.Stderr)}, e
		}
		return real(ctx, c)
	})
	s, err := worktree.Open(o)
	require.NoError(t, err)
	_, err = s.Harvest(t.Context(), "t", 1, a.base, "salvaged")
	_, machine := fault.Machine(err)
	require.True(t, machine, "%v", err)
	err = s.Remove(t.Context(), "t", 1, "")
	_, machine = fault.Machine(err)
	require.True(t, machine, "%v", err)
	require.FileExists(t, filepath.Join(a.Dir, "work"))

	full = false
	a.Write("No space left on device/git~1", "3")
	w, err := s.Harvest(t.Context(), "t", 1, a.base, "salvaged")
	require.NoError(t, err)
	require.Equal(t, with("more=2", "work=1"), a.files(w.Head))
	require.Equal(t, []string{"No space left on device/git~1"}, w.Unread)
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
		{"commits", func(a agent) { a.Commit("new", "1") }, with("new=1"), false, nil},
		{"writes", func(a agent) { a.Write("new", "1") }, with("new=1"), true, nil},
		{"commits, then writes", func(a agent) { a.Commit("new", "1"); a.Write("z", "2") }, with("new=1", "z=2"), true, nil},
		{"stages", func(a agent) { a.Write("new", "1"); a.Git("add", "new"); a.Write("new", "2") }, with("new=2"), true, nil},
		{"intends to add", func(a agent) { a.Write("new", "1"); a.Git("add", "-N", "new") }, with("new=1"), true, nil},
		{"deletes", func(a agent) { require.NoError(a.T, os.Remove(a.Dir+"/other")) }, start[:2], true, nil},
		{"unstages", func(a agent) { a.Git("rm", "-q", "--cached", "other") }, start, false, nil},
		{"puts a folder where a file was", func(a agent) {
			require.NoError(a.T, os.Remove(a.Dir+"/other"))
			a.Write("other/below", "1")
		}, []string{start[0], start[1], "other/below=1"}, true, nil},
		{"ignores", func(a agent) { a.Write("a.o", "1"); a.Write("build/x", "1") }, start, false, nil},
		{"hides a change", func(a agent) { a.Git("update-index", "--assume-unchanged", "file"); a.Write("file", "2") },
			[]string{start[0], "file=2", start[2]}, true, nil},
		{"hides a change as if not checked out", func(a agent) {
			a.Git("update-index", "--skip-worktree", "file")
			a.Git("update-index", "--skip-worktree", "--assume-unchanged", "other")
			a.Write("file", "2")
			a.Write("other", "2")
		}, []string{start[0], "file=2", "other=2"}, true, nil},
		{"checks out a part", func(a agent) {
			a.Commit("in/a", "1", "out/b", "1", "out/c", "1", "out/d/e", "1")
			a.Git("sparse-checkout", "set", "--cone", "in")
			require.NoDirExists(a.T, a.Dir+"/out")
			a.Write("out/c", "2")
			a.Write("in/a", "2")
		}, with("in/a=2", "out/b=1", "out/c=2", "out/d/e=1"), true, nil},
		{"checks out a part through a sparse index", func(a agent) {
			a.Commit("in/a", "1", "out/b", "1")
			a.Git("sparse-checkout", "set", "--cone", "--sparse-index", "in")
			a.Write("in/a", "2")
		}, with("in/a=2", "out/b=1"), true, nil},
		{"switches to a branch of its own", func(a agent) { a.Git("switch", "-q", "-c", "mine"); a.Commit("new", "1"); a.Write("z", "1") },
			with("new=1", "z=1"), true, nil},
		{"detaches", func(a agent) { a.Git("checkout", "-q", "--detach"); a.Commit("new", "1") }, with("new=1"), false, nil},
		{"goes back to look", func(a agent) { a.Commit("new", "1"); a.Git("checkout", "-q", "--detach", "HEAD~") }, with("new=1"), false, nil},
		{"goes back and writes", func(a agent) {
			a.Commit("new", "1")
			a.Git("checkout", "-q", "--detach", "HEAD~")
			a.Write("z", "1")
		}, with("new=1", "z=1"), true, nil},
		{"resets hard", func(a agent) { a.Commit("new", "1"); a.Git("reset", "-q", "--hard", "HEAD~") }, start, false, with("new=1")},
		{"resets soft", func(a agent) { a.Commit("new", "1"); a.Git("reset", "-q", "--soft", "HEAD~") }, with("new=1"), true, with("new=1")},
		{"amends", func(a agent) {
			a.Commit("new", "1")
			a.Write("new", "2")
			a.Git("commit", "-q", "-a", "--amend", "-m", "x")
		},
			with("new=2"), false, with("new=1")},
		{"deletes the branch", func(a agent) {
			a.Commit("new", "1")
			a.Git("checkout", "-q", "--detach")
			a.Git("update-ref", "-d", a.names.Branch)
		}, with("new=1"), false, nil},
		{"deletes the branch it is on", func(a agent) {
			a.Commit("new", "1")
			a.Git("update-ref", "-d", a.names.Branch)
			a.Write("z", "1")
		}, with("new=1", "z=1"), true, nil},
		{"starts without history", func(a agent) { a.Git("checkout", "-q", "--orphan", "fresh"); a.Write("new", "1") }, with("new=1"), true, nil},
		{"makes two branches", func(a agent) {
			a.Commit("first", "1")
			a.Env = append(a.Env, "GIT_COMMITTER_DATE=2037-01-01T00:00:00Z")
			a.Git("checkout", "-q", "--detach", string(a.base))
			a.Commit("second", "1")
		}, with("second=1"), false, with("first=1")},
		{"commits at no time", func(a agent) {
			a.Commit("first", "1")
			a.Git("checkout", "-q", "--detach", string(a.base))
			a.Commit("second", "1")
			text := "tree " + a.Git("rev-parse", "HEAD^{tree}") + "\nparent " + string(a.base) + "\nauthor a <a> never\ncommitter a <a> never\n\nx\n"
			by := filepath.Join(a.T.TempDir(), "commit")
			require.NoError(a.T, os.WriteFile(by, []byte(text), 0o600))
			a.Git("reset", "-q", "--soft", a.Git("hash-object", "-t", "commit", "-w", "--literally", by))
		}, with("first=1"), false, with("second=1")},
		{"commits below the base", func(a agent) { a.Git("checkout", "-q", "--detach", "HEAD~"); a.Write("new", "1") }, with("new=1"), true, nil},
		{"breaks its index", func(a agent) {
			a.Write("new", "1")
			require.NoError(a.T, os.WriteFile(a.Git("rev-parse", "--git-path", "index"), []byte("no index"), 0o644))
		}, with("new=1"), true, nil},
		{"leaves a lock", func(a agent) {
			a.Write("new", "1")
			require.NoError(a.T, os.WriteFile(a.Git("rev-parse", "--git-path", "index.lock"), nil, 0o644))
		}, with("new=1"), true, nil},
		{"replaces its .git file", func(a agent) { a.Write("new", "1"); a.Write(".git", "gitdir: /nowhere\n") }, with("new=1"), true, nil},
		{"rebases", func(a agent) {
			a.Commit("new", "1")
			other := a.Git("commit-tree", "HEAD~^{tree}", "-p", "HEAD~", "-m", "upstream")
			a.Git("rebase", "-q", other)
		}, with("new=1"), false, with("new=1")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.Commit("older", "1")
			require.NoError(t, os.Remove(w.Dir+"/older"))
			w.Commit("file", "1", "other", "1", ".gitignore", "*.o\n/build/\n")
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
				require.Equal(t, tt.attic, w.files(git.Commit(w.Git("rev-parse", a.names.Attic))))
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
		"elsewhere":     func(a agent) { a.Git("switch", "-q", "-c", "mine") },
		"detached":      func(a agent) { a.Git("checkout", "-q", "--detach") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAgent(t)
			a.Write("new", "1")
			does(a)
			a.harvest()
			require.Empty(t, a.Git("status", "--porcelain"))
			require.Equal(t, a.names.Branch, a.Git("symbolic-ref", "HEAD"))
			a.Write("file", "2")
			a.Git("commit", "-q", "-a", "-m", "more")
			require.Equal(t, []string{start[0], "file=2", "new=1", start[2]}, a.files(a.harvest().Head))
		})
	}
}

// TestHarvestOfTwoLines: of what an agent has committed on its branch and beside it the younger counts, and the other is
// named. One that has the other names nothing.
func TestHarvestOfTwoLines(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	a.Commit("first", "1")
	left := git.Commit(a.Git("rev-parse", "HEAD"))
	a.Git("checkout", "-q", "--detach", "HEAD~1")
	a.Commit("second", "2")
	h := a.harvest()
	require.Equal(t, with("second=2"), a.files(h.Head))
	require.Equal(t, left, h.Beside)
	require.Empty(t, a.harvest().Beside)

	a = newAgent(t)
	a.Commit("first", "1")
	a.Git("checkout", "-q", "--detach")
	a.Commit("second", "2")
	require.Empty(t, a.harvest().Beside)
}

func TestHarvestInTheMiddleOfAMerge(t *testing.T) {
	t.Parallel()
	begin := func(t *testing.T) (agent, git.Commit) {
		a := newAgent(t)
		upstream := git.Commit(a.user.Commit("file", "theirs\n", "their", "1"))
		a.Commit("file", "mine\n")
		_, err := a.Try("merge", string(upstream))
		require.Error(t, err, "a conflict")
		return a, upstream
	}
	t.Run("unmerged", func(t *testing.T) {
		t.Parallel()
		a, _ := begin(t)
		a.Write("new", "1")
		mine, index := a.Head(), read(t, a.Git("rev-parse", "--git-path", "index"))
		work := a.harvest()
		require.Equal(t, []string{"file"}, work.Unmerged)
		require.Equal(t, mine, work.Head)
		require.False(t, work.Salvaged)
		require.Contains(t, a.attic(), "new=1")
		require.Equal(t, index, read(t, a.Git("rev-parse", "--git-path", "index")), "the agent goes on where it was")
		require.FileExists(t, a.Git("rev-parse", "--git-path", "MERGE_HEAD"))
	})
	t.Run("markers added", func(t *testing.T) {
		t.Parallel()
		a, _ := begin(t)
		mine := a.Head()
		a.Git("add", "-A")
		work := a.harvest()
		require.Equal(t, []string{"file"}, work.Unmerged)
		require.Equal(t, mine, work.Head)
	})
	t.Run("resolved", func(t *testing.T) {
		t.Parallel()
		a, upstream := begin(t)
		mine := a.Head()
		a.Write("file", "both\n")
		a.Git("add", "file")
		work := a.harvest()
		require.Empty(t, work.Unmerged)
		require.True(t, work.Salvaged)
		require.Equal(t, string(mine)+" "+string(upstream), a.Git("log", "-1", "--format=%P", string(work.Head)))
		require.Equal(t, []string{start[0], "file=both", start[2], "their=1"}, a.files(work.Head))
		require.Empty(t, a.Git("status", "--porcelain"))
		require.NoFileExists(t, a.Git("rev-parse", "--git-path", "MERGE_HEAD"))
		require.Equal(t, work.Head, a.harvest().Head)
	})
	t.Run("resolved for theirs", func(t *testing.T) {
		t.Parallel()
		a, upstream := begin(t)
		a.Git("checkout", "-q", "--ours", "file")
		a.Git("rm", "-q", "-f", "their")
		a.Git("add", "file")
		work := a.harvest()
		require.Contains(t, a.Git("log", "-1", "--format=%P", string(work.Head)), string(upstream), "a merge that changes nothing is one all the same")
	})
}

func TestHarvestInTheMiddleOfARebase(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	upstream := a.user.Commit("file", "theirs\n")
	a.Commit("first", "1")
	a.Commit("file", "mine\n")
	a.Commit("last", "1")
	mine := a.Head()
	_, err := a.Try("rebase", string(upstream))
	require.Error(t, err)
	half := a.Head()
	require.NotEqual(t, mine, half)

	work := a.harvest()
	require.Equal(t, mine, work.Head, "the branch has all of it still")
	require.Equal(t, []string{"file"}, work.Unmerged)
	a.kept(half)
	a.Git("rebase", "--abort")
	require.Equal(t, mine, a.harvest().Head)
}

// What was written beside an older commit, and contradicts the newest one, is no part of it.
func TestHarvestOfWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	tip := a.Commit("file", "2\n")
	a.Git("checkout", "-q", "--detach", "HEAD~")
	a.Write("file", "3\n")
	work := a.harvest()
	require.Equal(t, tip, work.Head)
	require.Equal(t, []string{"file"}, work.Unmerged)
	require.Contains(t, a.attic(), "file=3")
}

func TestHarvestReportsWhatIsNotInTheWork(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	a.Write("x.o", "1")
	a.Write("build/a", "1")
	a.Write("build/b", "1")
	for _, name := range []string{"clone", "sub/empty"} {
		a.Git("init", "-q", name)
	}
	a.Write("clone/file", "1")
	a.Write("new", "1")
	a.Write("sub/new", "1")
	a.Write("git~1", "no tree can have this name")
	require.NoError(t, syscall.Mkfifo(a.Dir+"/fifo", 0o600))
	require.NoError(t, os.Symlink("/etc", a.Dir+"/link"))
	work := a.harvest()
	require.Equal(t, 2, work.Ignored, "a file and a folder")
	require.ElementsMatch(t, []string{"clone", "sub/empty"}, work.Nested)
	require.ElementsMatch(t, []string{"clone", "sub/empty"}, work.Apart)
	require.Equal(t, []string{"git~1"}, work.Unread)
	require.Equal(t, []string{start[0], "file=1", "link=/etc", "new=1", "other=1", "sub/new=1"}, a.files(work.Head))
}

func TestHarvestTouchesNoStash(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	a.Write("file", "stashed")
	a.Git("stash")
	a.Write("new", "1")
	before := a.Git("stash", "list")
	a.harvest()
	require.Equal(t, before, a.Git("stash", "list"))
}

// The worktree or its admin directory may be gone; what was committed is not.
func TestHarvestOfRuins(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	c := a.Commit("new", "1")
	require.NoError(t, os.RemoveAll(a.Dir))
	require.Equal(t, c, a.harvest().Head)
	require.False(t, a.store.Exists("t", 1))
	a.user.Git("worktree", "prune")
	require.NoError(t, os.RemoveAll(filepath.Join(a.user.Dir, ".git/worktrees")))
	require.Equal(t, c, a.harvest().Head)
	require.NoError(t, a.store.Remove(t.Context(), "t", 1, ""))
	a.user.Git("cat-file", "-e", a.names.Attic+":new")
}

// reflog is every commit that was HEAD of the worktree.
func (a agent) reflog() (all []git.Commit) {
	a.T.Helper()
	for _, line := range lines(read(a.T, a.admin()+"/logs/HEAD")) {
		if id := line[41:81]; strings.Trim(id, "0") != "" {
			all = append(all, git.Commit(id))
		}
	}
	return all
}
