package sandbox_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/sandbox"
)

// usual is a place as it is on most machines: the repository is in the home.
func usual() sandbox.Place {
	return sandbox.Place{
		Worktree: "/home/ann/repo.worktrees/e/agent-1", CommonDir: "/home/ann/repo/.git", Shadow: "/home/ann/repo.worktrees/e/.shadow/1",
		Checkout: "/home/ann/repo", Siblings: "/home/ann/repo.worktrees", Home: "/home/ann", PrivateHome: "/home/ann/repo.worktrees/e/.home/1",
		Temp: "/home/ann/repo.worktrees/e/.tmp/1", Program: "/home/ann/go/bin/orch",
	}
}

// bounds are those of a policy that are below one of the folders, a line each.
func bounds(p sandbox.Policy, folders ...string) (lines []string) {
	for _, b := range p.Bounds {
		for _, folder := range folders {
			if b.At == folder || strings.HasPrefix(b.At, folder+"/") {
				line := fmt.Sprint(b.Kind, " ", b.At)
				if b.From != "" && b.From != b.At {
					line += " from " + b.From
				}
				lines = append(lines, line)
			}
		}
	}
	return lines
}

// TestWhyMasked: a program that something stands in for, and a file of root's, are hidden for reasons of their own.
func TestWhyMasked(t *testing.T) {
	t.Parallel()
	place := usual()
	place.Mask = []string{"/usr/local/bin/bd"}
	policy, err := sandbox.New(place)
	require.NoError(t, err)
	why := map[string]string{}
	for _, e := range sandbox.Explain(place, policy, sandbox.Bubblewrap) {
		why[e.At] = e.Why
	}
	require.Contains(t, why["/usr/local/bin/bd"], "stands in for it")
	require.Equal(t, "only root reads it", why["/etc/shadow"])
}

func TestNew(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change func(*sandbox.Place)
		look   []string
		want   []string
	}{
		"a repository in the home": {nil, []string{"/home"}, []string{
			"hidden /home",
			"writable /home/ann from /home/ann/repo.worktrees/e/.home/1",
			"readable /home/ann/go/bin/orch",
			"writable /home/ann/repo.worktrees/e/.tmp/1",
			"writable /home/ann/repo.worktrees/e/agent-1",
			"readable /home/ann/repo.worktrees/e/agent-1/.git",
			"writable /home/ann/repo/.git from /home/ann/repo.worktrees/e/.shadow/1",
			"readable /home/ann/repo/.git/borrowed from /home/ann/repo/.git/objects",
		}},
		"a repository elsewhere": {func(p *sandbox.Place) {
			p.Worktree, p.Checkout, p.CommonDir, p.Siblings, p.Shadow, p.Temp = "/data/w/1", "/data/r", "/data/r/.git", "/data/w", "/data/s", "/data/t"
		}, []string{"/data"}, []string{
			"hidden /data/r",
			"writable /data/r/.git from /data/s",
			"readable /data/r/.git/borrowed from /data/r/.git/objects",
			"writable /data/t",
			"hidden /data/w",
			"writable /data/w/1",
			"readable /data/w/1/.git",
		}},
		"worktrees within the checkout": {func(p *sandbox.Place) {
			p.Worktree, p.Checkout, p.CommonDir, p.Siblings = "/data/r/w/1", "/data/r", "/data/r/.git", "/data/r/w"
		}, []string{"/data"}, []string{
			"hidden /data/r",
			"writable /data/r/.git from /home/ann/repo.worktrees/e/.shadow/1",
			"readable /data/r/.git/borrowed from /data/r/.git/objects",
			"writable /data/r/w/1",
			"readable /data/r/w/1/.git",
		}},
		"a bare repository, and root": {func(p *sandbox.Place) {
			p.Worktree, p.Checkout, p.CommonDir, p.Siblings, p.Home = "/data/w/1", "", "/data/r.git", "/data/w", "/root"
		}, []string{"/data", "/root"}, []string{
			"writable /data/r.git from /home/ann/repo.worktrees/e/.shadow/1",
			"readable /data/r.git/borrowed from /data/r.git/objects",
			"hidden /data/w",
			"writable /data/w/1",
			"readable /data/w/1/.git",
			"writable /root from /home/ann/repo.worktrees/e/.home/1",
		}},
		"toolchains and caches": {func(p *sandbox.Place) {
			p.Read = []string{"/home/ann/.rustup", "/usr/local/go", "/home/ann/repo.worktrees/e/agent-1/ro"}
			p.Caches = []string{"/home/ann/.cache/go", "/var/cache/z"}
			p.Write = []string{"/home/ann/.cache/x", "/home/ann/repo.worktrees/e/agent-1/rw", "/var/cache/y"}
		}, []string{"/home/ann/.rustup", "/usr", "/var/cache", "/home/ann/.cache", "/home/ann/repo.worktrees/e/agent-1"}, []string{
			"layered /home/ann/.cache/go",
			"writable /home/ann/.cache/x",
			"readable /home/ann/.rustup",
			"writable /home/ann/repo.worktrees/e/agent-1",
			"readable /home/ann/repo.worktrees/e/agent-1/.git",
			"readable /home/ann/repo.worktrees/e/agent-1/ro",
			"writable /var/cache/y",
			"layered /var/cache/z",
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			place := usual()
			if test.change != nil {
				test.change(&place)
			}
			policy, err := sandbox.New(place)
			require.NoError(t, err)
			require.Equal(t, test.want, bounds(policy, test.look...))
			for n, b := range policy.Bounds {
				for _, before := range policy.Bounds[:n] {
					require.False(t, strings.HasPrefix(before.At, b.At+"/"), "%s comes before %s, which hides it", before.At, b.At)
				}
			}
		})
	}
}

// TestNamed: what is named to be read is so also where nothing else can be, unless something in it is hidden.
func TestNamed(t *testing.T) {
	t.Parallel()
	place := usual()
	place.Read, place.Caches = []string{"/data/models", "/var"}, []string{"/data/cache"}
	policy, err := sandbox.New(place)
	require.NoError(t, err)
	require.Equal(t, []string{"/data/models", "/data/cache"}, policy.Named)
}

// TestNewRefuses what would open what is to be hidden.
func TestNewRefuses(t *testing.T) {
	t.Parallel()
	tests := map[string]func(*sandbox.Place){
		"the checkout as worktree":       func(p *sandbox.Place) { p.Worktree = p.Checkout },
		"the home as worktree":           func(p *sandbox.Place) { p.Worktree = "/home/ann" },
		"what holds the home":            func(p *sandbox.Place) { p.Write = []string{"/home"} },
		"what holds the repository":      func(p *sandbox.Place) { p.Read = []string{"/home/ann/repo"} },
		"what holds all worktrees":       func(p *sandbox.Place) { p.Read = []string{"/home/ann/repo.worktrees"} },
		"a cache that is the home":       func(p *sandbox.Place) { p.Caches = []string{"/home/ann"} },
		"what is hidden besides":         func(p *sandbox.Place) { p.Hide, p.Read = []string{"/state/orch"}, []string{"/state"} },
		"everything":                     func(p *sandbox.Place) { p.Write = []string{"/"} },
		"a relative path":                func(p *sandbox.Place) { p.Read = []string{"go"} },
		"a path that is not clean":       func(p *sandbox.Place) { p.Read = []string{"/home/ann/go/.."} },
		"no worktree":                    func(p *sandbox.Place) { p.Worktree = "" },
		"no shadow repository":           func(p *sandbox.Place) { p.Shadow = "" },
		"no folder for temporary files":  func(p *sandbox.Place) { p.Temp = "" },
		"no home":                        func(p *sandbox.Place) { p.Home = "" },
		"no program":                     func(p *sandbox.Place) { p.Program = "" },
		"the repository as its own twin": func(p *sandbox.Place) { p.Shadow = p.CommonDir },
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			place := usual()
			change(&place)
			_, err := sandbox.New(place)
			require.Error(t, err)
		})
	}
}

// TestReal follows links, so that what is hidden is what is meant.
func TestReal(t *testing.T) {
	t.Parallel()
	top, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Join(top, "real/home"), 0o700))
	require.NoError(t, os.Symlink("real", filepath.Join(top, "link")))
	place := sandbox.Place{Home: filepath.Join(top, "link/home"), Read: []string{filepath.Join(top, "link"), filepath.Join(top, "gone")}}.Real()
	require.Equal(t, filepath.Join(top, "real/home"), place.Home)
	require.Equal(t, []string{filepath.Join(top, "real"), filepath.Join(top, "gone")}, place.Read)
	require.Empty(t, place.Checkout)
}
