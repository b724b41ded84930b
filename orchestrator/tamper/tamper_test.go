package tamper_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/command"
	"github.com/beadsorch/orch/orchestrator/git"
	"github.com/beadsorch/orch/orchestrator/git/gittest"
	"github.com/beadsorch/orch/orchestrator/private"
	"github.com/beadsorch/orch/orchestrator/proc"
	"github.com/beadsorch/orch/orchestrator/tamper"
)

// world is a repository that is guarded.
type world struct {
	gittest.World
	common string
	dir    string
	repo   *git.Repo
}

func newWorld(t *testing.T) world {
	t.Helper()
	w := world{World: gittest.New(t, os.Getenv("PATH"))}
	w.Commit("a", "a\n")
	w.common = filepath.Join(w.Dir, ".git")
	w.dir = filepath.Join(w.common, "orch", "epics", "e")
	w.write("hooks/pre-commit", "#!/bin/sh\nexit 0\n", 0o755)
	w.write("info/attributes", "*.bin -diff\n", 0o644)
	w.Git("config", "alias.st", "status")
	w.Git("update-ref", "refs/orch/e/attic/t/1", "HEAD")
	w.repo = w.Open()
	return w
}

func (w world) write(path, text string, mode os.FileMode) {
	w.T.Helper()
	path = filepath.Join(w.common, path)
	require.NoError(w.T, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(w.T, os.WriteFile(path, []byte(text), mode))
	require.NoError(w.T, os.Chmod(path, mode))
}

func (w world) guard() *tamper.Guard {
	w.T.Helper()
	files, err := private.Open(w.common)
	require.NoError(w.T, err)
	w.T.Cleanup(func() { files.Close() })
	return tamper.New(tamper.Options{Repo: w.repo, Files: files, Dir: w.dir, Attic: "refs/orch/e/attic/", Misplaced: misplaced, Now: time.Now})
}

// misplaced knows one attempt at one task, of one epic.
func misplaced(ref string) bool {
	return strings.HasPrefix(ref, "refs/heads/orch/e/") && ref != "refs/heads/orch/e/t/1" || strings.HasPrefix(ref, "refs/orch/e/attic/") && ref != "refs/orch/e/attic/t/1"
}

// TestMisplaced moves references away that are where those of attempts are to be, and keeps what they lead to.
func TestMisplaced(t *testing.T) {
	for _, ref := range []string{"refs/heads/orch/e/t", "refs/heads/orch/e/u/1/x", "refs/orch/e/attic/u"} {
		w := newWorld(t)
		g := w.guard()
		_, _, err := g.Begin(t.Context(), "", nil)
		require.NoError(t, err)
		w.Git("update-ref", ref, "HEAD")
		found, err := g.Check(t.Context(), nil)
		require.NoError(t, err)
		require.Len(t, found, 1)
		require.Equal(t, ref, found[0].Path)
		require.True(t, found[0].Restored)
		require.Empty(t, w.Git("for-each-ref", ref))
		require.Contains(t, w.Git("for-each-ref", "--format=%(objectname)", "refs/orch/e/aside"), w.Git("rev-parse", "HEAD"))
		found, err = g.Check(t.Context(), nil)
		require.NoError(t, err)
		require.Empty(t, found)
	}
}

// guarded is how the files with one right value are, by path: mode, and content or target.
func (w world) guarded() map[string]string {
	w.T.Helper()
	all := map[string]string{}
	for _, top := range []string{"config", "config.worktree", "hooks", "info", "objects/info", "HEAD", "shallow", "commondir", "modules"} {
		err := filepath.Walk(filepath.Join(w.common, top), func(path string, info os.FileInfo, err error) error {
			if err != nil || info.IsDir() {
				return nil
			}
			text, _ := os.Readlink(path)
			if info.Mode().IsRegular() {
				b, err := os.ReadFile(path)
				require.NoError(w.T, err)
				text = string(b)
			}
			all[path] = info.Mode().String() + " " + text
			return nil
		})
		require.NoError(w.T, err)
	}
	return all
}

// TestPutBack plants one thing at a time; each is found, named, and put back to the byte.
func TestPutBack(t *testing.T) {
	t.Parallel()
	plain := func(args ...string) func(w world) { return func(w world) { w.Git(args...) } }
	for _, c := range []struct {
		name, path string
		plant      func(w world)
	}{
		{"core.bare", "config", plain("config", "core.bare", "true")},
		{"filter", "config", plain("config", "filter.e.clean", "evil")},
		{"merge driver", "config", plain("config", "merge.e.driver", "evil")},
		{"fsmonitor", "config", plain("config", "core.fsmonitor", "evil")},
		{"hooksPath", "config", plain("config", "core.hooksPath", "/tmp")},
		{"alias", "config", plain("config", "alias.st", "!evil")},
		{"alias removed", "config", plain("config", "--unset", "alias.st")},
		{"include", "config", plain("config", "include.path", "/tmp/evil")},
		{"conditional include", "config", plain("config", "includeIf.gitdir:/.path", "/tmp/evil")},
		{"insteadOf", "config", plain("config", "url.ext::evil.insteadOf", "https://")},
		{"remote helper", "config", plain("config", "remote.new.url", "ext::sh -c evil")},
		{"promisor", "config", plain("config", "remote.e.promisor", "true")},
		{"extension", "config", func(w world) {
			w.Git("config", "core.repositoryFormatVersion", "1")
			w.Git("config", "extensions.unheardOf", "true")
		}},
		{"broken config", "config", func(w world) { w.write("config", "[core", 0o644) }},
		{"config removed", "config", func(w world) { require.NoError(w.T, os.Remove(filepath.Join(w.common, "config"))) }},
		{"config is a FIFO", "config", func(w world) {
			require.NoError(w.T, os.Remove(filepath.Join(w.common, "config")))
			require.NoError(w.T, syscall.Mkfifo(filepath.Join(w.common, "config"), 0o600))
		}},
		{"config is a link", "config", func(w world) {
			require.NoError(w.T, os.Rename(filepath.Join(w.common, "config"), filepath.Join(w.common, "c")))
			require.NoError(w.T, os.Symlink("c", filepath.Join(w.common, "config")))
		}},
		{"config.worktree", "config.worktree", func(w world) { w.write("config.worktree", "[core]\n\tfsmonitor = evil\n", 0o644) }},
		{"new hook", "hooks/post-commit", func(w world) { w.write("hooks/post-commit", "#!/bin/sh\nevil\n", 0o755) }},
		{"changed hook", "hooks/pre-commit", func(w world) { w.write("hooks/pre-commit", "#!/bin/sh\nevil\n", 0o755) }},
		{"hook disabled", "hooks/pre-commit", func(w world) { require.NoError(w.T, os.Chmod(filepath.Join(w.common, "hooks/pre-commit"), 0o644)) }},
		{"hook removed", "hooks/pre-commit", func(w world) { require.NoError(w.T, os.Remove(filepath.Join(w.common, "hooks/pre-commit"))) }},
		{"hook is a link", "hooks/pre-push", func(w world) {
			require.NoError(w.T, os.Symlink("/bin/false", filepath.Join(w.common, "hooks/pre-push")))
		}},
		{"hooks removed", "hooks/pre-commit", func(w world) { require.NoError(w.T, os.RemoveAll(filepath.Join(w.common, "hooks"))) }},
		{"attributes", "info/attributes", func(w world) { w.write("info/attributes", "* filter=e\n", 0o644) }},
		{"grafts", "info/grafts", func(w world) { w.write("info/grafts", "x\n", 0o644) }},
		{"exclude", "info/exclude", func(w world) { w.write("info/exclude", "*\n", 0o644) }},
		{"alternates", "objects/info/alternates", func(w world) { w.write("objects/info/alternates", "/tmp\n", 0o644) }},
		{"shallow", "shallow", func(w world) { w.write("shallow", string(w.Head())+"\n", 0o644) }},
		{"HEAD is nothing", "HEAD", func(w world) { w.write("HEAD", "ref: /etc/passwd\n", 0o644) }},
		{"HEAD is gone", "HEAD", func(w world) { require.NoError(w.T, os.Remove(filepath.Join(w.common, "HEAD"))) }},
		{"commondir", "commondir", func(w world) { w.write("commondir", "/tmp/evil\n", 0o644) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			g := w.guard()
			found, digest, err := g.Begin(t.Context(), "", nil)
			require.NoError(t, err)
			require.Empty(t, found)
			require.NotEmpty(t, digest)
			before := w.guarded()
			c.plant(w)
			var told []tamper.Change
			refuse := errors.New("not now")
			_, err = g.Check(t.Context(), func([]tamper.Change) error { return refuse })
			require.ErrorIs(t, err, refuse)
			planted := w.guarded()
			require.NotEqual(t, before, planted, "nothing is put back that was not said")
			found, err = g.Check(t.Context(), func(all []tamper.Change) error {
				told = all
				require.Equal(t, planted, w.guarded(), "said before it is done")
				return nil
			})
			require.NoError(t, err)
			require.Equal(t, told, found)
			var paths []string
			for _, f := range found {
				paths = append(paths, f.Path)
				require.True(t, f.Restored, f)
			}
			require.Contains(t, paths, c.path)
			after := w.guarded()
			require.Equal(t, before, after)
			found, err = g.Check(t.Context(), nil)
			require.NoError(t, err)
			require.Empty(t, found, "said once")
		})
		t.Run(c.name+", and the run killed", func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			_, digest, err := w.guard().Begin(t.Context(), "", nil)
			require.NoError(t, err)
			before := w.guarded()
			c.plant(w)
			found, _, err := w.guard().Begin(t.Context(), digest, nil)
			require.NoError(t, err)
			require.NotEmpty(t, found)
			require.True(t, found[0].Restored)
			require.Equal(t, before, w.guarded())
		})
	}
}

// TestPersonsWork holds that what a person does while a run goes is neither undone nor noise.
func TestPersonsWork(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	g := w.guard()
	_, _, err := g.Begin(t.Context(), "", nil)
	require.NoError(t, err)
	w.Commit("b", "b\n")
	w.Git("tag", "v1")
	w.Git("switch", "-q", "-c", "topic")
	w.Commit("c", "c\n")
	w.Git("switch", "-q", "main")
	w.Git("merge", "-q", "topic")
	w.Git("branch", "--set-upstream-to", "topic")
	w.Write("a", "changed\n")
	w.Git("stash")
	found, err := g.Check(t.Context(), nil)
	require.NoError(t, err)
	require.Empty(t, found)

	w.Git("config", "user.name", "Another")
	w.Git("config", "remote.origin.url", "https://example.com/x.git")
	found, err = g.Check(t.Context(), nil)
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.False(t, found[0].Restored)
	require.Contains(t, found[0].What, "user.name")
	require.Equal(t, "Another", w.Git("config", "user.name"))

	w.Git("config", "user.name", "A Third")
	w.Git("config", "core.hooksPath", "/tmp/evil")
	found, err = g.Check(t.Context(), nil)
	require.NoError(t, err)
	require.Len(t, found, 2)
	require.True(t, found[0].Restored)
	require.Contains(t, found[1].String(), "user.name; left as it is")
	require.Equal(t, "A Third", w.Git("config", "user.name"), "the person's own stays")
	require.NotContains(t, w.Git("config", "--list"), "evil")
	text, err := os.ReadFile(found[0].Kept)
	require.NoError(t, err)
	require.Contains(t, string(text), "evil")
}

// TestSettings has each key said that has changed, with what was done about it.
func TestSettings(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name       string
		set        []string
		back, left string // the keys, as they are said
	}{
		{"identity and a helper", []string{"user.email=evil@x", "branch.main.pushRemote=ext::evil"}, "branch.main.pushremote", "user.email"},
		{"a program among others", []string{"user.email=evil@x", "user.name=Evil", "core.fsmonitor=/x"}, "core.fsmonitor", "user.email, user.name"},
		{"a key to sign with", []string{"user.signingkey=B", "user.email=evil@x"}, "user.signingkey", "user.email"},
		{"an upstream changed", []string{"branch.main.remote=other", "branch.main.merge=refs/heads/x"}, "branch.main.remote", "branch.main.merge"},
		{"an upstream that is a place", []string{"branch.topic.remote=https://evil/x", "branch.topic.merge=refs/heads/x"}, "branch.topic.remote", "branch.topic.merge"},
		{"a new upstream", []string{"branch.topic.remote=other", "branch.topic.merge=refs/heads/x"}, "", "branch.topic.merge, branch.topic.remote"},
		{"where a remote is pushed to", []string{"remote.origin.pushurl=https://evil/x"}, "remote.origin.pushurl", ""},
		{"where all is pushed to", []string{"remote.pushDefault=evil"}, "remote.pushdefault", ""},
		{"large files", []string{"lfs.url=https://evil/x", "lfs.concurrenttransfers=3"}, "lfs.url", "lfs.concurrenttransfers"},
		{"another place for all", []string{"url.https://evil/.insteadOf=https://"}, "url.https://evil/.insteadof", ""},
		{"truths that are none", []string{"branch.autosetupmerge=x", "color.branch=nonsense", "status.short=maybe", "user.name=Another"},
			"branch.autosetupmerge (with which git fails), color.branch (with which git fails), status.short (with which git fails)", "user.name"},
		{"values that are unknown", []string{"merge.conflictstyle=q", "push.default=q", "core.abbrev=-3"},
			"core.abbrev (with which git fails), merge.conflictstyle (with which git fails), push.default (with which git fails)", ""},
		{"values that are known", []string{"color.branch=always", "merge.conflictstyle=diff3", "pull.rebase=it's! fine"}, "", "color.branch, merge.conflictstyle, pull.rebase"},
		{"files that do not end", []string{"blame.ignorerevsfile=/dev/zero", "diff.orderfile=/dev/zero"}, "blame.ignorerevsfile, diff.orderfile", ""},
		{"of an editor", []string{"branch.topic.vscode-merge-base=origin/main"}, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			for _, key := range []string{"branch.main.remote=origin", "branch.main.merge=refs/heads/main", "remote.origin.url=https://example.com/a", "remote.other.url=https://example.com/b"} {
				name, value, _ := strings.Cut(key, "=")
				w.Git("config", name, value)
			}
			g := w.guard()
			_, _, err := g.Begin(t.Context(), "", nil)
			require.NoError(t, err)
			for _, key := range tt.set {
				name, value, _ := strings.Cut(key, "=")
				w.Git("config", "--file", ".git/config", name, value) // which reads no other setting
			}
			var want, got, before []string
			if tt.back != "" {
				want = append(want, tt.back+" true")
			}
			if tt.left != "" {
				want = append(want, tt.left+" false")
			}
			found, err := g.Check(t.Context(), func(all []tamper.Change) error {
				for _, c := range all {
					before = append(before, c.String())
				}
				return nil
			})
			require.NoError(t, err)
			for n, c := range found {
				got = append(got, strings.TrimPrefix(c.What, "was changed: ")+" "+strconv.FormatBool(c.Restored))
				require.Equal(t, before[n], c.String())
			}
			require.Equal(t, want, got)
			set := strings.ToLower(w.Git("config", "--list"))
			for _, key := range tt.set {
				name, value, _ := strings.Cut(key, "=")
				if strings.Contains(strings.ToLower(tt.back), strings.ToLower(name)) {
					require.NotContains(t, set, strings.ToLower(name)+"="+value)
				} else {
					require.Equal(t, value, w.Git("config", name))
				}
			}
			found, err = g.Check(t.Context(), nil)
			require.NoError(t, err)
			require.Empty(t, found, "each once")
		})
	}
}

// TestValueThatIsMissing: a name alone is true to git, or nothing that it can go by.
func TestValueThatIsMissing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	config, err := os.ReadFile(filepath.Join(w.common, "config"))
	require.NoError(t, err)
	w.write("config", string(config)+"[core]\n\tignorecase\n", 0o644)
	g := w.guard()
	_, _, err = g.Begin(t.Context(), "", nil)
	require.NoError(t, err)
	w.write("config", string(config)+"[core]\n\tignorecase =\n[user]\n\tname\n", 0o644)
	found, err := g.Check(t.Context(), nil)
	require.NoError(t, err)
	require.Len(t, found, 2)
	require.Equal(t, "was changed: user.name (with which git fails)", found[0].What)
	require.Equal(t, "was changed: core.ignorecase", found[1].What)
	require.NotEmpty(t, w.Git("status", "--short", "--branch"))
}

// TestOngoing: what git would go on with, and nobody has begun, is put aside; a person's own stays.
func TestOngoing(t *testing.T) {
	t.Parallel()
	begin := func(t *testing.T) (world, *tamper.Guard) {
		w := newWorld(t)
		w.Git("switch", "-q", "-c", "topic")
		w.Commit("a", "theirs\n")
		w.Git("switch", "-q", "main")
		w.Commit("a", "ours\n")
		g := w.guard()
		_, _, err := g.Begin(t.Context(), "", nil)
		require.NoError(t, err)
		return w, g
	}
	check := func(t *testing.T, g *tamper.Guard) (all []string) {
		var before []string
		found, err := g.Check(t.Context(), func(all []tamper.Change) error {
			for _, c := range all {
				before = append(before, c.String())
			}
			return nil
		})
		require.NoError(t, err)
		for n, c := range found {
			require.Equal(t, before[n], c.String())
			all = append(all, c.Path+" "+strconv.FormatBool(c.Restored))
		}
		again, err := g.Check(t.Context(), nil)
		require.NoError(t, err)
		require.Empty(t, again, "each once")
		return all
	}
	t.Run("planted", func(t *testing.T) {
		t.Parallel()
		if runtime.GOOS != "linux" {
			t.Skip("SKIPPED: it is not known here whether a git works in a folder")
		}
		w, g := begin(t)
		w.write("rebase-merge/git-rebase-todo", "exec evil\n", 0o644)
		w.write("sequencer/todo", "pick 1\n", 0o644)
		w.write("MERGE_HEAD", "1\n", 0o644)
		w.write("BISECT_LOG", "1\n", 0o644)
		w.write("rebase-apply/applying", "", 0o644)
		require.Equal(t, []string{"rebase-merge true", "rebase-apply true", "sequencer true", "MERGE_HEAD true", "BISECT_LOG true"}, check(t, g))
		require.NoDirExists(t, filepath.Join(w.common, "rebase-merge"))
		require.NotContains(t, w.Git("status"), "rebase")
		kept, err := filepath.Glob(filepath.Join(w.dir, "tampered", "*rebase-merge", "git-rebase-todo"))
		require.NoError(t, err)
		require.Len(t, kept, 1)
	})
	t.Run("in a worktree of the person", func(t *testing.T) {
		t.Parallel()
		if runtime.GOOS != "linux" {
			t.Skip("SKIPPED: it is not known here whether a git works in a folder")
		}
		w := newWorld(t)
		w.Git("worktree", "add", "-q", "-b", "side", filepath.Join(t.TempDir(), "side"))
		g := w.guard()
		_, _, err := g.Begin(t.Context(), "", nil)
		require.NoError(t, err)
		w.write("worktrees/side/rebase-merge/git-rebase-todo", "exec evil\n", 0o644)
		require.Equal(t, []string{"worktrees/side/rebase-merge true"}, check(t, g))
	})
	for _, args := range [][]string{{"merge", "topic"}, {"cherry-pick", "topic"}, {"rebase", "topic"}, {"rebase", "--apply", "topic"}, {"revert", "--no-commit", "HEAD"}, {"bisect", "start"}} {
		t.Run("a person's "+strings.Join(args, " "), func(t *testing.T) {
			t.Parallel()
			w, g := begin(t)
			if _, err := w.Try(args...); err != nil {
				require.NotContains(t, args, "bisect")
			}
			status := w.Git("status")
			for _, said := range check(t, g) {
				require.Contains(t, said, " false")
			}
			require.Equal(t, status, w.Git("status"))
		})
	}
	t.Run("a rebase whose plan a person edits", func(t *testing.T) {
		t.Parallel()
		w, g := begin(t)
		fifo := filepath.Join(t.TempDir(), "go")
		require.NoError(t, syscall.Mkfifo(fifo, 0o600))
		done := make(chan error, 1)
		go func() {
			_, err := w.Try("-c", "sequence.editor=cat "+fifo+"; true", "rebase", "-i", "HEAD^")
			done <- err
		}()
		edited, err := os.OpenFile(fifo, os.O_WRONLY, 0) // once the editor reads
		require.NoError(t, err)
		said := check(t, g)
		require.NoError(t, edited.Close())
		require.NoError(t, <-done)
		require.Equal(t, []string{"rebase-merge false"}, said)
	})
	t.Run("the plan of a person's", func(t *testing.T) {
		t.Parallel()
		w, _ := begin(t)
		_, err := w.Try("rebase", "topic")
		require.Error(t, err)
		g := w.guard()
		_, _, err = g.Begin(t.Context(), "", nil)
		require.NoError(t, err)
		w.write("rebase-merge/git-rebase-todo", "exec evil\n", 0o644)
		require.Equal(t, []string{"rebase-merge/git-rebase-todo false"}, check(t, g))
		_, err = w.Try("rebase", "--abort")
		require.NoError(t, err)
		require.Empty(t, check(t, g))
	})
}

// TestDeletedBranch is quiet about settings that go with a branch.
func TestDeletedBranch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Git("branch", "topic")
	for _, name := range []string{"topic", "main"} {
		w.Git("config", "branch."+name+".remote", "origin")
		w.Git("config", "branch."+name+".merge", "refs/heads/"+name)
	}
	g := w.guard()
	_, _, err := g.Begin(t.Context(), "", nil)
	require.NoError(t, err)
	w.Git("branch", "-D", "topic")
	found, err := g.Check(t.Context(), nil)
	require.NoError(t, err)
	require.Len(t, found, 1, "the branch alone")
	require.Equal(t, "refs/heads/topic", found[0].Path)
	w.Git("config", "--remove-section", "branch.main")
	found, err = g.Check(t.Context(), nil)
	require.NoError(t, err)
	require.Len(t, found, 2)
	require.Equal(t, "origin", w.Git("config", "branch.main.remote"))
}

// TestFaultOfTheMachine changes nothing where git cannot be started, and looks again.
func TestFaultOfTheMachine(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	fails := false
	w.repo = w.repo.RunBy(func(ctx context.Context, c command.Cmd) (command.Result, error) {
		if fails && slices.Contains(c.Argv, "config") {
			return command.Result{ExitCode: -1}, fmt.Errorf("git config: %w", syscall.EMFILE)
		}
		return proc.New(proc.Options{Now: time.Now}).Run(ctx, c)
	})
	g := w.guard()
	_, _, err := g.Begin(t.Context(), "", nil)
	require.NoError(t, err)
	w.Git("config", "user.name", "Another")
	w.Git("config", "core.hooksPath", "/tmp/evil")
	fails = true
	found, err := g.Check(t.Context(), nil)
	require.ErrorIs(t, err, syscall.EMFILE)
	require.Empty(t, found)
	require.Equal(t, "Another", w.Git("config", "user.name"))
	fails = false
	found, err = g.Check(t.Context(), nil)
	require.NoError(t, err)
	require.Len(t, found, 2)
	require.NotContains(t, w.Git("config", "--list"), "evil")
	require.Equal(t, "Another", w.Git("config", "user.name"))
}

// TestReferences tells what nobody would do who works there, with the command that undoes it.
func TestReferences(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, ref string
		restored  bool
		do        func(w world)
	}{
		{"main rewound", "refs/heads/main", false, func(w world) { w.Git("update-ref", "refs/heads/main", "HEAD~1") }},
		{"main to an attempt's work", "refs/heads/main", false, func(w world) {
			w.Git("update-ref", "refs/heads/main", w.Git("commit-tree", "-p", "HEAD", "-m", "x", "HEAD^{tree}"))
		}},
		{"tag moved", "refs/tags/v0", false, func(w world) { w.Git("tag", "-f", "v0", "HEAD~1") }},
		{"branch deleted", "refs/heads/other", false, func(w world) { w.Git("branch", "-D", "other") }},
		{"stash dropped", "refs/stash", false, func(w world) { w.Git("stash", "drop") }},
		{"attic deleted", "refs/orch/e/attic/t/1", true, func(w world) { w.Git("update-ref", "-d", "refs/orch/e/attic/t/1") }},
		{"attic moved away", "refs/orch/e/attic/t/1", true, func(w world) {
			w.Git("update-ref", "refs/orch/e/attic/t/1", w.Git("commit-tree", "-m", "x", "HEAD^{tree}"))
		}},
		{"replacement", "refs/replace/", true, func(w world) {
			w.Git("replace", "HEAD", w.Git("commit-tree", "-m", "x", "HEAD^{tree}"))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.Commit("b", "b\n")
			w.Git("tag", "v0")
			w.Git("branch", "other")
			w.Write("a", "stashed\n")
			w.Git("stash")
			g := w.guard()
			_, _, err := g.Begin(t.Context(), "", nil)
			require.NoError(t, err)
			before := w.Git("for-each-ref")
			c.do(w)
			found, err := g.Check(t.Context(), nil)
			require.NoError(t, err)
			require.Len(t, found, 1)
			require.True(t, strings.HasPrefix(found[0].Path, c.ref), found[0])
			require.Equal(t, c.restored, found[0].Restored)
			if !c.restored {
				require.NotEmpty(t, found[0].Fix)
				out := gittest.World{T: t, Dir: w.Dir, Env: w.Env}
				args := strings.Fields(strings.ReplaceAll(found[0].Fix, "''", ""))[1:]
				if strings.HasSuffix(found[0].Fix, "''") {
					args = append(args, "")
				}
				out.Git(args...)
			}
			require.Equal(t, before, w.Git("for-each-ref"), "as it was, by orch or by the command it names")
		})
	}
}

// TestStashOfNoBranch: a stash of a detached HEAD is a person's where a work tree of theirs is there.
func TestStashOfNoBranch(t *testing.T) {
	t.Parallel()
	for _, attempt := range []bool{false, true} {
		w := newWorld(t)
		w.Commit("b", "b\n")
		dir := filepath.Join(t.TempDir(), "agent-t")
		w.Git("worktree", "add", "-q", "--detach", dir, "HEAD~1")
		if attempt {
			w.Git("worktree", "lock", "--reason", "orch: refs/heads/orch/e/t/1", dir)
		}
		g := w.guard()
		_, _, err := g.Begin(t.Context(), "", nil)
		require.NoError(t, err)
		there := gittest.World{T: t, Dir: dir, Env: w.Env}
		there.Write("a", "stashed\n")
		there.Git("add", "a")
		there.Git("stash")
		found, err := g.Check(t.Context(), nil)
		require.NoError(t, err)
		if !attempt {
			require.Empty(t, found)
			continue
		}
		require.Len(t, found, 1)
		require.Contains(t, found[0].What, "from an attempt's worktree")
	}
}

// TestGitAtWork leaves alone what a git that runs has for a moment.
func TestGitAtWork(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write("modules/sub/HEAD", "ref: refs/heads/main\n", 0o644)
	w.write("modules/sub/config", "[core]\n\tbare = false\n", 0o644)
	g := w.guard()
	_, _, err := g.Begin(t.Context(), "", nil)
	require.NoError(t, err)
	its := []string{"info/refs_Ab12Cd", "info/refs", "modules/sub/info/refs_Xy34Zw", "info/sparse-checkout.lock"}
	for _, path := range its {
		w.write(path, "x", 0o644)
	}
	w.write("info/refs_of.me", "x", 0o644)
	w.write("hooks/refs_Ab12Cd", "x", 0o755)
	found, err := g.Check(t.Context(), nil)
	require.NoError(t, err)
	require.Len(t, found, 2)
	require.Equal(t, []string{"hooks/refs_Ab12Cd", "info/refs_of.me"}, []string{found[0].Path, found[1].Path})
	for _, path := range its {
		require.FileExists(t, filepath.Join(w.common, path))
	}
}

// TestForgedRecord holds that a record which an agent has changed is not believed.
func TestForgedRecord(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, digest, err := w.guard().Begin(t.Context(), "", nil)
	require.NoError(t, err)
	w.write("orch/epics/e/guarded.json", `{"files":{"hooks/post-commit":{"mode":493,"data":"ZXZpbA=="}}}`, 0o600)
	found, _, err := w.guard().Begin(t.Context(), digest, nil)
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.Contains(t, found[0].What, "is not what")
	require.NoFileExists(t, filepath.Join(w.common, "hooks/post-commit"))
}
