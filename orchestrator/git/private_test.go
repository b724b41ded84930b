package git_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/git"
	"github.com/beadsorch/orch/orchestrator/git/gittest"
	"github.com/beadsorch/orch/orchestrator/proc"
)

// trap is a program that leaves a trace when it runs, and does the work of a filter.
type trap struct{ path, ran string }

func newTrap(t testing.TB) trap {
	t.Helper()
	dir := t.TempDir()
	tr := trap{path: filepath.Join(dir, "trap"), ran: filepath.Join(dir, "ran")}
	require.NoError(t, os.WriteFile(tr.path, []byte("#!/bin/sh\necho \"$0 $*\" >> '"+tr.ran+"'\ncat\n"), 0o755))
	return tr
}

// plants is what an agent can write while orch runs, each of which some git would obey.
func plants(t testing.TB, w world, tr trap) map[string]func() {
	t.Helper()
	config := func(text string) func() {
		return func() {
			f, err := os.OpenFile(filepath.Join(w.Dir, ".git/config"), os.O_APPEND|os.O_WRONLY, 0)
			require.NoError(t, err)
			_, err = f.WriteString(text)
			require.NoError(t, err)
			require.NoError(t, f.Close())
		}
	}
	attributes := func() { w.Write(".git/info/attributes", "* filter=e merge=e diff=e text eol=crlf\n") }
	both := func(text string) func() { return func() { config(text)(); attributes() } }
	hook := func(name string) func() {
		return func() {
			w.Write(".git/hooks/"+name, "#!/bin/sh\nexec "+tr.path+"\n")
			require.NoError(t, os.Chmod(filepath.Join(w.Dir, ".git/hooks", name), 0o755))
		}
	}
	included := filepath.Join(t.TempDir(), "included")
	require.NoError(t, os.WriteFile(included, []byte("[filter \"e\"]\n\tclean = "+tr.path+"\n\tsmudge = "+tr.path+"\n"), 0o644))
	return map[string]func(){
		"filter":         both("[filter \"e\"]\n\tclean = " + tr.path + "\n\tsmudge = " + tr.path + "\n"),
		"filter process": both("[filter \"e\"]\n\tprocess = " + tr.path + "\n\trequired = true\n"),
		"merge driver":   both("[merge \"e\"]\n\tdriver = " + tr.path + " %A\n"),
		"diff":           both("[diff]\n\texternal = " + tr.path + "\n[diff \"e\"]\n\ttextconv = " + tr.path + "\n\tcommand = " + tr.path + "\n"),
		"attributes":     attributes,
		"excludes":       func() { w.Write(".git/info/exclude", "*\n") },
		"fsmonitor":      config("[core]\n\tfsmonitor = " + tr.path + "\n"),
		"hooksPath":      config("[core]\n\thooksPath = " + filepath.Dir(tr.path) + "\n"),
		"hook":           hook("reference-transaction"),
		"index hook":     hook("post-index-change"),
		"ssh":            config("[core]\n\tsshCommand = " + tr.path + "\n"),
		"pager":          config("[core]\n\tpager = " + tr.path + "\n[pager]\n\tdiff = " + tr.path + "\n\tlog = " + tr.path + "\n"),
		"editor":         config("[core]\n\teditor = " + tr.path + "\n[sequence]\n\teditor = " + tr.path + "\n"),
		"signing":        config("[commit]\n\tgpgSign = true\n[gpg]\n\tprogram = " + tr.path + "\n[log]\n\tshowSignature = true\n"),
		"alias":          config("[alias]\n\tupdate-ref = !" + tr.path + "\n\tmerge-tree = !" + tr.path + "\n"),
		"include":        both("[include]\n\tpath = " + included + "\n"),
		"includeIf":      both("[includeIf \"gitdir:/**\"]\n\tpath = " + included + "\n"),
		"alternate refs": config("[core]\n\talternateRefsCommand = " + tr.path + "\n"),
		"credentials":    config("[credential]\n\thelper = " + tr.path + "\n"),
		"work tree":      config("[core]\n\tworktree = /nowhere\n"),
		"bare":           config("[core]\n\tbare = true\n"),
		"extension":      config("[core]\n\trepositoryFormatVersion = 1\n[extensions]\n\tfromTheFuture = true\n"),
		"version":        config("[core]\n\trepositoryFormatVersion = 99\n"),
		"object format":  config("[core]\n\trepositoryFormatVersion = 1\n[extensions]\n\tobjectFormat = sha256\n"),
		"garbage":        config("[[[\x00 no configuration\n"),
		"config is gone": func() { require.NoError(t, os.Remove(filepath.Join(w.Dir, ".git/config"))) },
		"config is a dir": func() {
			require.NoError(t, os.Remove(filepath.Join(w.Dir, ".git/config")))
			w.Write(".git/config/x", "")
		},
		"worktree config": func() {
			config("[core]\n\trepositoryFormatVersion = 1\n[extensions]\n\tworktreeConfig = true\n")()
			w.Write(".git/config.worktree", "[core]\n\tfsmonitor = "+tr.path+"\n\tbare = true\n")
			attributes()
		},
		"promisor": config("[core]\n\trepositoryFormatVersion = 1\n[extensions]\n\tpartialClone = e\n[remote \"e\"]\n\tpromisor = true\n\turl = ext::" + tr.path + "\n\tuploadpack = " + tr.path + "\n" +
			"[protocol \"ext\"]\n\tallow = always\n"),
		"commondir":    func() { w.Write(".git/commondir", "/nowhere\n") },
		"HEAD":         func() { w.Write(".git/HEAD", "garbage\n") },
		"HEAD is gone": func() { require.NoError(t, os.Remove(filepath.Join(w.Dir, ".git/HEAD"))) },
		"shallow":      func() { w.Write(".git/shallow", w.Git("rev-parse", "HEAD")+"\n") },
		"replaced": func() {
			w.Git("update-ref", "refs/replace/"+w.Git("rev-parse", "HEAD"), w.Git("commit-tree", "-m", "e", w.Git("rev-parse", "HEAD^{tree}")))
		},
		"grafts": func() { w.Write(".git/info/grafts", w.Git("rev-parse", "HEAD")+"\n") },
		"personal": func() {
			require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(w.Dir), ".gitconfig"), []byte("[core]\n\tfsmonitor = "+tr.path+"\n\tbare = true\n[[["), 0o644))
		},
		"reflogs":    func() { require.NoError(t, os.RemoveAll(filepath.Join(w.Dir, ".git/logs"))) },
		"no plant":   func() {},
		"all hooks":  func() { hook("pre-commit")(); hook("post-checkout")(); hook("fsmonitor-watchman")() },
		"replace on": config("[core]\n\tuseReplaceRefs = true\n\tcommitGraph = true\n"),
	}
}

// TestNothingPlantedCounts: what is written into the repository after it was opened runs nothing,
// stops nothing and changes no answer.
func TestNothingPlantedCounts(t *testing.T) {
	t.Parallel()
	for name := range plants(t, newWorld(t), newTrap(t)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			w, tr := newWorld(t), newTrap(t)
			first := w.Commit("a", "1\n", "b", "1\n")
			ours, theirs := w.fork([]string{"a", "2\n"}, []string{"a", "2\n", "ours", "1\n"}, []string{"b", "2\n"})
			w.Git("checkout", "-q", string(ours))
			r := w.Open()
			plants(t, w, tr)[name]()

			m, err := r.Merge(ctx, ours, theirs)
			require.NoError(t, err)
			require.True(t, m.Clean())
			res, err := r.Do(ctx, git.Call{Args: []string{"commit-tree", "-p", string(ours), "-m", "x", m.Tree}})
			require.NoError(t, err)
			merged := git.Commit(strings.TrimSpace(string(res.Stdout)))
			require.NoError(t, r.UpdateRefs(ctx, []git.RefChange{{Name: "refs/heads/epic/e", New: merged}}))
			got, err := r.Resolve(ctx, "epic/e")
			require.NoError(t, err)
			require.Equal(t, merged, got)
			old, err := r.IsAncestor(ctx, first, merged)
			require.NoError(t, err)
			require.True(t, old)
			refs, err := r.Refs(ctx, "refs/heads/epic/")
			require.NoError(t, err)
			require.Len(t, refs, 1)
			changes, err := r.ChangedFiles(ctx, first, merged)
			require.NoError(t, err)
			require.Equal(t, []git.FileChange{{Path: "a", Added: 1, Deleted: 1}, {Path: "b", Added: 1, Deleted: 1}, {Path: "ours", Added: 1}}, counted(changes))
			blob, err := r.WriteBlob(ctx, []byte("x\n"))
			require.NoError(t, err)
			require.Equal(t, git.Commit("587be6b4c3f93f93c489c0111bba5596147a26cb"), blob)

			w.Write("b", "changed\n")
			w.Write("new", "1\n")
			files, err := r.ChangedIn(ctx, git.Checkout{Path: w.Dir, GitDir: w.Dir + "/.git"}, ours)
			require.NoError(t, err)
			require.Equal(t, []string{"b", "new"}, files)
			tree := filepath.Join(t.TempDir(), "tree")
			require.NoError(t, os.Mkdir(tree, 0o755))
			_, err = r.Do(ctx, git.Call{Args: []string{"read-tree", "--reset", "-u", string(merged)}, WorkTree: tree, Index: tree + ".index"})
			require.NoError(t, err)
			content, err := os.ReadFile(filepath.Join(tree, "a"))
			require.NoError(t, err)
			require.Equal(t, "2\n", string(content))
			_, err = r.Out(ctx, "log", "--stat", "-p", string(merged))
			require.NoError(t, err)
			require.NoFileExists(t, tr.ran)
		})
	}
}

// TestWhatThePersonHasSetUpStays: filters, merge drivers, line ends and ignored files are as in any
// git of the person, wherever they are configured, and Drivers names each program.
func TestWhatThePersonHasSetUpStays(t *testing.T) {
	t.Parallel()
	places := map[string]func(t *testing.T, w *world, key, value string){
		"repository": func(_ *testing.T, w *world, key, value string) { w.Git("config", key, value) },
		"home":       func(_ *testing.T, w *world, key, value string) { w.Git("config", "--global", key, value) },
		"global": func(_ *testing.T, w *world, key, value string) {
			w.Env = append(w.Env, "GIT_CONFIG_GLOBAL="+filepath.Dir(w.Dir)+"/elsewhere")
			w.Git("config", "--global", key, value)
		},
		"included": func(_ *testing.T, w *world, key, value string) {
			w.Git("config", "-f", w.Dir+"/.git/more", key, value)
			w.Git("config", "include.path", "more")
		},
		"worktree": func(_ *testing.T, w *world, key, value string) {
			w.Git("config", "extensions.worktreeConfig", "true")
			w.Git("config", "--worktree", key, value)
		},
	}
	for name, set := range places {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			w := newWorld(t)
			w.Env = append(w.Env, "GIT_CONFIG_NOSYSTEM=1")
			home := filepath.Dir(w.Dir)
			set(t, &w, "filter.big.clean", "tr a-z A-Z")
			set(t, &w, "filter.big.smudge", `sed "s/^/smudged: /"`)
			set(t, &w, "filter.big.required", "true")
			set(t, &w, "merge.mine.driver", `printf 'driven\n' > %A`)
			set(t, &w, "core.autocrlf", "input")
			set(t, &w, "core.excludesFile", "~/ignored")
			set(t, &w, "core.attributesFile", "~/attributes")
			require.NoError(t, os.WriteFile(home+"/ignored", []byte("*.bak\n"), 0o644))
			require.NoError(t, os.WriteFile(home+"/attributes", []byte("*.win text eol=crlf\n"), 0o644))
			w.Write(".git/info/attributes", "*.big filter=big\n")
			w.Write(".git/info/exclude", "*.tmp\n")
			base := w.Commit("x.big", "abc\n", "m", "1\n", "dos.txt", "1\r\n", ".gitattributes", "m merge=mine\nlog merge=union\n", "log", "")
			require.Equal(t, "ABC", w.Git("cat-file", "blob", "HEAD:x.big"))

			r := w.Open()
			require.Equal(t, []git.Driver{{Name: "big", Key: "filter.big.clean", Command: "tr a-z A-Z"}, {Name: "big", Key: "filter.big.smudge", Command: `sed "s/^/smudged: /"`},
				{Name: "mine", Key: "merge.mine.driver", Command: `printf 'driven\n' > %A`}}, r.Drivers())

			tree := filepath.Join(home, "tree")
			require.NoError(t, os.Mkdir(tree, 0o755))
			call := git.Call{Args: []string{"read-tree", "--reset", "-u", string(base)}, WorkTree: tree, Index: tree + ".index"}
			_, err := r.Do(ctx, call)
			require.NoError(t, err)
			content, err := os.ReadFile(tree + "/x.big")
			require.NoError(t, err)
			require.Equal(t, "smudged: ABC\n", string(content))
			for file, text := range map[string]string{"y.big": "new\n", "z.win": "1\r\n", "a.bak": "", "a.tmp": "", "crlf": "1\r\n"} {
				require.NoError(t, os.WriteFile(filepath.Join(tree, file), []byte(text), 0o644))
			}
			call.Args = []string{"ls-files", "--others", "--exclude-standard"}
			res, err := r.Do(ctx, call)
			require.NoError(t, err)
			require.Equal(t, "crlf\ny.big\nz.win\n", string(res.Stdout))
			call.Args = []string{"add", "-A"}
			_, err = r.Do(ctx, call)
			require.NoError(t, err)
			for file, want := range map[string]string{"y.big": "NEW\n", "z.win": "1\n", "crlf": "1\n"} {
				call.Args = []string{"cat-file", "blob", ":" + file}
				res, err := r.Do(ctx, call)
				require.NoError(t, err)
				require.Equal(t, want, string(res.Stdout), file)
			}

			ours, theirs := w.fork(nil, []string{"m", "2\n", "log", "a\n"}, []string{"m", "3\n", "log", "b\n"})
			m, err := r.Merge(ctx, ours, theirs)
			require.NoError(t, err)
			require.True(t, m.Clean())
			require.Equal(t, "driven", w.Git("cat-file", "blob", m.Tree+":m"))
			require.Equal(t, "a\nb", w.Git("cat-file", "blob", m.Tree+":log"))
		})
	}
}

// TestWhatFiltersNeed: a filter of large files finds its folder, and is told where it may fetch from.
func TestWhatFiltersNeed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Env = append(w.Env, "GIT_CONFIG_NOSYSTEM=1")
	w.Git("config", "lfs.url", "https://example.com/lfs")
	w.Git("config", "http.proxy", "localhost:1")
	w.Git("config", "credential.helper", "store")
	r := w.Open()
	_, err := r.Out(t.Context(), "config", "lfs.url")
	require.Error(t, err, "there is no filter")
	require.Empty(t, r.Drivers())

	w.Git("config", "filter.lfs.process", "true")
	w.Write(".git/lfs/objects/x", "large")
	r = w.Open()
	url, err := r.Out(t.Context(), "config", "lfs.url")
	require.NoError(t, err)
	require.Equal(t, "https://example.com/lfs", url)
	dir, err := r.Out(t.Context(), "rev-parse", "--git-common-dir")
	require.NoError(t, err)
	require.FileExists(t, filepath.Join(dir, "lfs/objects/x"))
	require.Equal(t, []git.Driver{{Key: "credential.helper", Command: "store"}, {Name: "lfs", Key: "filter.lfs.process", Command: "true"}}, r.Drivers())
}

// private is the git directory that r's gits run with.
func private(t testing.TB, r *git.Repo) string {
	t.Helper()
	dir, err := r.Out(t.Context(), "rev-parse", "--absolute-git-dir")
	require.NoError(t, err)
	return dir
}

// TestPrivateDirectory: one a process, nobody else's, and gone at the end.
func TestPrivateDirectory(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.Commit("a", "1")
	r := w.Open()
	require.NoDirExists(t, r.ScratchDir(), "it is made when it is needed")
	dir := private(t, r)
	require.Equal(t, r.ScratchDir(), filepath.Dir(dir))
	require.Equal(t, dir, private(t, r.RunBy(proc.New(proc.Options{}).Run)))
	info, err := os.Stat(dir)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
	require.NotEqual(t, dir, private(t, w.Open()))

	own, err := r.Own("index")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(own, nil, 0o600))
	require.NoError(t, r.UpdateRefs(t.Context(), []git.RefChange{{Name: "refs/heads/x", New: c}, {Name: "refs/heads/main", New: c, Old: c}}))
	w.Git("pack-refs", "--all")
	require.Equal(t, dir, private(t, r), "what git does there is no damage")
	require.FileExists(t, own)

	require.NoError(t, r.Close())
	require.NoDirExists(t, dir)
	require.NoError(t, r.Close())
	_, err = r.Out(t.Context(), "version")
	require.Error(t, err)
	require.NoDirExists(t, dir)
}

// TestPrivateDirectoryIsMadeAnew: somebody who finds it and writes there has changed nothing.
func TestPrivateDirectoryIsMadeAnew(t *testing.T) {
	t.Parallel()
	w, tr := newWorld(t), newTrap(t)
	c := w.Commit("a", "1")
	r := w.Open()
	write := func(name, text string) func(dir string) {
		return func(dir string) { require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644)) }
	}
	for name, change := range map[string]func(dir string){
		"config":     write("config", "[[["),
		"attributes": write("info/attributes", "* filter=e\n"),
		"commondir":  write("commondir", w.Dir+"/.git\n"),
		"grafts":     write("info/grafts", string(c)+"\n"),
		"HEAD":       write("HEAD", "garbage"),
		"same size":  write("config", strings.Repeat("#", 46)),
		"refs": func(dir string) {
			require.NoError(t, os.Remove(filepath.Join(dir, "refs")))
			require.NoError(t, os.MkdirAll(filepath.Join(dir, "refs/heads"), 0o755))
		},
		"gone": func(dir string) { require.NoError(t, os.RemoveAll(dir)) },
		"replaced": func(dir string) {
			require.NoError(t, os.Rename(dir, dir+".old"))
			require.NoError(t, os.Symlink(w.Dir+"/.git", dir))
		},
	} {
		dir := private(t, r)
		change(dir)
		w.Git("config", "filter.e.clean", tr.path)
		now := private(t, r)
		require.NotEqual(t, dir, now, name)
		require.NoDirExists(t, dir, name)
		got, err := r.Resolve(t.Context(), "HEAD")
		require.NoError(t, err, name)
		require.Equal(t, c, got)
	}
	require.FileExists(t, filepath.Join(w.Dir, "a"))
	require.FileExists(t, filepath.Join(w.Dir, ".git/config"), "a link is removed, not what it leads to")
	require.NoFileExists(t, tr.ran)
}

// TestHeadIsFollowed: a person may check out what they like.
func TestHeadIsFollowed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one, two := w.Commit("a", "1"), w.Commit("a", "2")
	r := w.Open()
	for _, rev := range []git.Commit{two, one, two} {
		w.Git("checkout", "-q", "--detach", string(rev))
		got, err := r.Resolve(t.Context(), "HEAD")
		require.NoError(t, err)
		require.Equal(t, rev, got)
	}
	w.Git("checkout", "-q", "main")
	require.NoError(t, r.UpdateRefs(t.Context(), []git.RefChange{{Name: "refs/heads/main", New: one, Old: two}}))
	require.Equal(t, string(one), w.Git("rev-parse", "HEAD@{0}"), "the reflog of HEAD tells it")
	require.NoError(t, os.Remove(w.Dir+"/.git/HEAD"))
	require.NoError(t, os.Symlink("refs/heads/main", w.Dir+"/.git/HEAD"))
	got, err := r.Resolve(t.Context(), "HEAD")
	require.NoError(t, err)
	require.Equal(t, one, got)
}

// TestLinksAmongReferences: a reference that leads out of the repository is neither read nor written.
func TestLinksAmongReferences(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	w := newWorld(t)
	c := w.Commit("a", "1")
	r := w.Open()
	outside := t.TempDir()
	require.NoError(t, os.WriteFile(outside+"/ref", []byte(string(c)+"\n"), 0o644))
	heads := w.Dir + "/.git/refs/heads/"
	require.NoError(t, os.MkdirAll(heads+"epic", 0o755))
	require.NoError(t, os.Symlink(outside+"/ref", heads+"epic/link"))
	require.NoError(t, os.Symlink(outside, heads+"away"))
	require.NoError(t, syscall.Mkfifo(heads+"pipe", 0o644))
	require.NoError(t, os.WriteFile(heads+"large", append([]byte(string(c)+"\n"), make([]byte, 1<<20)...), 0o644))
	for _, name := range []string{"epic/link", "away/new", "pipe"} {
		require.ErrorContains(t, r.UpdateRefs(ctx, []git.RefChange{{Name: "refs/heads/" + name, New: c, Old: git.AnyOld}}), "no plain file", name)
	}
	got, err := r.Resolve(ctx, "refs/heads/large")
	require.NoError(t, err, "git reads no more than it needs")
	require.Equal(t, c, got)
	left, err := os.ReadDir(outside)
	require.NoError(t, err)
	require.Len(t, left, 1)
	content, err := os.ReadFile(outside + "/ref")
	require.NoError(t, err)
	require.Equal(t, string(c)+"\n", string(content))
}

// TestCheckoutAt: a work tree is found by what the repository knows; a .git file is not asked.
func TestCheckoutAt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.Commit("dir/a", "1")
	linked := w.Dir + "-linked"
	w.Git("worktree", "add", "-q", linked)
	r := w.Open()
	evil := gittest.New(t, os.Getenv("PATH"))
	evil.Commit("dir/a", "evil")
	require.NoError(t, os.WriteFile(linked+"/.git", []byte("gitdir: "+evil.Dir+"/.git\n"), 0o644))
	for dir, want := range map[string]git.Checkout{
		w.Dir: {Path: w.Dir, GitDir: w.Dir + "/.git"}, w.Dir + "/dir": {Path: w.Dir, GitDir: w.Dir + "/.git"},
		linked: {Path: linked, GitDir: w.Dir + "/.git/worktrees/repo-linked"}, linked + "/dir": {Path: linked, GitDir: w.Dir + "/.git/worktrees/repo-linked"},
	} {
		got, err := r.CheckoutAt(dir)
		require.NoError(t, err, dir)
		require.Equal(t, want, got, dir)
		files, err := r.ChangedIn(t.Context(), got, "")
		require.NoError(t, err)
		require.Empty(t, files, dir)
	}
	require.NoError(t, os.WriteFile(linked+"/dir/a", []byte("2"), 0o644))
	at, err := r.CheckoutAt(linked)
	require.NoError(t, err)
	files, err := r.ChangedIn(t.Context(), at, c)
	require.NoError(t, err)
	require.Equal(t, []string{"dir/a"}, files)
	_, err = r.CheckoutAt(t.TempDir())
	require.Error(t, err)
}

// TestChangedInASubmodule: git diff looks into submodules with the settings that are there.
func TestChangedInASubmodule(t *testing.T) {
	t.Parallel()
	w, tr := newWorld(t), newTrap(t)
	lib := newWorld(t)
	lib.Commit("f", "1")
	w.Git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", lib.Dir, "lib")
	w.Commit("a", "1")
	w.Git("-C", "lib", "config", "core.fsmonitor", tr.path)
	w.Write("lib/f", "2")
	files, err := w.Open().ChangedIn(t.Context(), git.Checkout{Path: w.Dir, GitDir: w.Dir + "/.git"}, "")
	require.NoError(t, err)
	require.Empty(t, files)
	require.NoFileExists(t, tr.ran)
	_, err = w.Try("diff", "--name-only")
	require.NoError(t, err)
	require.FileExists(t, tr.ran, "plain git does run it")
}
