package worktree_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/git/gittest"
	"github.com/beadsorch/orch/orchestrator/land"
	"github.com/beadsorch/orch/orchestrator/proc"
)

// TestWorkGoesOnWhateverIsPlanted: an agent changes the repository's settings, its worktree's
// pointers or its objects. Nothing of it runs, its work lands, and the next attempt begins.
func TestWorkGoesOnWhateverIsPlanted(t *testing.T) {
	t.Parallel()
	config := func(a agent, text string) {
		f, err := os.OpenFile(filepath.Join(a.user.Dir, ".git/config"), os.O_APPEND|os.O_WRONLY, 0)
		require.NoError(a.T, err)
		_, err = f.WriteString(text)
		require.NoError(a.T, err)
		require.NoError(a.T, f.Close())
	}
	filters := "[filter \"e\"]\n\tclean = TRAP\n\tsmudge = TRAP\n\trequired = true\n[merge \"e\"]\n\tdriver = TRAP\n[core]\n\tfsmonitor = TRAP\n\thooksPath = HOOKS\n"
	plants := map[string]func(a agent, trap string){
		"filters": func(a agent, trap string) {
			config(a, strings.NewReplacer("TRAP", trap, "HOOKS", filepath.Dir(trap)).Replace(filters))
			a.user.Write(".git/info/attributes", "* filter=e merge=e\n")
			a.Write(".gitattributes", "* filter=e merge=e\n")
		},
		"garbage": func(a agent, _ string) { config(a, "[[[\n") },
		"bare":    func(a agent, _ string) { config(a, "[core]\n\tbare = true\n\tworktree = /nowhere\n") },
		"extension": func(a agent, _ string) {
			config(a, "[core]\n\trepositoryFormatVersion = 1\n[extensions]\n\tnone = 1\n")
		},
		"commondir": func(a agent, trap string) {
			evil := gittest.New(a.T, os.Getenv("PATH"))
			evil.Git("config", "filter.e.clean", trap)
			evil.Git("config", "core.fsmonitor", trap)
			require.NoError(a.T, os.WriteFile(filepath.Join(a.admin(), "commondir"), []byte(evil.Dir+"/.git\n"), 0o644))
			a.Write(".gitattributes", "* filter=e\n")
		},
		"worktree settings": func(a agent, trap string) {
			config(a, "[core]\n\trepositoryFormatVersion = 1\n[extensions]\n\tworktreeConfig = true\n")
			require.NoError(a.T, os.WriteFile(filepath.Join(a.admin(), "config.worktree"), []byte("[core]\n\tfsmonitor = "+trap+"\n\tsparseCheckout = true\n"), 0o644))
		},
		"repository": func(a agent, trap string) {
			require.NoError(a.T, os.Remove(filepath.Join(a.Dir, ".git")))
			evil := gittest.New(a.T, os.Getenv("PATH"))
			evil.Git("config", "core.fsmonitor", trap)
			require.NoError(a.T, os.Rename(evil.Dir+"/.git", filepath.Join(a.Dir, ".git")))
		},
	}
	for name, plant := range plants {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, a := t.Context(), newAgent(t)
			r := a.user.Open()
			ran := filepath.Join(t.TempDir(), "ran")
			trap := filepath.Join(filepath.Dir(ran), "reference-transaction")
			require.NoError(t, os.WriteFile(trap, []byte("#!/bin/sh\ntouch '"+ran+"'\ncat\n"), 0o755))
			a.Write("file", "2")
			plant(a, trap)

			work, err := a.store.Harvest(ctx, "t", 1, a.base, "salvaged")
			require.NoError(t, err)
			require.True(t, work.Salvaged)
			changes, err := r.ChangedFiles(ctx, a.base, work.Head)
			require.NoError(t, err)
			require.Equal(t, "file", changes[len(changes)-1].Path)
			c, err := land.Build(ctx, r, a.base, work.Head, land.Message{Task: "t", Attempt: 1})
			require.NoError(t, err)
			dir, err := a.store.Checkout(ctx, c.Commit)
			require.NoError(t, err)
			content, err := os.ReadFile(filepath.Join(dir, "file"))
			require.NoError(t, err)
			require.Equal(t, "2", string(content))
			require.NoError(t, land.Move(ctx, r, land.Step{Branch: "refs/heads/x", To: c.Commit}))
			require.NoError(t, a.store.Add(ctx, "t", 2, a.base), "the worktree of attempt 1 is removed")
			require.NoError(t, a.store.Remove(ctx, "t", 2, ""))
			require.NoError(t, a.store.Close(ctx))
			require.NoFileExists(t, ran)
		})
	}
}

// TestHarvestOfAMissingObject: an agent commits a file whose content is nowhere, and names a
// program that would fetch it. The program does not run; what was committed so is not the work, the
// files are; and the worktree can be removed.
func TestHarvestOfAMissingObject(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	ran := filepath.Join(t.TempDir(), "ran")
	for key, value := range map[string]string{"extensions.partialClone": "e", "remote.e.promisor": "true", "remote.e.url": a.Dir, "remote.e.uploadpack": "touch '" + ran + "' #"} {
		a.Git("config", key, value)
	}
	const missing = "1111111111111111111111111111111111111111"
	plumb := func(stdin string, args ...string) string {
		c := exec.CommandContext(t.Context(), "git", args...)
		c.Dir, c.Env, c.Stdin = a.Dir, append(a.Env, "GIT_NO_LAZY_FETCH=1"), strings.NewReader(stdin)
		out, err := c.Output()
		require.NoError(t, err)
		return strings.TrimSpace(string(out))
	}
	tree := plumb(plumb("", "ls-tree", "HEAD")+"\n100644 blob "+missing+"\tmissing\n", "mktree", "--missing")
	plumb("", "update-ref", "HEAD", plumb("", "commit-tree", tree, "-p", "HEAD", "-m", "broken"))
	plumb("", "update-index", "--add", "--cacheinfo", "100644,"+missing+",missing")
	plumb("", "update-index", "--skip-worktree", "missing")
	a.Write("file", "2")

	work := a.harvest()
	require.True(t, work.Salvaged)
	require.Equal(t, []string{".gitignore=*.o\n/build/", "file=2", "other=1"}, a.user.files(work.Head))
	require.Equal(t, string(a.base), a.user.Git("rev-parse", string(work.Head)+"^"))
	require.NoError(t, a.store.Remove(t.Context(), "t", 1, work.Head))
	require.NoFileExists(t, ran)
}

// TestRepairRemovesScratchOfTheDead: at once where the process has ended, by age where that is
// unknown, and never while it runs.
func TestRepairRemovesScratchOfTheDead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Commit("file", "1")
	s, r := w.store(), w.Open()
	mine, err := r.Scratch("merge-")
	require.NoError(t, err)
	old(t, mine)
	dead := exec.CommandContext(t.Context(), "true")
	require.NoError(t, dead.Run())
	make := func(name string) string {
		dir := filepath.Join(r.ScratchDir(), name)
		require.NoError(t, os.MkdirAll(dir, 0o700))
		return dir
	}
	ended := make(fmt.Sprintf("index-%d-%d-%s-1", dead.Process.Pid, proc.Born(os.Getpid()), proc.Here()))
	reused := make(fmt.Sprintf("git-%d-%d-%s-1", os.Getpid(), proc.Born(os.Getpid())+1, proc.Here()))
	elsewhere, elsewhereOld := make("git-1-1-00000000-1"), make("git-1-1-00000000-2")
	plain, plainOld := make("merge-123"), make("merge-124")
	old(t, elsewhereOld)
	old(t, plainOld)
	require.Empty(t, repaired(t, s))
	for _, dir := range []string{ended, reused, elsewhereOld, plainOld} {
		require.NoDirExists(t, dir)
	}
	for _, dir := range []string{mine, elsewhere, plain} {
		require.DirExists(t, dir)
	}
}

// TestRepairRemovesHalfObjects: what a killed git was writing, once it is a minute old.
func TestRepairRemovesHalfObjects(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Commit("file", "1")
	s := w.store()
	files := map[string]bool{"objects/ab/tmp_obj_x1": true, "objects/pack/tmp_pack_x1": true, "objects/pack/tmp_idx_x1": true, "objects/ab/tmp_obj_young": false,
		"objects/pack/pack-1.keep": false, "objects/info/tmp_x": false}
	for name := range files {
		w.Write(".git/"+name, "x")
		if !strings.Contains(name, "young") {
			past := time.Now().Add(-2 * time.Minute)
			require.NoError(t, os.Chtimes(w.gitFile(name), past, past))
		}
	}
	busy := exec.CommandContext(t.Context(), "git", "cat-file", "--batch")
	busy.Dir, busy.Env = w.Dir, w.Env
	in, err := busy.StdinPipe()
	require.NoError(t, err)
	out, err := busy.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, busy.Start())
	_, err = fmt.Fprintln(in, "HEAD")
	require.NoError(t, err)
	_, err = out.Read(make([]byte, 10))
	require.NoError(t, err)
	require.Empty(t, repaired(t, s), "a git runs here")
	require.NoError(t, in.Close())
	require.NoError(t, busy.Process.Kill())
	_ = busy.Wait()
	require.Len(t, repaired(t, s), 3)
	for name, goes := range files {
		_, err := os.Lstat(w.gitFile(name))
		require.Equal(t, goes, os.IsNotExist(err), name)
	}
}
