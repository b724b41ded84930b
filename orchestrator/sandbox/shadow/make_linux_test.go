package shadow_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/sandbox"
)

// everyday are commands of git that people and agents use, each of which has to end with 0.
func everyday() []string {
	return []string{
		"git status", "echo two >>file", "git diff", "git add -A", "git commit -q -m two", "git log --oneline -5", "git show --stat HEAD", "git branch new", "git switch -q new",
		"echo three >three && git add three && git commit -q -m three", "git switch -q -", "git merge -q --no-edit new", "git tag t", "git tag -a ta -m x", "git describe --tags",
		"echo dirty >>file && git stash && git stash list && git stash pop", "git checkout -q -- file", "git config user.nickname x", "git config user.nickname",
		"git remote add other ../elsewhere", "git remote -v", "git rebase -q epic/e", "git switch -q new && echo four >four && git add four && git commit -q -m four && git switch -q - && git cherry-pick new", "git revert --no-edit HEAD", "git reset -q --hard HEAD~1",
		"git bisect start HEAD epic/e && git bisect reset", "git grep one", "git blame file", "git ls-files", "git ls-tree -r HEAD", "git rev-parse --git-common-dir", "git worktree list",
		"git for-each-ref", "git reflog", "git notes add -m note HEAD", "git archive HEAD >/dev/null", "git clean -fdn", "git mv other moved && git commit -q -m moved", "git rm -q moved && git commit -q -m gone",
		"git commit -q --amend -m gone-again", "git fsck --no-dangling", "git gc -q", "git pack-refs --all", "git count-objects -v", "git worktree add -q ../trial HEAD && git worktree remove ../trial",
		`git init -q "$TMPDIR/nested" && cd "$TMPDIR/nested" && git -c user.name=n -c user.email=n@n commit -q --allow-empty -m n`, `git clone -q . "$TMPDIR/clone"`,
		`git -C "$TMPDIR/clone" log --oneline`, "git submodule status", "git sparse-checkout list || true", "git maintenance run --task=loose-objects",
	}
}

// TestEverydayGit: all of it works in a shadow, and the real git directory stays the same byte for byte.
func TestEverydayGit(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{"sha1": nil, "sha256": {"--object-format=sha256"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachLevel(t, func(t *testing.T, a *attempt) {
				if few := os.Getenv("ORCH_TEST_STRICT") == "" || testing.Short(); few && (args != nil || a.box.Level == sandbox.Bubblewrap) {
					t.Skip("the same mounts as with namespaces, and another hash; strict runs try it")
				}
				before := bytesOf(t, a.common())
				var script strings.Builder
				for _, c := range everyday() {
					if a.policy.Home != "" && strings.Contains(c, "../trial") {
						c = strings.ReplaceAll(c, "../trial", "$TMPDIR/trial") // what is beside the worktree is hidden
					}
					script.WriteString("(" + c + ") >/dev/null 2>\"$TMPDIR/err\" || { echo '" + strings.ReplaceAll(c, "'", `'\''`) + ": failed'; cat \"$TMPDIR/err\"; }\n")
				}
				require.Empty(t, a.must(script.String()))
				require.Equal(t, before, bytesOf(t, a.common()))
			}, args...)
		})
	}
}

// TestHostile: what an agent plants is planted in the shadow alone, and is gone with it.
func TestHostile(t *testing.T) {
	t.Parallel()
	eachLevel(t, func(t *testing.T, a *attempt) {
		before := bytesOf(t, a.common())
		a.must(`git config core.fsmonitor "touch /tmp/planted"; git config core.hooksPath /tmp/hooks; git config alias.st '!touch x'
			common=$(git rev-parse --git-common-dir); echo evil >"$common/hooks/post-commit"; chmod +x "$common/hooks/post-commit"; echo "* filter=x" >>"$common/info/attributes"
			git update-ref refs/heads/main HEAD; git update-ref -d refs/heads/epic/e; git tag -f v1; git pack-refs --all --prune; rm -rf "$common/refs"; echo x >"$common/HEAD"; exit 0`)
		require.Equal(t, before, bytesOf(t, a.common()))
		dir := a.shadow.Dir
		require.NoError(t, a.shadow.Remove())
		require.NoDirExists(t, dir)
		require.NoError(t, a.shadow.Remove(), "again")
	})
}

// TestNothingSecret: logins in addresses do not enter a shadow.
func TestNothingSecret(t *testing.T) {
	t.Parallel()
	eachLevel(t, func(t *testing.T, a *attempt) {
		require.Contains(t, a.must("git remote -v"), "https://example.com/repo.git")
		require.NotContains(t, a.must(`cat "$(git rev-parse --git-common-dir)/config"`), "secret")
	})
}

// TestPointBack: the pointer of a worktree is what it was, whatever an agent made of it.
func TestPointBack(t *testing.T) {
	t.Parallel()
	eachLevel(t, func(t *testing.T, a *attempt) {
		pointer := filepath.Join(a.worktree, ".git")
		want := "gitdir: " + filepath.Join(a.common(), "worktrees", "agent-1") + "\n"
		if _, err := a.agent("rm .git && ln -s /etc/passwd .git"); err != nil {
			content, err := os.ReadFile(pointer)
			require.NoError(t, err)
			require.Equal(t, want, string(content), "where there are mounts it cannot be changed")
		}
		require.NoError(t, a.shadow.PointBack(a.worktree))
		content, err := os.ReadFile(pointer)
		require.NoError(t, err)
		require.Equal(t, want, string(content))
		info, err := os.Lstat(pointer)
		require.NoError(t, err)
		require.True(t, info.Mode().IsRegular())
	})
}
