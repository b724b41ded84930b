package git_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/git"
	"github.com/beadsorch/orch/orchestrator/proc"
)

func TestOpenFindsTheMainWorkTree(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Commit("sub/file", "1")
	linked := w.Dir + "-linked"
	w.Git("worktree", "add", "-q", linked)
	w.Git("clone", "-q", "--bare", ".", w.Dir+"-bare.git")
	link := w.Dir + "-symlink"
	require.NoError(t, os.Symlink(w.Dir, link))
	separate := w.Dir + "-separate"
	w.Git("clone", "-q", "--separate-git-dir", separate+".git", ".", separate)
	super := newWorld(t)
	super.Commit("file", "1")
	super.Git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", w.Dir, "module")

	tests := []struct{ name, dir, common, tree string }{
		{"checkout", w.Dir, w.Dir + "/.git", w.Dir},
		{"below", w.Dir + "/sub", w.Dir + "/.git", w.Dir},
		{"git directory", w.Dir + "/.git", w.Dir + "/.git", w.Dir},
		{"linked worktree", linked, w.Dir + "/.git", w.Dir},
		{"symlink", link, w.Dir + "/.git", w.Dir},
		{"bare", w.Dir + "-bare.git", w.Dir + "-bare.git", ""},
		{"separate", separate, separate + ".git", separate},
		{"submodule", super.Dir + "/module", super.Dir + "/.git/modules/module", super.Dir + "/module"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, err := git.Open(t.Context(), proc.New(proc.Options{}).Run, tt.dir, w.Env)
			require.NoError(t, err)
			require.Equal(t, tt.common, r.CommonDir())
			require.Equal(t, tt.tree, r.WorkTree())
		})
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	run := proc.New(proc.Options{}).Run
	w := newWorld(t)
	none := t.TempDir()

	_, err := git.Open(t.Context(), run, none, append(w.Env, "GIT_CEILING_DIRECTORIES="+filepath.Dir(none)))
	require.ErrorIs(t, err, git.ErrNotRepository)

	var unsupported *git.UnsupportedError
	for _, version := range []string{"git version 2.37.9", "git version 1.8.3.1", "no git at all"} {
		bin := t.TempDir()
		script := "#!/bin/sh\necho " + version + "\n"
		require.NoError(t, os.WriteFile(filepath.Join(bin, "git"), []byte(script), 0o755))
		_, err = git.Open(t.Context(), run, w.Dir, []string{"PATH=" + bin + ":/usr/bin:/bin"})
		require.ErrorAs(t, err, &unsupported, version)
		require.Contains(t, unsupported.Fix, "2.38")
	}
	_, err = git.Open(t.Context(), run, w.Dir, []string{"PATH=" + none})
	require.ErrorAs(t, err, &unsupported)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = git.Open(ctx, run, w.Dir, w.Env)
	require.ErrorIs(t, err, context.Canceled)

	w.Git("config", "core.repositoryFormatVersion", "1")
	w.Git("config", "extensions.fromTheFuture", "true")
	_, err = git.Open(t.Context(), run, w.Dir, w.Env)
	require.ErrorAs(t, err, &unsupported)
}

func TestOpenRefusesWhatGitCannotRead(t *testing.T) {
	t.Parallel()
	run := proc.New(proc.Options{}).Run
	w := newWorld(t)
	broken := filepath.Join(t.TempDir(), "broken")
	require.NoError(t, os.WriteFile(broken, []byte("[core\n"), 0o600))
	var refused *git.UnsupportedError
	_, err := git.Open(t.Context(), run, w.Dir, append(w.Env, "GIT_CONFIG_GLOBAL="+broken))
	require.ErrorAs(t, err, &refused, "the person's")
	require.Contains(t, refused.Reason, broken)
	require.NotContains(t, refused.Fix, "2.38")

	for _, name := range []string{"new\nline", "\nfirst", "last\n"} {
		w.Dir = filepath.Join(t.TempDir(), name, "repo")
		require.NoError(t, os.MkdirAll(w.Dir, 0o700))
		w.Git("init", "-q")
		_, err := git.Open(t.Context(), run, w.Dir, w.Env)
		require.ErrorAs(t, err, &refused, "%q", name)
		require.Contains(t, refused.Reason, "line break")
	}

	w = newWorld(t)
	require.NoError(t, os.WriteFile(filepath.Join(w.Dir, ".git", "config"), []byte("[core\n"), 0o600))
	_, err = git.Open(t.Context(), run, w.Dir, w.Env)
	require.ErrorAs(t, err, &refused, "the repository's")
	require.Contains(t, refused.Reason, "config")

	w = newWorld(t)
	require.NoError(t, os.Rename(filepath.Join(w.Dir, ".git", "objects"), filepath.Join(w.Dir, "gone")))
	below := filepath.Join(w.Dir, "below")
	require.NoError(t, os.Mkdir(below, 0o700))
	_, err = git.Open(t.Context(), run, below, w.Env)
	require.ErrorAs(t, err, &refused, "damaged")
	require.Contains(t, refused.Reason, filepath.Join(w.Dir, ".git"))
}

// The environment of the caller may point git anywhere; hooks and translations come with it.
func TestDoIgnoresWhatWouldRedirectIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.Commit("file", "1")
	other := newWorld(t)
	other.Commit("file", "other")
	ran := filepath.Join(t.TempDir(), "ran")
	hook := "#!/bin/sh\ntouch " + ran + "\n"
	require.NoError(t, os.WriteFile(filepath.Join(w.Dir, ".git/hooks/reference-transaction"), []byte(hook), 0o755))
	w.Env = append(w.Env, "GIT_DIR="+other.Dir+"/.git", "GIT_INDEX_FILE=/nowhere", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=alias.version",
		"GIT_CONFIG_VALUE_0=!false", "LC_ALL=de_DE.UTF-8", "LANGUAGE=de")

	r := w.Open()
	require.Equal(t, w.Dir, r.WorkTree())
	head, err := r.Resolve(t.Context(), "HEAD")
	require.NoError(t, err)
	require.Equal(t, c, head)
	require.NoError(t, r.UpdateRefs(t.Context(), []git.RefChange{{Name: "refs/heads/x", New: c}}))
	require.NoFileExists(t, ran)

	_, err = r.Do(t.Context(), git.Call{Args: []string{"status"}})
	require.ErrorContains(t, err, "must be run in a work tree")
	status, err := r.Do(t.Context(), git.Call{Args: []string{"status", "--porcelain"}, WorkTree: w.Dir, Index: w.Dir + "/.git/index"})
	require.NoError(t, err)
	require.Empty(t, string(status.Stdout))
}

func TestIdentityIsTheUsersWhereThereIsOne(t *testing.T) {
	t.Parallel()
	ident := func(w world) string {
		out, err := w.Open().Out(t.Context(), "var", "GIT_COMMITTER_IDENT")
		require.NoError(t, err)
		return out[:strings.Index(out, ">")+1]
	}
	w := newWorld(t)
	require.Equal(t, "A Person <person@example.com>", ident(w))
	w.Git("config", "--unset", "user.email")
	require.Equal(t, "A Person <orch@localhost>", ident(w))
	w.Git("config", "--unset", "user.name")
	require.Equal(t, "orch <orch@localhost>", ident(w))
}

// A half-made admin directory makes git branch and git worktree list fail everywhere
// (as measured on git 2.39); a repository in that state can still be opened and read.
func TestOpenInARepositoryWithAHalfMadeWorktree(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.Commit("file", "1")
	admin := filepath.Join(w.Dir, ".git/worktrees/half")
	require.NoError(t, os.MkdirAll(admin, 0o755))
	for name, content := range map[string]string{"commondir": "", "locked": "initializing"} {
		require.NoError(t, os.WriteFile(filepath.Join(admin, name), []byte(content), 0o644))
	}
	r := w.Open()
	head, err := r.Resolve(t.Context(), "HEAD")
	require.NoError(t, err)
	require.Equal(t, c, head)
	_, out, err := r.CheckedOut("refs/heads/x")
	require.NoError(t, err)
	require.False(t, out)
}
