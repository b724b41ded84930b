package land_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/git"
	"github.com/beadsorch/orch/orchestrator/git/gittest"
	"github.com/beadsorch/orch/orchestrator/land"
)

const epicBranch = "refs/heads/epic/bd-1"

// attempt commits files on a detached HEAD at base, and goes back.
func (w world) attempt(base git.Commit, files ...string) git.Commit {
	w.T.Helper()
	was := w.Git("symbolic-ref", "HEAD")
	w.Git("checkout", "-q", "--detach", string(base))
	c := w.Commit(files...)
	w.Git("checkout", "-q", strings.TrimPrefix(was, "refs/heads/"))
	return c
}

func TestBuildMoveLanded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	base := w.Commit("file", "1")
	w.Git("branch", "epic/bd-1")
	w.Env = append(w.Env, "GIT_AUTHOR_NAME=An Agent", "GIT_AUTHOR_EMAIL=agent@example.com", "GIT_AUTHOR_DATE=1700000000 +0200")
	attempt := w.attempt(base, "new", "1")
	r := w.Open()
	m := land.Message{Epic: "bd-1", Task: "bd-1.2", Attempt: 3, Title: "Store: keep\nlinks", Body: "Orch-Attempt: bd-1.9/1\n\n---\nmore\n"}
	lease, err := land.Acquire(t.Context(), r, "bd-1", []byte("run 1"))
	require.NoError(t, err)

	all, err := land.LandedAll(t.Context(), r, epicBranch, base)
	require.NoError(t, err)
	require.Empty(t, all)
	c, err := land.Build(t.Context(), r, base, attempt, m)
	require.NoError(t, err)
	require.Equal(t, string(base)+" "+string(attempt), w.Git("log", "-1", "--format=%P", string(c.Commit)))
	require.Equal(t, "An Agent <agent@example.com> 1700000000 +0200, A Person", w.Git("log", "-1", "--date=raw", "--format=%an <%ae> %ad, %cn", string(c.Commit)))
	require.Equal(t, "Store: keep links", w.Git("log", "-1", "--format=%s", string(c.Commit)))
	require.Equal(t, "bd-1 bd-1.2 bd-1.2/3", w.Git("log", "-1", "--format=%(trailers:valueonly,separator= )", string(c.Commit)))
	require.Equal(t, c.Tree, w.Git("rev-parse", string(c.Commit)+"^{tree}"))
	require.Equal(t, string(base), w.Git("rev-parse", epicBranch), "Build moves nothing")

	require.NoError(t, land.Move(t.Context(), r, land.Step{Branch: epicBranch, From: base, To: c.Commit, Lease: lease}))
	all, err = land.LandedAll(t.Context(), r, epicBranch, base)
	require.NoError(t, err)
	require.Equal(t, map[string]git.Commit{"bd-1.2/3": c.Commit}, all)
	require.ErrorIs(t, land.Move(t.Context(), r, land.Step{Branch: epicBranch, From: base, To: c.Commit, Lease: lease}), git.ErrRefMoved)
}

// Asked with git log --grep "Task: id\n", every task had landed: the pattern's second line
// is empty.
func TestLandedComparesWholeValues(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	base := w.Commit("file", "1")
	r := w.Open()
	ids := []string{"bd-1.1", "bd-1.10", "bd-1", ".*", "a b", "a\nOrch-Attempt: bd-1.7/1", "x/1", "x", "ü,;\x00", "%2F", ""}
	tip := base
	for i, id := range ids {
		c, err := land.Build(t.Context(), r, tip, w.attempt(base, fmt.Sprint("f", i), "1"), land.Message{Epic: "e", Task: id, Attempt: 1})
		require.NoError(t, err)
		require.NoError(t, r.UpdateRefs(t.Context(), []git.RefChange{{Name: epicBranch, New: c.Commit, Old: git.AnyOld}}))
		tip = c.Commit
	}
	all, err := land.LandedAll(t.Context(), r, epicBranch, "")
	require.NoError(t, err)
	require.Len(t, all, len(ids))
	for i, id := range ids {
		require.Equal(t, fmt.Sprint("f", i), w.Git("diff", "--name-only", string(all[id+"/1"])+"^1", string(all[id+"/1"])), "%q", id)
	}
}

// An agent may write whatever it likes into its own commits: only what orch itself put
// on the first-parent line counts.
func TestLandedIgnoresTrailersOfAgents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	base := w.Commit("file", "1")
	w.Git("checkout", "-q", "-b", "side")
	w.Write("f", "1")
	w.Git("add", "f")
	w.Git("commit", "-q", "-m", "forged\n\nOrch-Epic: e\nOrch-Task: other\nOrch-Attempt: other/1")
	forged := git.Commit(w.Git("rev-parse", "HEAD"))
	r := w.Open()
	c, err := land.Build(t.Context(), r, base, forged, land.Message{Epic: "e", Task: "own", Attempt: 1})
	require.NoError(t, err)
	require.NoError(t, r.UpdateRefs(t.Context(), []git.RefChange{{Name: epicBranch, New: c.Commit}}))
	all, err := land.LandedAll(t.Context(), r, epicBranch, base)
	require.NoError(t, err)
	require.Equal(t, map[string]git.Commit{"own/1": c.Commit}, all)
	_, err = land.LandedAll(t.Context(), r, "refs/heads/none", base)
	require.Error(t, err)
}

func TestBuildConflicts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	base := w.Commit("a", "1\n", "b", "1\n", "c", "1\n")
	ours := w.Commit("a", "2\n", "b", "2\n")
	r := w.Open()
	_, err := land.Build(t.Context(), r, ours, w.attempt(base, "a", "3\n", "b", "3\n", "c", "3\n"), land.Message{Task: "t", Attempt: 1})
	var conflict *land.ConflictError
	require.ErrorAs(t, err, &conflict)
	require.Equal(t, []string{"a", "b"}, conflict.Files)
	require.EqualError(t, err, "conflict in a and 1 more")
	require.Contains(t, strings.Join(conflict.Messages, "\n"), "CONFLICT (content)")

	_, err = land.Build(t.Context(), r, ours, git.Commit(strings.Repeat("1", 40)), land.Message{Task: "t", Attempt: 1})
	require.Error(t, err)
	require.NotErrorAs(t, err, &conflict, "a commit that is not here")
}

func TestLease(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	base := w.Commit("file", "1")
	next := w.Commit("file", "2")
	w.Git("branch", "epic/bd-1", string(base))
	r := w.Open()
	first, err := land.Acquire(t.Context(), r, "../bd 1", []byte("run 1"))
	require.NoError(t, err)
	second, err := land.Acquire(t.Context(), r, "../bd 1", []byte("run 2"))
	require.NoError(t, err)
	require.Equal(t, first.Name, second.Name)
	require.ErrorIs(t, land.Move(t.Context(), r, land.Step{Branch: epicBranch, From: base, To: next, Lease: first}), git.ErrRefMoved, "a run that was taken over")
	require.ErrorIs(t, land.Release(t.Context(), r, first), git.ErrRefMoved)
	require.NoError(t, land.Move(t.Context(), r, land.Step{Branch: epicBranch, From: base, To: next, Lease: second}))
	require.NoError(t, land.Release(t.Context(), r, second))
	require.ErrorIs(t, land.Move(t.Context(), r, land.Step{Branch: epicBranch, From: next, To: base, Lease: second}), git.ErrRefMoved, "a lease that was given back")
	require.Equal(t, string(next), w.Git("rev-parse", epicBranch))
}

// Many landings at once: each is there exactly once, none is lost.
func TestLandingsRace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	base := w.Commit("file", "1")
	w.Git("branch", "epic/bd-1")
	r := w.Open()
	const tasks = 6
	attempts := make([]git.Commit, tasks)
	for i := range attempts {
		attempts[i] = w.attempt(base, fmt.Sprint("f", i), "1")
	}
	var group sync.WaitGroup
	for i := range attempts {
		group.Go(func() {
			for {
				old, err := r.Resolve(t.Context(), epicBranch)
				if err != nil {
					t.Error(err)
					return
				}
				c, err := land.Build(t.Context(), r, old, attempts[i], land.Message{Epic: "e", Task: fmt.Sprint(i), Attempt: 1})
				if err == nil {
					err = land.Move(t.Context(), r, land.Step{Branch: epicBranch, From: old, To: c.Commit})
				}
				if !errors.Is(err, git.ErrRefMoved) {
					if err != nil {
						t.Error(err)
					}
					return
				}
			}
		})
	}
	group.Wait()
	all, err := land.LandedAll(t.Context(), r, epicBranch, base)
	require.NoError(t, err)
	require.Len(t, all, tasks)
	require.Equal(t, fmt.Sprint(tasks), w.Git("rev-list", "--first-parent", "--count", string(base)+".."+epicBranch))
	for i := range attempts {
		w.Git("cat-file", "-e", epicBranch+":"+fmt.Sprint("f", i))
	}
}

func TestInto(t *testing.T) {
	t.Parallel()
	m := land.Message{Epic: "bd-1", Task: "bd-1", Title: "Epic bd-1"}
	tests := []struct {
		name    string
		prepare func(w world)
		refuse  string // in the CheckedOutError
	}{
		{"clean", func(world) {}, ""},
		{"own untracked file", func(w world) { w.Write("mine", "1") }, ""},
		{"changed file", func(w world) { w.Write("file", "mine") }, "not committed"},
		{"staged file", func(w world) { w.Write("staged", "mine"); w.Git("add", "staged") }, "not committed"},
		{"untracked file in the way", func(w world) { w.Write("new", "mine") }, "in the way"},
		{"merge under way", func(w world) {
			require.NoError(w.T, os.WriteFile(filepath.Join(w.Dir, ".git/MERGE_HEAD"), []byte(w.Git("rev-parse", "HEAD")+"\n"), 0o644))
		}, "middle of a merge"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			base := w.Commit("file", "1")
			tip := w.attempt(base, "new", "1")
			r := w.Open()
			tt.prepare(w)
			before := w.Git("status", "--porcelain")
			got, err := land.Into(t.Context(), r, "refs/heads/main", tip, m)
			require.Equal(t, before, w.Git("status", "--porcelain"))
			if tt.refuse == "" {
				require.NoError(t, err)
				require.Equal(t, tip, got, "fast-forward")
				require.Equal(t, string(tip), w.Git("rev-parse", "main"))
				require.FileExists(t, filepath.Join(w.Dir, "new"))
				again, err := land.Into(t.Context(), r, "refs/heads/main", tip, m)
				require.NoError(t, err)
				require.Equal(t, tip, again)
				return
			}
			var out *land.CheckedOutError
			require.ErrorAs(t, err, &out)
			require.Equal(t, w.Dir, out.Path)
			require.Contains(t, out.Reason, tt.refuse)
			require.Equal(t, string(base), w.Git("rev-parse", "main"))
		})
	}
}

func TestIntoABranchThatIsNotCheckedOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	base := w.Commit("file", "1\n")
	tip := w.attempt(base, "new", "1")
	clash := w.attempt(base, "file", "2\n")
	w.Git("branch", "release")
	w.Git("checkout", "-q", "release")
	other := w.Commit("file", "3\n")
	w.Git("checkout", "-q", "main")
	w.Write("file", "mine")
	r := w.Open()
	m := land.Message{Epic: "bd-1", Task: "bd-1", Title: "Epic bd-1"}

	got, err := land.Into(t.Context(), r, "refs/heads/release", tip, m)
	require.NoError(t, err)
	require.Equal(t, string(other)+" "+string(tip), w.Git("log", "-1", "--format=%P", "release"))
	require.Equal(t, string(got), w.Git("rev-parse", "release"))
	require.Equal(t, "M file", w.Git("status", "--porcelain"))

	var conflict *land.ConflictError
	_, err = land.Into(t.Context(), r, "refs/heads/release", clash, m)
	require.ErrorAs(t, err, &conflict)
	_, err = land.Into(t.Context(), r, "refs/heads/none", tip, m)
	require.ErrorIs(t, err, git.ErrNoSuchRef)
}

// The files go first: orch may die before the branch is moved.
func TestIntoGoesOnWhereItWasKilled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	base := w.Commit("file", "1")
	linked := filepath.Join(filepath.Dir(w.Dir), "linked")
	w.Git("worktree", "add", "-q", "-b", "release", linked)
	tip := w.attempt(base, "new", "1", "file", "2")
	at := world{gittest.World{T: t, Dir: linked, Env: w.Env}}
	at.Git("read-tree", "-m", "-u", string(base), string(tip))
	require.NotEmpty(t, at.Git("status", "--porcelain"))

	got, err := land.Into(t.Context(), w.Open(), "refs/heads/release", tip, land.Message{})
	require.NoError(t, err)
	require.Equal(t, tip, got)
	require.Empty(t, at.Git("status", "--porcelain"))
	require.Equal(t, string(tip), at.Git("rev-parse", "HEAD"))
}
