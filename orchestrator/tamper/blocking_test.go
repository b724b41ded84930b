package tamper_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/tamper"
)

// TestPipesAreTakenAway: a pipe where git reads a file is found without git, said before it is taken away, and git
// answers as before.
func TestPipesAreTakenAway(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"packed-refs", "refs/heads/zz", "refs/orch/e/attic/t/1", "HEAD", "config", "shallow", "hooks/pre-commit", "info/attributes",
		"objects/info/alternates", "objects/info/commit-graph", "objects/pack/multi-pack-index",
		"objects/pack/pack-1111111111111111111111111111111111111111.idx", "objects/11/11111111111111111111111111111111111111", "logs/refs/heads/main"} {
		for _, linked := range []bool{false, true} {
			name := at
			if linked {
				name += " as a link"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				g := w.guard()
				_, _, err := g.Begin(t.Context(), "", nil)
				require.NoError(t, err)
				path := filepath.Join(w.common, at)
				require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
				require.NoError(t, os.RemoveAll(path))
				pipe := path
				if linked {
					pipe = filepath.Join(t.TempDir(), "pipe")
					require.NoError(t, os.Symlink(pipe, path))
				}
				require.NoError(t, syscall.Mkfifo(pipe, 0o644))
				_, err = os.Stat(path)
				require.NoError(t, err)

				said := false
				found, err := g.Check(t.Context(), func(all []tamper.Change) error {
					if info, err := os.Stat(path); err == nil && info.Mode()&os.ModeNamedPipe != 0 {
						said = all[0].Path == at
					}
					return nil
				})
				require.NoError(t, err)
				require.True(t, said, "before it is taken away")
				require.NotEmpty(t, found)
				require.Equal(t, at, found[0].Path)
				require.Regexp(t, "a pipe|a symbolic link", found[0].What)
				require.True(t, found[0].Restored)
				if info, err := os.Stat(path); err == nil {
					require.True(t, info.Mode().IsRegular(), "what was there is put back")
				}
				w.Git("for-each-ref")
				w.Git("status")
			})
		}
	}
}

// TestSocketsStay: git's own daemon has one in the git directory, and nobody waits for it.
func TestSocketsStay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	at := filepath.Join(w.common, "fsmonitor--daemon.ipc")
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	require.NoError(t, err)
	defer syscall.Close(fd)
	require.NoError(t, syscall.Bind(fd, &syscall.SockaddrUnix{Name: at}))
	found, err := w.guard().Clear(nil)
	require.NoError(t, err)
	require.Empty(t, found)
	_, err = os.Lstat(at)
	require.NoError(t, err)
}

// TestPipesAreTakenAwayBeforeARun: those that a run before has left, whether or not it was killed.
func TestPipesAreTakenAwayBeforeARun(t *testing.T) {
	t.Parallel()
	for _, killed := range []bool{false, true} {
		w := newWorld(t)
		_, digest, err := w.guard().Begin(t.Context(), "", nil)
		require.NoError(t, err)
		if !killed {
			digest = ""
		}
		require.NoError(t, syscall.Mkfifo(filepath.Join(w.common, "packed-refs"), 0o644))
		found, _, err := w.guard().Begin(t.Context(), digest, nil)
		require.NoError(t, err)
		require.Len(t, found, 1)
	}
}
