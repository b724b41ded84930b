package shadow_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/beadsorch/orch/orchestrator/git"
	"github.com/beadsorch/orch/orchestrator/sandbox"
	"github.com/beadsorch/orch/orchestrator/sandbox/shadow"
)

// unchanged are the lines of bytesOf that a return may not change: all but new packs, the attempt's own branch and its worktree.
func unchanged(t *testing.T, a *attempt) string {
	t.Helper()
	var kept []string
	for line := range strings.Lines(bytesOf(t, a.common())) {
		if strings.Contains(line, "/objects/pack") || strings.Contains(line, branch) || strings.Contains(line, "/worktrees/agent-1") || strings.Contains(line, "refs/heads/orch") {
			continue
		}
		kept = append(kept, strings.TrimSpace(line))
	}
	return strings.Join(kept, "\n")
}

// end is the end of an attempt: the worktree is the real repository's again.
func (a *attempt) end(limit int64) (shadow.Returned, error) {
	a.T.Helper()
	r, err := a.shadow.Return(a.T.Context(), limit)
	require.NoError(a.T, a.shadow.PointBack(a.worktree))
	return r, err
}

// TestReturn: what was committed is in the real repository, which has nothing else of the shadow's.
func TestReturn(t *testing.T) {
	t.Parallel()
	eachLevel(t, func(t *testing.T, a *attempt) {
		before := unchanged(t, a)
		a.must(`echo two >>file; git commit -qam two; git gc -q; echo three >three; git add three; git commit -qm three
			git branch mine; git tag t; echo x >>file; git stash -q; echo staged >staged; git add staged; git config core.fsmonitor "touch x"`)
		head := a.must("git -c core.fsmonitor= rev-parse HEAD")
		r, err := a.end(1 << 20)
		require.NoError(t, err)
		require.Equal(t, strings.TrimSpace(head), string(r.Branch))
		require.Equal(t, []string{"refs/heads/mine", "refs/stash", "refs/tags/t"}, r.Dropped)
		require.NoError(t, a.shadow.Remove())
		require.Equal(t, before, unchanged(t, a))
		require.Equal(t, string(r.Branch), a.Git("rev-parse", branch))
		require.Equal(t, "one\ntwo", a.Git("show", branch+":file"))
		require.Empty(t, a.Git("fsck", "--strict", "--no-dangling"))
		require.Equal(t, "A  staged", a.Git("-C", a.worktree, "status", "--porcelain"))
		require.Equal(t, strings.TrimPrefix(branch, "refs/heads/"), a.Git("-C", a.worktree, "branch", "--show-current"))

		a.begin() // the next turn of the same attempt
		require.Equal(t, "A  staged\n", a.must("git status --porcelain"))
		a.must("git commit -qm four")
		r, err = a.end(0)
		require.NoError(t, err)
		require.Equal(t, "staged", a.Git("show", branch+":staged"))
		require.NoError(t, a.shadow.Remove())
	})
}

// TestReturnNothing: an attempt that commits nothing changes nothing.
func TestReturnNothing(t *testing.T) {
	t.Parallel()
	eachLevel(t, func(t *testing.T, a *attempt) {
		before := bytesOf(t, filepath.Join(a.common(), "objects")) + bytesOf(t, filepath.Join(a.common(), "refs"))
		a.must("git status; echo x >new")
		r, err := a.end(0)
		require.NoError(t, err)
		require.Equal(t, a.Git("rev-parse", "main"), string(r.Branch))
		require.Empty(t, r.Dropped)
		require.Equal(t, before, bytesOf(t, filepath.Join(a.common(), "objects"))+bytesOf(t, filepath.Join(a.common(), "refs")))
	})
}

// TestReturnElsewhere: what was committed beside the branch is there too, where HEAD has been.
func TestReturnElsewhere(t *testing.T) {
	t.Parallel()
	eachLevel(t, func(t *testing.T, a *attempt) {
		first := strings.TrimSpace(a.must("git checkout -q --detach; echo a >a; git add a; git commit -qm a; git rev-parse HEAD"))
		second := strings.TrimSpace(a.must("git switch -q -c other main; echo b >b; git add b; git commit -qm b; git rev-parse HEAD"))
		r, err := a.end(0)
		require.NoError(t, err)
		require.Equal(t, a.Git("rev-parse", "main"), string(r.Branch))
		require.Equal(t, []string{"refs/heads/other"}, r.Dropped)
		require.Contains(t, r.Kept, git.Commit(first))
		require.Contains(t, r.Kept, git.Commit(second))
		require.Equal(t, "a", a.Git("show", first+":a"))
		require.Equal(t, second, a.Git("-C", a.worktree, "rev-parse", "HEAD"))
		require.Empty(t, a.Git("-C", a.worktree, "branch", "--show-current"))
		require.NoError(t, a.shadow.Remove())
	})
}

// TestReturnRefuses what git does not make, and leaves it where it is.
func TestReturnRefuses(t *testing.T) {
	t.Parallel()
	foreign := "printf '%040d' 7"
	for name, script := range map[string]string{
		"a branch that is a link":        `rm -f "$ref"; mkdir -p "$(dirname "$ref")"; ln -s /etc/hostname "$ref"`,
		"a branch that is a pipe":        `rm -f "$ref"; mkdir -p "$(dirname "$ref")"; mkfifo "$ref"`,
		"a branch that is a folder":      `rm -f "$ref"; mkdir -p "$ref"`,
		"a branch with 41 digits":        `mkdir -p "$(dirname "$ref")"; printf '%041d' 7 >"$ref"`,
		"a branch that is symbolic":      `mkdir -p "$(dirname "$ref")"; echo "ref: refs/heads/main" >"$ref"`,
		"a branch to an object not here": `mkdir -p "$(dirname "$ref")"; ` + foreign + ` >"$ref"`,
		"a branch to a file":             `b=$(git rev-parse HEAD:file); mkdir -p "$(dirname "$ref")"; echo "$b" >"$ref"`,
		"references that are a pipe":     `rm "$common/packed-refs"; mkfifo "$common/packed-refs"`,
		"objects behind a link":          `git commit -q --allow-empty -m x; mv "$common/objects/pack" "$TMPDIR/pack"; ln -s "$TMPDIR/pack" "$common/objects/pack"`,
		"an object that is cut":          `echo new >file; git commit -qam x; f=$common/objects/$(git rev-parse HEAD:file | sed 's,^..,&/,'); chmod u+w "$f"; : >"$f"`,
		"an object with another content": `echo new >file; git commit -qam x; f=$common/objects/$(git rev-parse HEAD:file | sed 's,^..,&/,'); g=$common/objects/$(echo evil | git hash-object -w --stdin | sed 's,^..,&/,'); chmod u+w "$f"; cat "$g" >"$f"`,
		"a .git in a tree":               `b=$(git rev-parse HEAD:file); t=$(printf "100644 blob $b\t.git" | git -c core.protectHFS=false mktree); c=$(git commit-tree -p HEAD -m x "$t"); mkdir -p "$(dirname "$ref")"; echo "$c" >"$ref"`,
		"more than the limit":            `head -c 3000000 /dev/urandom >big; git add big; git commit -qm big`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if testing.Short() {
				t.Skip("many processes of git")
			}
			a := newAttempt(t, sandbox.Landlock)
			before, was := unchanged(t, a), a.Git("rev-parse", branch)
			a.must(`common=$(git rev-parse --git-common-dir); ref=$common/` + branch + "; " + script)
			_, err := a.end(2_000_000)
			var refused *shadow.RefusedError
			require.ErrorAs(t, err, &refused)
			require.DirExists(t, refused.Dir)
			require.Equal(t, before, unchanged(t, a))
			require.Equal(t, was, a.Git("rev-parse", branch))
			require.Empty(t, a.Git("fsck", "--strict", "--no-dangling"))
		})
	}
}

// TestReturnBorrowsNowhereElse: what a shadow says it borrows from is not read.
func TestReturnBorrowsNowhereElse(t *testing.T) {
	t.Parallel()
	a := newAttempt(t, sandbox.Landlock)
	other := newAttempt(t, sandbox.Landlock)
	secret := other.Commit("secret", "secret\n")
	common := a.shadow.Dir
	require.NoError(t, os.WriteFile(filepath.Join(common, "objects/info/alternates"), []byte(filepath.Join(other.common(), "objects")+"\n"), 0o600))
	require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(common, branch)), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(common, branch), []byte(string(secret)+"\n"), 0o600))
	_, err := a.end(0)
	var refused *shadow.RefusedError
	require.ErrorAs(t, err, &refused)
	_, err = a.Try("cat-file", "-e", string(secret))
	require.Error(t, err)
}

// TestReturnAdmin: files of the worktree's administration that are none are not followed.
func TestReturnAdmin(t *testing.T) {
	t.Parallel()
	a := newAttempt(t, sandbox.Landlock)
	admin := filepath.Join(a.shadow.Dir, "worktrees/agent-1")
	for _, name := range []string{"index", "HEAD"} {
		require.NoError(t, os.Remove(filepath.Join(admin, name)))
	}
	require.NoError(t, os.Symlink(filepath.Join(a.Dir, "file"), filepath.Join(admin, "index")))
	require.NoError(t, unix.Mkfifo(filepath.Join(admin, "HEAD"), 0o600))
	_, err := a.end(0)
	require.NoError(t, err)
	require.Empty(t, a.Git("-C", a.worktree, "status", "--porcelain"))
	require.Equal(t, strings.TrimPrefix(branch, "refs/heads/"), a.Git("-C", a.worktree, "branch", "--show-current"))
}

// TestReturnIndex: an index whose objects are not there is not taken back.
func TestReturnIndex(t *testing.T) {
	t.Parallel()
	a := newAttempt(t, sandbox.Landlock)
	a.must(`echo staged >staged; git add staged; rm -f "$(git rev-parse --git-common-dir)"/objects/$(git rev-parse :staged | sed 's,^..,&/,')`)
	_, err := a.end(0)
	require.NoError(t, err)
	require.Equal(t, "?? staged", a.Git("-C", a.worktree, "status", "--porcelain"))
}
