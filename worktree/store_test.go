package worktree_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gofrs/flock"
	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/engine"
	"github.com/beadsorch/orch/orchestrator/git"
	"github.com/beadsorch/orch/orchestrator/slug"
	"github.com/beadsorch/orch/worktree"
)

func TestOpenRefusesARootThatIsNotItsOwn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	home := filepath.Dir(w.Dir)
	require.NoError(t, os.Symlink(w.Dir, home+"/link"))
	require.NoError(t, os.Symlink(home, home+"/elsewhere"))
	w.Write("file", "1")
	for _, root := range []string{
		"relative", "", w.Dir, w.Dir + "/sub/deep", w.Dir + "/.git/wt", home + "/link", home + "/link/sub", home + "/x/../repo/y", w.Dir + "/file",
	} {
		o := w.options()
		o.Root = root
		var refused *worktree.RootError
		_, err := worktree.Open(o)
		require.ErrorAs(t, err, &refused, root)
		require.Equal(t, root, refused.Root)
	}
	for name, make := range map[string]func(path string) error{
		"file":     func(path string) error { return os.WriteFile(path, []byte("a person's"), 0o600) },
		"dangling": func(path string) error { return os.Symlink("nowhere", path) },
		"loop":     func(path string) error { return os.Symlink("loop", path) },
		"to_file":  func(path string) error { return os.Symlink(w.Dir+"/file", path) },
	} {
		path := filepath.Join(home, name)
		require.NoError(t, make(path))
		before, err := os.Lstat(path)
		require.NoError(t, err)
		o := w.options()
		o.Root = path + "/epic"
		var refused *worktree.RootError
		_, err = worktree.Open(o)
		require.ErrorAs(t, err, &refused, name)
		require.Equal(t, path, refused.Folder(), "what is in the way is named")
		after, err := os.Lstat(path)
		require.NoError(t, err, "and is there still")
		require.True(t, os.SameFile(before, after))
	}
	o := w.options()
	o.Root = home + "/elsewhere/worktrees/deep"
	s, err := worktree.Open(o)
	require.NoError(t, err)
	require.Equal(t, home+"/worktrees/deep/agent-t", s.Name("t", 1).Dir, "symlinks above are resolved")
	require.NoDirExists(t, home+"/worktrees", "Open makes nothing")
}

func TestNames(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	o := w.options()
	o.Epic = "../e pic"
	s, err := worktree.Open(o)
	require.NoError(t, err)
	epic := slug.Of("../e pic")
	require.Equal(t, "refs/heads/epic/"+epic, s.EpicBranch())
	require.Equal(t, engine.Names{
		Dir: o.Root + "/agent-bd-1.2", Branch: "refs/heads/orch/" + epic + "/bd-1.2/3", Attic: "refs/orch/" + epic + "/attic/bd-1.2/3",
	}, s.Name("bd-1.2", 3))
}

func TestAdd(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	require.True(t, a.store.Exists("t", 1))
	require.Equal(t, a.names.Branch, a.Git("symbolic-ref", "HEAD"))
	require.Empty(t, a.Git("status", "--porcelain", "--ignored"))
	require.Equal(t, a.base, a.Head())
	_, err := a.Try("rev-parse", "@{upstream}")
	require.Error(t, err, "it tracks nothing")
	a.user.Git("worktree", "prune")
	require.Contains(t, a.user.Git("worktree", "list"), a.names.Dir)
	a.user.Git("fsck")

	a.Write("new", "1")
	require.NoError(t, a.store.Add(t.Context(), "t", 1, a.base))
	require.FileExists(t, a.Dir+"/new", "Add leaves a whole worktree alone")

	require.Error(t, a.store.Add(t.Context(), "u", 1, git.Commit(strings.Repeat("1", 40))))
	require.NoDirExists(t, a.store.Name("u", 1).Dir)
}

// The next attempt at a task begins in the same folder; nothing of the last one is lost.
func TestAddTakesOverFromAnEarlierAttempt(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	c := a.Commit("new", "1")
	a.Write("z", "1")
	require.NoError(t, a.store.Add(t.Context(), "t", 2, a.base))
	require.False(t, a.store.Exists("t", 1))
	require.True(t, a.store.Exists("t", 2))
	require.Equal(t, a.base, a.Head())
	require.Equal(t, []string{start[0], "file=1", "new=1", "other=1", "z=1"}, a.attic())
	a.kept(c)
}

func TestAddClearsWhatStandsInTheWay(t *testing.T) {
	t.Parallel()
	tests := map[string]func(a agent){
		"its own half-made worktree": func(a agent) { require.NoError(a.T, os.Remove(a.admin()+"/orch")) },
		"a worktree that was pruned": func(a agent) { require.NoError(a.T, os.RemoveAll(a.admin())) },
		"an admin directory alone":   func(a agent) { require.NoError(a.T, os.RemoveAll(a.Dir)) },
		"a branch that has moved": func(a agent) {
			require.NoError(a.T, os.RemoveAll(a.Dir))
			require.NoError(a.T, os.RemoveAll(a.admin()))
		},
		"an empty folder": func(a agent) {
			require.NoError(a.T, a.store.Remove(a.T.Context(), "t", 1, ""))
			require.NoError(a.T, os.MkdirAll(a.Dir, 0o755))
		},
	}
	for name, does := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAgent(t)
			c := a.Commit("new", "1")
			does(a)
			require.NoError(t, a.store.Add(t.Context(), "t", 1, a.base))
			require.True(t, a.store.Exists("t", 1))
			require.Equal(t, a.base, a.Head())
			require.Empty(t, a.Git("status", "--porcelain"))
			a.kept(c)
		})
	}
}

// A symlink is not followed, whoever put it there.
func TestAddRefusesASymlink(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	base := w.Commit("file", "1")
	s := w.store()
	target := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Dir(s.Name("t", 1).Dir), 0o755))
	require.NoError(t, os.Symlink(target, s.Name("t", 1).Dir))
	require.Error(t, s.Add(t.Context(), "t", 1, base))
	entries, err := os.ReadDir(target)
	require.NoError(t, err)
	require.Empty(t, entries)
}

// 64 plain git worktree add at once: up to 38 % fail (as measured on git 2.39).
func TestAddInParallel(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	base := w.Commit("file", "1", "dir/file", "2")
	stores := []*worktree.Store{w.store(), w.store()} // as two processes have them
	const tasks = 64
	var group sync.WaitGroup
	errs := make([]error, tasks)
	for i := range tasks {
		group.Go(func() { errs[i] = stores[i%2].Add(t.Context(), fmt.Sprint("t", i), 1, base) })
	}
	group.Wait()
	for i, err := range errs {
		require.NoError(t, err)
		require.True(t, stores[0].Exists(fmt.Sprint("t", i), 1))
	}
	require.Len(t, lines(w.Git("worktree", "list")), tasks+1)
	require.Len(t, lines(w.Git("for-each-ref", "refs/heads/orch")), tasks)
	list, err := stores[0].List(t.Context())
	require.NoError(t, err)
	require.Len(t, list, tasks)

	for i := range tasks {
		group.Go(func() { errs[i] = stores[i%2].Remove(t.Context(), fmt.Sprint("t", i), 1, base) })
	}
	group.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	require.NoError(t, stores[1].Close(t.Context()))
	require.NoError(t, stores[0].Close(t.Context()))
	require.Len(t, lines(w.Git("worktree", "list")), 1)
	require.Empty(t, w.Git("for-each-ref", "refs/heads/orch"))
	require.NoDirExists(t, w.Dir+".worktrees/e")
}

// An flock outlives its killed owner by up to 82 ms, as measured; whoever holds it is waited for.
func TestAddWaitsForTheLock(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	base := w.Commit("file", "1")
	o := w.options()
	require.NoError(t, os.MkdirAll(filepath.Dir(o.Lock), 0o755))
	other := flock.New(o.Lock)
	require.NoError(t, other.Lock())
	s, err := worktree.Open(o)
	require.NoError(t, err)

	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, s.Add(ctx, "t", 1, base), context.DeadlineExceeded)
	require.NoDirExists(t, o.Root)

	added := make(chan error, 1)
	go func() { added <- s.Add(t.Context(), "t", 1, base) }()
	require.NoError(t, other.Unlock())
	require.NoError(t, <-added)
}

func TestHostileIDs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	base := w.Commit("file", "1")
	outside := func() []string {
		entries, err := os.ReadDir(filepath.Dir(w.Dir))
		require.NoError(t, err)
		var names []string
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names
	}
	ids := []string{"-rf", "--help", "../x", "../../x", "/etc", "a..b", "x.lock", "x", ".git", "HEAD", "@{", "@", "a b", "a\nb", "a\x00b", "é", "日本語",
		"$(touch pwn)", "`touch pwn`", "a;b", "a|b", "'", "\"", "*", strings.Repeat("a", 300), strings.Repeat("f", 40), "", ".", "..", "verify", "refs/heads/main"}
	o := w.options()
	for i, id := range ids {
		o.Epic = ids[len(ids)-1-i]
		o.Root = w.Dir + ".worktrees/" + slug.Of(o.Epic)
		s, err := worktree.Open(o)
		require.NoError(t, err)
		require.NoError(t, s.Add(t.Context(), id, 1, base), "%q", id)
		a := agent{world: w.at(s.Name(id, 1).Dir), user: w, store: s, names: s.Name(id, 1), base: base}
		require.Equal(t, o.Root, filepath.Dir(a.Dir))
		a.Write("new", "1")
		work, err := s.Harvest(t.Context(), id, 1, base, id)
		require.NoError(t, err, "%q", id)
		require.True(t, work.Salvaged)
		require.NoError(t, s.Remove(t.Context(), id, 1, work.Head), "%q", id)
		a.kept(work.Head)
		require.NoError(t, s.Close(t.Context()))
	}
	require.Equal(t, []string{"repo", "repo.worktrees"}, outside())
	require.Equal(t, []string{"main"}, strings.Fields(w.Git("branch", "--format=%(refname:short)")))
}

func TestListKnowsWorktreesAndBranches(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	c := a.Commit("new", "1")
	a.user.Git("update-ref", "refs/heads/orch/e/u/2", string(a.base))
	a.user.Git("update-ref", "refs/heads/orch/other/u/2", string(a.base))
	_, err := a.store.Checkout(t.Context(), a.base)
	require.NoError(t, err)
	list, err := a.store.List(t.Context())
	require.NoError(t, err)
	require.Equal(t, []engine.Found{
		{Task: "t", Attempt: 1, Branch: a.names.Branch, Dir: a.Dir, HasDir: true, HasBranch: true, Head: c},
		{Task: "u", Attempt: 2, Branch: "refs/heads/orch/e/u/2", Dir: a.store.Name("u", 2).Dir, HasBranch: true, Head: a.base},
	}, list)
	a.Git("checkout", "-q", "--detach")
	a.Git("update-ref", "-d", a.names.Branch)
	list, err = a.store.List(t.Context())
	require.NoError(t, err)
	require.Equal(t, engine.Found{Task: "t", Attempt: 1, Branch: a.names.Branch, Dir: a.Dir, HasDir: true}, list[0])
}

func TestFresh(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	require.False(t, a.store.ChangedSince(t.Context(), "t", 1, time.Now().Add(time.Minute)))
	require.False(t, a.store.ChangedSince(t.Context(), "none", 1, time.Time{}))
	old := time.Now().Add(-time.Hour)
	age := func() {
		for _, dir := range []string{a.Dir, a.admin()} {
			require.NoError(t, filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
				require.NoError(t, err)
				return os.Chtimes(path, old, old)
			}))
		}
	}
	since := time.Now().Add(-time.Minute)
	for name, does := range map[string]func(){
		"a file":        func() { a.Write("file", "2") },
		"a file below":  func() { a.Write("deep/er/file", "2") },
		"a removed one": func() { require.NoError(t, os.Remove(a.Dir+"/deep/er/file")) },
		"a commit":      func() { a.Git("commit", "-q", "--allow-empty", "-m", "x") },
		"the index":     func() { a.Git("update-index", "--force-remove", "file") },
	} {
		if name == "a removed one" {
			a.Write("deep/er/file", "1")
		}
		age()
		require.False(t, a.store.ChangedSince(t.Context(), "t", 1, since), name)
		does()
		require.True(t, a.store.ChangedSince(t.Context(), "t", 1, since), name)
	}
}

func TestEnsureEpic(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	base := w.Commit("file", "1")
	s := w.store()
	tip, err := s.EnsureEpic(t.Context(), base)
	require.NoError(t, err)
	require.Equal(t, base, tip)
	later := w.Commit("file", "2")
	tip, err = s.EnsureEpic(t.Context(), later)
	require.NoError(t, err)
	require.Equal(t, base, tip, "it is where it was")

	linked := w.Dir + "-linked"
	w.Git("worktree", "add", "-q", linked, "epic/e")
	var out *worktree.CheckedOutError
	_, err = s.EnsureEpic(t.Context(), base)
	require.ErrorAs(t, err, &out)
	require.Equal(t, linked, out.Path)
}

func TestCheckRefs(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"refs/heads/epic", "refs/heads/epic/e/x", "refs/heads/epic/e/x/y", "refs/heads/orch", "refs/heads/orch/e",
		"refs/orch/e", "refs/orch/e/tip/x", "refs/orch/e/lease/x", "refs/orch/e/attic"} {
		for _, packed := range []bool{false, true} {
			t.Run(fmt.Sprint(name, packed), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				w.Commit("file", "1")
				for _, fine := range []string{"refs/heads/epic-e", "refs/heads/orch-e", "refs/orch/e-1/tip", "refs/orch/other/tip"} {
					w.Git("update-ref", fine, "HEAD")
				}
				s := w.store()
				require.NoError(t, s.CheckRefs(t.Context(), false))
				w.Git("update-ref", name, "HEAD")
				if packed {
					w.Git("pack-refs", "--all")
				}
				was := w.Git("rev-parse", name)
				var inTheWay *git.InTheWayError
				require.ErrorAs(t, s.CheckRefs(t.Context(), false), &inTheWay)
				require.Equal(t, name, inTheWay.Other)
				ended := s.CheckRefs(t.Context(), true)
				if strings.HasPrefix(name, "refs/heads/epic") {
					require.NoError(t, ended)
				} else {
					require.ErrorAs(t, ended, &inTheWay)
				}
				fix := exec.CommandContext(t.Context(), "sh", "-c", inTheWay.Fix(func(s string) string { return s }))
				fix.Dir, fix.Env = w.Dir, w.Env
				out, err := fix.CombinedOutput()
				require.NoError(t, err, string(out))
				require.NoError(t, s.CheckRefs(t.Context(), false))
				require.Contains(t, w.Git("for-each-ref", "--format=%(objectname)", "refs/aside", "refs/heads/*-aside"), was, "nothing is lost")
			})
		}
	}
	w := newWorld(t)
	require.NoError(t, os.Symlink(t.TempDir(), filepath.Join(w.Dir, ".git", "refs", "heads", "epic")))
	var inTheWay *git.InTheWayError
	require.ErrorAs(t, w.store().CheckRefs(t.Context(), false), &inTheWay)
	require.Contains(t, inTheWay.Error(), "no plain file")
}
