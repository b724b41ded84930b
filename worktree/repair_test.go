package worktree_test

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/engine"
	"github.com/beadsorch/orch/orchestrator/git/gittest"
	"github.com/beadsorch/orch/orchestrator/proc"
	"github.com/beadsorch/orch/worktree"
)

// old makes a file look as if nobody had touched it for a while.
func old(t testing.TB, path string) {
	t.Helper()
	past := time.Now().Add(-time.Hour)
	require.NoError(t, os.Chtimes(path, past, past))
}

func repaired(t testing.TB, s *worktree.Store) []engine.Leftover {
	t.Helper()
	found, err := s.Repair(t.Context())
	require.NoError(t, err)
	return found
}

func (w world) gitFile(name string) string {
	return filepath.Join(w.Dir, ".git", filepath.FromSlash(name))
}

// TestRepairOfWhatIsWhole finds nothing, and changes nothing.
func TestRepairOfWhatIsWhole(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	a.Write("new", "x")
	require.Empty(t, repaired(t, a.store))
	require.Equal(t, "?? new", a.Git("status", "--porcelain"))
}

// TestRepairOfHalfMadeAdmin: git worktree add, killed at one point, leaves an empty
// commondir and a lock that says initializing. From then on git branch fails in the
// whole repository, the person's checkout included, and prune does not help.
func TestRepairOfHalfMadeAdmin(t *testing.T) {
	t.Parallel()
	for name, files := range map[string]map[string]string{
		"empty commondir": {"commondir": "", "locked": "initializing", "gitdir": "/nowhere/.git\n", "HEAD": "ref: refs/heads/x\n"},
		"no HEAD":         {"commondir": "../..\n", "locked": "initializing", "gitdir": "/nowhere/.git\n"},
		"nothing":         {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.Commit("file", "1")
			s := w.store()
			admin := w.gitFile("worktrees/half")
			require.NoError(t, os.MkdirAll(admin, 0o755))
			for file, text := range files {
				require.NoError(t, os.WriteFile(filepath.Join(admin, file), []byte(text), 0o644))
				old(t, filepath.Join(admin, file))
			}
			old(t, admin)
			if name == "empty commondir" {
				_, err := w.Try("branch")
				require.Error(t, err, "the damage is real")
			}
			found := repaired(t, s)
			require.Len(t, found, 1)
			require.True(t, found[0].Fixed)
			require.Contains(t, found[0].What, "made by half")
			w.Git("branch")
			w.Git("worktree", "list")
			kept, err := filepath.Glob(w.gitFile("orch/damaged/half-*/admin"))
			require.NoError(t, err)
			require.Len(t, kept, 1, "moved aside, not deleted")
		})
	}
}

// TestRepairOfPackedRefs: git branch -D, killed, leaves packed-refs.new, and no
// packed branch can be deleted any more.
func TestRepairOfPackedRefs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Commit("file", "1")
	w.Git("branch", "packed")
	w.Git("pack-refs", "--all")
	s := w.store()
	for _, name := range []string{"packed-refs.new", "packed-refs.lock"} {
		path := w.gitFile(name)
		require.NoError(t, os.WriteFile(path, nil, 0o644))
		old(t, path)
		_, err := w.Try("branch", "-D", "packed")
		require.Error(t, err, "%s is in the way", name)
		found := repaired(t, s)
		require.Len(t, found, 1)
		require.True(t, found[0].Fixed)
		require.NoFileExists(t, path)
	}
	w.Git("branch", "-D", "packed")
}

// TestRepairLeavesALiveLock of a git that runs here, and says whose it may be.
func TestRepairLeavesALiveLock(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Commit("file", "1")
	s := w.store()
	git := exec.CommandContext(t.Context(), "git", "cat-file", "--batch")
	git.Dir, git.Env = w.Dir, w.Env
	in, err := git.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, git.Start())
	path := w.gitFile("packed-refs.lock")
	require.NoError(t, os.WriteFile(path, nil, 0o644))
	found := repaired(t, s)
	require.Len(t, found, 1)
	require.False(t, found[0].Fixed)
	require.Contains(t, found[0].Fix, "it may be held by process")
	require.FileExists(t, path)
	require.NoError(t, in.Close())
	require.NoError(t, git.Wait())
}

// TestRepairReportsOthersLocks, old ones only, and never touches them.
func TestRepairReportsOthersLocks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Commit("file", "1")
	s := w.store()
	fresh, stale := w.gitFile("config.lock"), w.gitFile("index.lock")
	for _, path := range []string{fresh, stale} {
		require.NoError(t, os.WriteFile(path, nil, 0o644))
	}
	old(t, stale)
	found := repaired(t, s)
	require.Len(t, found, 1)
	require.Equal(t, stale, found[0].Path)
	require.False(t, found[0].Fixed)
	require.FileExists(t, stale)
	require.FileExists(t, fresh)
}

// TestRepairOfOwnLocksAndReferences: locks in the epic's namespaces go; an empty
// reference gets the value that its reflog has.
func TestRepairOfOwnLocksAndReferences(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	head := a.Commit("work", "1")
	ref := filepath.Join(a.user.Dir, ".git", filepath.FromSlash(a.names.Branch))
	require.NoError(t, os.WriteFile(ref+".lock", nil, 0o644))
	require.NoError(t, os.Truncate(ref, 0))
	found := repaired(t, a.store)
	require.Len(t, found, 2)
	for _, l := range found {
		require.True(t, l.Fixed, l.What)
	}
	require.Equal(t, string(head), a.user.Git("rev-parse", a.names.Branch))
	require.NoFileExists(t, ref+".lock")
	a.kept(head)
}

// TestRepairNeverGuessesTheEpicBranch: an empty one without a reflog is a person's.
func TestRepairNeverGuessesTheEpicBranch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Commit("file", "1")
	s := w.store()
	_, err := s.EnsureEpic(t.Context(), w.Head())
	require.NoError(t, err)
	ref := w.gitFile(s.EpicBranch())
	require.NoError(t, os.Truncate(ref, 0))
	require.NoError(t, os.RemoveAll(w.gitFile("logs/"+s.EpicBranch())))
	found := repaired(t, s)
	require.Len(t, found, 1)
	require.False(t, found[0].Fixed)
	require.Contains(t, found[0].Fix, "git fsck")
	require.FileExists(t, ref)
}

// TestRepairOfALostDirectory: what was committed there is kept, and the task can
// start again.
func TestRepairOfALostDirectory(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	head := a.Commit("work", "1")
	require.NoError(t, os.RemoveAll(a.names.Dir))
	found := repaired(t, a.store)
	require.Len(t, found, 1)
	require.Contains(t, found[0].What, "whose directory is gone")
	a.kept(head)
	require.Equal(t, 1, len(filepath.SplitList(a.user.Git("worktree", "list", "--porcelain"))))
	require.NoError(t, a.store.Add(t.Context(), "t", 2, a.base))
}

// TestRepairOfALostAdmin: a worktree that somebody has pruned is registered again,
// with what the agent had not committed.
func TestRepairOfALostAdmin(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	a.Commit("work", "1")
	a.Write("uncommitted", "2")
	require.NoError(t, os.RemoveAll(a.admin()))
	_, err := a.Try("status")
	require.Error(t, err, "the damage is real")
	found := repaired(t, a.store)
	require.Len(t, found, 1)
	require.Contains(t, found[0].What, "git had forgotten")
	require.Equal(t, "?? uncommitted", a.Git("status", "--porcelain"))
	require.Contains(t, a.user.files(a.harvest().Head), "uncommitted=2")
}

// TestRepairOfStrangers: a directory of nobody's in the folder is reported only.
func TestRepairOfStrangers(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	stranger := filepath.Join(filepath.Dir(a.names.Dir), "agent-stranger")
	require.NoError(t, os.MkdirAll(stranger, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(stranger, ".git"), []byte("gitdir: /nowhere\n"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(stranger, "mine"), []byte("1"), 0o644))
	for _, l := range repaired(t, a.store) {
		require.False(t, l.Fixed, l.What)
	}
	require.FileExists(t, filepath.Join(stranger, "mine"))
}

// TestMain lets a test run this program as one that makes and removes worktrees
// until it is killed.
func TestMain(m *testing.M) {
	if dir := os.Getenv("ORCH_TEST_CHURN"); dir != "" {
		churn(dir)
	}
	os.Exit(m.Run())
}

// churn makes worktrees in the repository at dir, works in them and removes them,
// for ever.
func churn(dir string) {
	w := world{gittest.World{T: &panicking{}, Dir: dir, Env: os.Environ()}}
	options := w.options()
	marked := proc.New(proc.Options{Marker: os.Getenv("ORCH_TEST_MARK"), Now: time.Now})
	options.Repo = options.Repo.RunBy(marked.Run)
	s, err := worktree.Open(options)
	if err != nil {
		panic(err)
	}
	base := w.Head()
	fmt.Println("ready")
	for n := 1; ; n++ {
		must := func(err error) {
			if err != nil {
				panic(err)
			}
			fmt.Println("one more step")
		}
		must(s.Add(context.Background(), "t", n, base))
		must(os.WriteFile(filepath.Join(s.Name("t", n).Dir, "work"), []byte(strconv.Itoa(n)), 0o600))
		work, err := s.Harvest(context.Background(), "t", n, base, "work")
		must(err)
		must(s.Attic(context.Background(), "t", n, work.Head))
		must(s.Remove(context.Background(), "t", n, base))
	}
}

// panicking is a testing.TB for a process that is no test.
type panicking struct{ testing.TB }

func (*panicking) Helper()                        {}
func (*panicking) Cleanup(func())                 {} // it is killed
func (*panicking) Context() context.Context       { return context.Background() }
func (*panicking) Errorf(format string, a ...any) { panic(fmt.Sprintf(format, a...)) }
func (*panicking) FailNow()                       { panic("failed") }

// TestRepairAfterKills kills a process in each step of its work on worktrees. Each time
// the repository is mended, the next attempt can begin, and nothing that was kept is
// lost.
func TestRepairAfterKills(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	base := w.Commit("a", "1", "b/c", "2", "d", "3")
	rounds := 25
	if testing.Short() || os.Getenv("ORCH_TEST_STRICT") == "" {
		rounds = 11
	}
	kept := 0
	sum := sha256.Sum256([]byte(w.Dir))
	mark := "ORCH_MARK=" + hex.EncodeToString(sum[:8])
	for round := range rounds {
		child := exec.CommandContext(t.Context(), os.Args[0])
		child.Dir, child.Env, child.Stderr = w.Dir, append(w.Env, "ORCH_TEST_CHURN="+w.Dir, "ORCH_TEST_MARK="+mark), os.Stderr
		child.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		out, err := child.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, child.Start())
		said := bufio.NewScanner(out)
		for range 1 + round { // it is ready, and as many steps on
			require.True(t, said.Scan(), "it ended by itself")
		}
		<-time.After(time.Duration(round*7%20) * time.Millisecond) // somewhere in the next one
		require.NoError(t, syscall.Kill(-child.Process.Pid, syscall.SIGKILL))
		require.Error(t, child.Wait())
		alive, err := proc.Reap(t.Context(), mark, 5*time.Second, 3*time.Second) // as the next run does first
		require.NoError(t, err)
		require.Empty(t, alive)

		s := w.store()
		for _, l := range repaired(t, s) {
			require.True(t, l.Fixed, "%s: %s %s", l.What, l.Path, l.Ref)
		}
		w.Git("branch")
		w.Git("worktree", "list")
		require.NoError(t, s.Add(t.Context(), "next", 1, base), "after kill %d", round)
		require.NoError(t, s.Remove(t.Context(), "next", 1, base))
		require.Empty(t, repaired(t, s), "once is enough")
		refs := strings.Fields(w.Git("for-each-ref", "--format=%(refname)", "refs/orch/e/attic"))
		require.GreaterOrEqual(t, len(refs), kept, "what was kept stays")
		kept = len(refs)
		w.Git("fsck", "--no-dangling", "--no-progress")
	}
	require.Positive(t, kept)
}
