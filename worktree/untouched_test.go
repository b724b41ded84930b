package worktree_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/git"
	"github.com/beadsorch/orch/orchestrator/land"
	"github.com/beadsorch/orch/worktree/worktreetest"
)

// life is everything that orch does with an attempt, with an agent that also commits.
func life(w world, base git.Commit) {
	w.T.Helper()
	ctx, s, r := w.T.Context(), w.store(), w.Open()
	must := func(err error) {
		w.T.Helper()
		require.NoError(w.T, err)
	}
	_, err := s.Repair(ctx)
	must(err)
	tip, err := s.EnsureEpic(ctx, base)
	must(err)
	lease, err := land.Acquire(ctx, r, "e", []byte("run"))
	must(err)
	for _, task := range []string{"t", "u"} {
		must(s.Add(ctx, task, 1, tip))
		agent := w.at(s.Name(task, 1).Dir)
		agent.Git("-c", "user.name=agent", "-c", "user.email=agent@example.com", "commit", "-q", "--allow-empty", "-m", "work")
		agent.Write("made by "+task, "1")
		require.True(w.T, s.ChangedSince(ctx, task, 1, time.Now().Add(-time.Hour)))
		work, err := s.Harvest(ctx, task, 1, tip, "salvage")
		must(err)
		require.True(w.T, work.Salvaged)
		must(s.Attic(ctx, task, 1, work.Head))
		c, err := land.Build(ctx, r, tip, work.Head, land.Message{Epic: "e", Task: task, Attempt: 1})
		must(err)
		dir, err := s.Checkout(ctx, c.Commit)
		must(err)
		require.FileExists(w.T, filepath.Join(dir, "made by "+task))
		must(land.Move(ctx, r, land.Step{Branch: s.EpicBranch(), From: tip, To: c.Commit, Lease: lease}))
		agent.Write("left", "1")
		must(s.Remove(ctx, task, 1, work.Head))
		tip = c.Commit
	}
	must(s.Add(ctx, "open", 1, tip))
	_, err = s.List(ctx)
	must(err)
	_, err = s.Repair(ctx)
	must(err)
	must(s.Close(ctx))
	must(land.Release(ctx, r, lease))
}

// The person's checkout, in whatever state, is the same before and after, byte by byte.
func TestCheckoutStaysUntouched(t *testing.T) {
	t.Parallel()
	tests := map[string]func(t *testing.T, w world) world{
		"clean": func(_ *testing.T, w world) world { return w },
		"dirty": func(_ *testing.T, w world) world {
			w.Write("file", "staged")
			w.Git("add", "file")
			w.Git("stash")
			w.Write("file", "staged")
			w.Git("add", "file")
			w.Write("file", "changed")
			w.Write("untracked", "1")
			return w
		},
		"detached": func(_ *testing.T, w world) world { w.Git("checkout", "-q", "--detach"); return w },
		"packed":   func(_ *testing.T, w world) world { w.Git("pack-refs", "--all"); w.Git("gc", "-q"); return w },
		"unborn":   func(_ *testing.T, w world) world { w.Git("checkout", "-q", "--orphan", "unborn"); return w },
		"conflict": func(t *testing.T, w world) world {
			w.Git("checkout", "-q", "-b", "side")
			w.Commit("file", "side")
			w.Git("checkout", "-q", "main")
			w.Commit("file", "main")
			_, err := w.Try("merge", "side")
			require.Error(t, err)
			return w
		},
		"rebase": func(t *testing.T, w world) world {
			w.Git("checkout", "-q", "-b", "side")
			w.Commit("file", "side")
			w.Git("checkout", "-q", "main")
			w.Commit("file", "main")
			_, err := w.Try("rebase", "side")
			require.Error(t, err)
			return w
		},
		"locked": func(t *testing.T, w world) world {
			for _, name := range []string{"index.lock", "HEAD.lock", "config.lock"} {
				require.NoError(t, os.WriteFile(filepath.Join(w.Dir, ".git", name), nil, 0o644))
			}
			return w
		},
		"other worktrees": func(_ *testing.T, w world) world {
			w.Git("worktree", "add", "-q", "-b", "theirs", w.Dir+"-theirs")
			return w
		},
		"bare": func(_ *testing.T, w world) world {
			w.Git("clone", "-q", "--bare", ".", w.Dir+".git")
			return w.at(w.Dir + ".git")
		},
		"shallow": func(_ *testing.T, w world) world {
			w.Git("clone", "-q", "--depth=1", "file://"+w.Dir, w.Dir+"-shallow")
			return w.at(w.Dir + "-shallow")
		},
		"partial": func(t *testing.T, w world) world {
			w.Git("config", "uploadpack.allowFilter", "true")
			w.Git("config", "uploadpack.allowAnySHA1InWant", "true")
			w.Git("clone", "-q", "--filter=blob:none", "--no-checkout", "file://"+w.Dir, w.Dir+"-partial")
			partial := w.at(w.Dir + "-partial")
			_, err := partial.store().EnsureEpic(t.Context(), w.Head())
			var refused *git.UnsupportedError
			require.ErrorAs(t, err, &refused)
			_, command, _ := strings.Cut(refused.Fix, "fetch them: ")
			sh := exec.CommandContext(t.Context(), "sh", "-c", command)
			sh.Dir, sh.Env = partial.Dir, w.Env
			require.NoError(t, sh.Run())
			return partial
		},
		"sparse": func(_ *testing.T, w world) world {
			w.Git("sparse-checkout", "set", "dir")
			return w
		},
		"worktree configuration": func(_ *testing.T, w world) world {
			w.Git("config", "extensions.worktreeConfig", "true")
			w.Git("config", "--worktree", "user.name", "Somebody")
			return w
		},
		"sha256": func(t *testing.T, _ world) world {
			w := newWorld(t, "--object-format=sha256")
			w.Commit("file", "1", "dir/file", "1")
			return w
		},
		"submodule": func(t *testing.T, w world) world {
			super := newWorld(t)
			super.Commit("file", "1")
			super.Git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", w.Dir, "module")
			super.Commit()
			return super
		},
		"inside a submodule": func(t *testing.T, w world) world {
			super := newWorld(t)
			super.Commit("file", "1")
			super.Git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", w.Dir, "module")
			super.at(super.Dir + "/module").Configure()
			return super.at(super.Dir + "/module")
		},
	}
	for name, prepare := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.Commit("file", "1", "dir/file", "1", ".gitignore", "*.o\n")
			w.Commit("file", "2")
			w = prepare(t, w)
			base := git.Commit(w.Git("for-each-ref", "--count=1", "--format=%(objectname)", "refs/heads/main"))
			hook := filepath.Join(w.Open().CommonDir(), "hooks")
			ran := filepath.Join(t.TempDir(), "ran")
			require.NoError(t, os.MkdirAll(hook, 0o755))
			for _, h := range []string{"post-checkout", "reference-transaction", "pre-commit", "post-merge", "post-index-change"} {
				require.NoError(t, os.WriteFile(filepath.Join(hook, h), []byte("#!/bin/sh\ntouch '"+ran+"'\n"), 0o755))
			}
			before := worktreetest.Snapshot(t, w.Dir)
			agents := w
			agents.Env = append(agents.Env, "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=core.hooksPath", "GIT_CONFIG_VALUE_0=/dev/null")
			life(agents, base)
			require.Equal(t, before, worktreetest.Snapshot(t, w.Dir))
			require.NoFileExists(t, ran)
		})
	}
}

// An agent that is confined to its worktree must not get code of its own run by orch
// (reproduced with git status and git add run in the worktree, on git 2.39).
func TestNothingPlantedRuns(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	ran := filepath.Join(t.TempDir(), "ran")
	evil := filepath.Join(t.TempDir(), "evil")
	require.NoError(t, os.WriteFile(evil, []byte("#!/bin/sh\ntouch '"+ran+"'\ncat\n"), 0o755))
	arm := func(w world) {
		for _, key := range []string{"core.fsmonitor", "filter.evil.clean", "filter.evil.smudge", "diff.external", "core.sshCommand", "core.pager", "merge.evil.driver"} {
			w.Git("config", key, evil)
		}
		w.Git("config", "remote.origin.promisor", "true")
		w.Git("config", "remote.origin.url", "ext::"+evil)
		require.NoError(t, os.MkdirAll(filepath.Join(w.Dir, ".git/hooks"), 0o755))
		for _, hook := range []string{"post-checkout", "reference-transaction", "post-index-change", "pre-commit"} {
			require.NoError(t, os.WriteFile(filepath.Join(w.Dir, ".git/hooks", hook), []byte("#!/bin/sh\n"+evil+"\n"), 0o755))
		}
	}
	lib := a.at(a.nested("lib"))
	lib.Commit("f", "1")
	a.Commit("file", "2") // lib is a submodule now
	lib.Write("f", "2")
	arm(lib)
	arm(a.at(a.nested("clone")))
	require.NoError(t, os.Remove(a.Dir+"/.git"))
	a.Git("init", "-q")
	arm(a.world)
	a.Write(".gitattributes", "* filter=evil diff=evil merge=evil\n")
	a.Write("file", "3")

	work := a.harvest()
	require.Equal(t, "3", a.user.Git("cat-file", "blob", string(work.Head)+":file"))
	require.ElementsMatch(t, []string{"lib", "clone"}, work.Nested)
	_, err := land.Build(t.Context(), a.user.Open(), a.base, work.Head, land.Message{Task: "t", Attempt: 1})
	require.NoError(t, err)
	require.Error(t, a.store.Remove(t.Context(), "t", 1, ""), "lib has what no remote has")
	require.NoError(t, os.RemoveAll(lib.Dir))
	require.NoError(t, os.RemoveAll(a.Dir+"/clone"))
	_, err = a.store.Repair(t.Context())
	require.NoError(t, err)
	require.NoFileExists(t, ran)

	_, err = a.Try("status")
	require.NoError(t, err)
	require.FileExists(t, ran, "run in the worktree, git does run it")
	require.NoError(t, os.Remove(ran))
	require.NoError(t, a.store.Remove(t.Context(), "t", 1, ""))
	require.NoFileExists(t, ran)
}
