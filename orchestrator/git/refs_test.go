package git_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/git"
)

func TestResolve(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.Open()
	_, err := r.Resolve(t.Context(), "HEAD")
	require.ErrorIs(t, err, git.ErrNoSuchRef, "unborn")

	c := w.Commit("file", "1")
	w.Git("tag", "-a", "v1", "-m", "annotated")
	w.Git("branch", "packed")
	w.Git("pack-refs", "--all")
	w.Git("symbolic-ref", "refs/heads/symbolic", "refs/heads/main")
	blob, err := r.WriteBlob(t.Context(), []byte("lease"))
	require.NoError(t, err)
	require.NoError(t, r.UpdateRefs(t.Context(), []git.RefChange{{Name: "refs/orch/e/lease", New: blob}}))

	for rev, want := range map[string]git.Commit{
		"HEAD": c, "main": c, "v1": c, "refs/tags/v1": c, "refs/heads/packed": c, "refs/heads/symbolic": c,
		string(c): c, string(c[:8]): c, "main^0": c, "refs/orch/e/lease": blob,
	} {
		got, err := r.Resolve(t.Context(), rev)
		require.NoError(t, err, rev)
		require.Equal(t, want, got, rev)
	}
	for _, rev := range []string{"", "none", "refs/heads/none", "-rf", "--all", "a..b", "main..packed", "HEAD:file", "x\ny", strings.Repeat("f", 40), "refs/heads/a b", "@{-1}"} {
		_, err := r.Resolve(t.Context(), rev)
		require.ErrorIs(t, err, git.ErrNoSuchRef, "%q", rev)
	}
}

// go-git knows no SHA-256, where git has to be asked, and is not to mind settings of worktrees.
func TestResolveInUnusualRepositories(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"sparse", "sha256"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			var args []string
			if kind == "sha256" {
				args = []string{"--object-format=sha256"}
			}
			w := newWorld(t, args...)
			c := w.Commit("a/file", "1", "b/file", "2")
			if kind == "sparse" {
				w.Git("sparse-checkout", "set", "a")
				require.Equal(t, "true", w.Git("config", "extensions.worktreeConfig"))
			}
			r := w.Open()
			require.Equal(t, w.Dir, r.WorkTree())
			got, err := r.Resolve(t.Context(), "refs/heads/main")
			require.NoError(t, err)
			require.Equal(t, c, got)
			require.NoError(t, r.UpdateRefs(t.Context(), []git.RefChange{{Name: "refs/heads/main", New: "", Old: c}}))
			_, err = r.Resolve(t.Context(), "refs/heads/main")
			require.ErrorIs(t, err, git.ErrNoSuchRef)
		})
	}
}

func TestUpdateRefs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one, two := w.Commit("file", "1"), w.Commit("file", "2")
	r := w.Open()
	const x, y, lease = "refs/heads/x", "refs/heads/y", "refs/orch/e/lease"
	require.NoError(t, r.UpdateRefs(t.Context(), []git.RefChange{{Name: x, New: one}, {Name: lease, New: one}}))
	w.Git("pack-refs", "--all")

	holds := git.Ref{Name: lease, Commit: one}
	refused := []struct {
		name    string
		changes []git.RefChange
		verify  []git.Ref
	}{
		{"stale old", []git.RefChange{{Name: x, New: two, Old: two}}, nil},
		{"create what is there", []git.RefChange{{Name: x, New: two}}, nil},
		{"create what is there with the same value", []git.RefChange{{Name: x, New: one}}, nil},
		{"delete with stale old", []git.RefChange{{Name: x, Old: two}}, nil},
		{"update what is gone", []git.RefChange{{Name: y, New: two, Old: one}}, nil},
		{"stale lease", []git.RefChange{{Name: x, New: two, Old: one}}, []git.Ref{{Name: lease, Commit: two}}},
		{"lease that must not be", []git.RefChange{{Name: x, New: two, Old: one}}, []git.Ref{{Name: lease}}},
		{"lease that is gone", []git.RefChange{{Name: x, New: two, Old: one}}, []git.Ref{{Name: y, Commit: one}}},
		{"one of two", []git.RefChange{{Name: y, New: two}, {Name: x, New: two, Old: two}}, []git.Ref{holds}},
	}
	for _, tt := range refused {
		require.ErrorIs(t, r.UpdateRefs(t.Context(), tt.changes, tt.verify...), git.ErrRefMoved, tt.name)
		refs, err := r.Refs(t.Context(), "refs/heads/")
		require.NoError(t, err)
		require.Equal(t, []git.Ref{{Name: "refs/heads/main", Commit: two}, {Name: x, Commit: one}}, refs, tt.name)
	}

	err := r.UpdateRefs(t.Context(), []git.RefChange{{Name: x, New: git.Commit(strings.Repeat("1", 40)), Old: one}})
	require.Error(t, err, "an object that is not here")
	require.NotErrorIs(t, err, git.ErrRefMoved)
	err = r.UpdateRefs(t.Context(), []git.RefChange{{Name: x + "/below", New: one}})
	require.Error(t, err, "a folder that is a reference")
	require.NotErrorIs(t, err, git.ErrRefMoved)

	for _, c := range []git.RefChange{
		{Name: x, New: two, Old: one}, {Name: x, New: one, Old: git.AnyOld}, {Name: y, New: one, Old: git.AnyOld},
		{Name: y, Old: one}, {Name: x, Old: git.AnyOld},
	} {
		require.NoError(t, r.UpdateRefs(t.Context(), []git.RefChange{c}, holds, git.Ref{Name: "refs/orch/none"}))
	}
	refs, err := r.Refs(t.Context(), "refs/")
	require.NoError(t, err)
	require.Equal(t, []git.Ref{{Name: "refs/heads/main", Commit: two}, {Name: lease, Commit: one}}, refs)
}

// Of many that move one reference from the same value, one wins each round.
func TestUpdateRefsRace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	base := w.Commit()
	r := w.Open()
	const ref, racers, rounds = "refs/heads/race", 4, 4
	require.NoError(t, r.UpdateRefs(t.Context(), []git.RefChange{{Name: ref, New: base}}))
	at := base
	for round := range rounds {
		var won sync.Map
		var group sync.WaitGroup
		next := make([]git.Commit, racers)
		for i := range racers {
			next[i] = git.Commit(w.Git("commit-tree", "main^{tree}", "-p", string(at), "-m", fmt.Sprint(round, i)))
			group.Go(func() {
				err := r.UpdateRefs(t.Context(), []git.RefChange{{Name: ref, New: next[i], Old: at}})
				won.Store(i, err)
			})
		}
		group.Wait()
		now, err := r.Resolve(t.Context(), ref)
		require.NoError(t, err)
		winners := 0
		for i := range racers {
			err, _ := won.Load(i)
			if err == nil {
				winners++
				require.Equal(t, next[i], now)
				continue
			}
			require.ErrorIs(t, err.(error), git.ErrRefMoved)
		}
		require.Equal(t, 1, winners)
		at = now
	}
}

func TestCheckedOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Commit("file", "1")
	linked := filepath.Join(filepath.Dir(w.Dir), "linked tree")
	w.Git("worktree", "add", "-q", "-b", "other", linked)
	w.Git("branch", "free")
	r := w.Open()
	for branch, want := range map[string]string{"refs/heads/main": w.Dir, "refs/heads/other": linked, "refs/heads/free": "", "refs/heads/none": ""} {
		at, ok, err := r.CheckedOut(branch)
		require.NoError(t, err)
		require.Equal(t, want, at.Path, branch)
		require.Equal(t, want != "", ok)
		if ok {
			require.FileExists(t, filepath.Join(at.GitDir, "index"))
		}
	}
	w.Git("clone", "-q", "--bare", ".", w.Dir+".git")
	w.Dir += ".git"
	_, ok, err := w.Open().CheckedOut("refs/heads/main")
	require.NoError(t, err)
	require.False(t, ok, "the HEAD of a bare repository is no checkout")
}

// TestCheckedOutWhileBusy: what a rebase or a bisect goes on with is checked out, though HEAD is detached, as it is for git.
func TestCheckedOutWhileBusy(t *testing.T) {
	t.Parallel()
	type step func(w world, dir string)
	git := func(args ...string) step {
		return func(w world, dir string) { _, _ = w.Try(append([]string{"-C", dir}, args...)...) } // a conflict is a failure
	}
	for name, begin := range map[string]step{
		"merge":       git("rebase", "-q", "main"),
		"interactive": git("-c", "sequence.editor=sed -i.bak s/pick/edit/", "rebase", "-q", "-i", "HEAD~1"),
		"apply":       git("rebase", "-q", "--apply", "main"),
		"update-refs": func(w world, dir string) {
			git("checkout", "-q", "--detach")(w, dir)
			git("-c", "sequence.editor=sed -i.bak s/pick/edit/", "rebase", "-q", "-i", "--update-refs", "HEAD~1", "above")(w, dir)
		},
		"bisect": func(w world, dir string) {
			git("bisect", "start", "HEAD", "HEAD~1")(w, dir)
			git("checkout", "-q", "--detach")(w, dir)
		},
	} {
		for place, linked := range map[string]bool{"the first work tree": false, "a linked one": true} {
			w := newWorld(t)
			w.Commit("file", "1")
			w.Git("switch", "-q", "-c", "topic")
			w.Commit("file", "topic")
			w.Git("switch", "-q", "-c", "above")
			w.Commit("other", "above")
			w.Git("switch", "-q", "main")
			w.Commit("file", "main")
			dir := w.Dir
			if linked {
				dir = filepath.Join(filepath.Dir(w.Dir), "linked")
				w.Git("worktree", "add", "-q", dir, "topic")
			} else {
				w.Git("switch", "-q", "topic")
			}
			begin(w, dir)
			head := w.Git("-C", dir, "rev-parse", "--abbrev-ref", "HEAD")
			require.Equal(t, "HEAD", head, "%s in %s: it is detached", name, place)
			_, err := w.Try("branch", "-f", "topic", "main")
			require.Error(t, err, "%s in %s: git refuses it too", name, place)
			at, ok, err := w.Open().CheckedOut("refs/heads/topic")
			require.NoError(t, err)
			require.True(t, ok, "%s in %s", name, place)
			require.Equal(t, dir, at.Path)
			require.NotEmpty(t, at.Busy)
			_, ok, err = w.Open().CheckedOut("refs/heads/main")
			require.NoError(t, err)
			require.Equal(t, linked, ok, "%s in %s", name, place)
		}
	}
}

func TestErrorsNameWhatTheyAreAbout(t *testing.T) {
	t.Parallel()
	e := &git.CheckedOutError{Branch: "refs/heads/epic/e", Path: "/w"}
	require.EqualError(t, e, "epic/e is checked out in /w")
	e.Reason = "has changes"
	require.EqualError(t, e, "epic/e is checked out in /w, which has changes")
	w := newWorld(t)
	_, err := w.Open().Resolve(t.Context(), "nowhere")
	require.ErrorContains(t, err, "nowhere")
	require.NoError(t, os.RemoveAll(w.Dir))
}

// TestStaleLock: a lock that a git which was killed, or lost its folders, has left on a reference of
// orch's own or on the branch of an epic does not stand in the way for ever; one on a person's is theirs,
// and so is one on the branch of an epic while a git works in the repository.
func TestStaleLock(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r, c := w.Open(), w.Commit("file", "1")
	lock := func(name string, age time.Duration) string {
		path := filepath.Join(r.CommonDir(), filepath.FromSlash(name)+".lock")
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, nil, 0o600))
		old := time.Now().Add(-age)
		require.NoError(t, os.Chtimes(path, old, old))
		return path
	}
	update := func(name string) error {
		return r.UpdateRefs(t.Context(), []git.RefChange{{Name: name, New: c}})
	}
	for name, age := range map[string]time.Duration{
		"refs/orch/e/lease":   20 * time.Second,
		"refs/heads/epic/e-1": 20 * time.Second, // with no git at work
		"refs/heads/epic/e-2": 2 * time.Minute,
	} {
		left := lock(name, age)
		require.NoError(t, update(name), name)
		require.NoFileExists(t, left)
	}
	reader, writer, err := os.Pipe()
	require.NoError(t, err)
	busy := exec.CommandContext(t.Context(), "git", "cat-file", "--batch")
	busy.Dir, busy.Stdin = r.WorkTree(), reader
	require.NoError(t, busy.Start())
	theirs, held := lock("refs/heads/theirs", 2*time.Minute), lock("refs/heads/epic/e-3", 20*time.Second)
	refused := make(chan error)
	for _, name := range []string{"refs/heads/theirs", "refs/heads/epic/e-3"} { // each waits for its lock
		go func() { refused <- update(name) }()
	}
	require.Error(t, <-refused)
	require.Error(t, <-refused)
	require.NoError(t, errors.Join(writer.Close(), reader.Close(), busy.Wait()))
	require.FileExists(t, theirs)
	require.FileExists(t, held)
}
