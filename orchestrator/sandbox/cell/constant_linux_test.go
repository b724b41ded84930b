package cell_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/sandbox"
	"github.com/beadsorch/orch/orchestrator/sandbox/sandboxtest"
)

// TestConstant: many turns leave no descriptor, mount or file more than few. It is alone in this process, whose descriptors it counts.
func TestConstant(t *testing.T) {
	turns := 5
	switch {
	case os.Getenv("ORCH_TEST_LONG") != "":
		turns = 1000
	case os.Getenv("ORCH_TEST_STRICT") != "":
		turns = 20
	}
	for _, l := range sandbox.Levels() {
		t.Run(string(l), func(t *testing.T) {
			sandboxtest.Few(t, string(l))
			w := newWorld(t, l)
			cache := filepath.Join(w.home, ".cache", "x")
			require.NoError(t, os.MkdirAll(cache, 0o700))
			w.cells.Place.Caches = append(w.cells.Place.Caches, cache)
			now := func() (descriptors, files int, mounts string) {
				all, err := os.ReadDir("/proc/self/fd")
				require.NoError(t, err)
				require.NoError(t, filepath.WalkDir(filepath.Join(w.Dir, ".git", "orch"), func(_ string, _ os.DirEntry, err error) error {
					files++
					return err
				}))
				return len(all), files, mountsHere(t)
			}
			one := func() { w.turn(`echo x >"$HOME/.cache/x/y" 2>/dev/null; git status >/dev/null; true`) }
			one()
			one()
			descriptors, files, mounts := now()
			for range turns {
				one()
			}
			d, f, m := now()
			require.Equal(t, descriptors, d)
			require.Equal(t, files, f)
			require.Equal(t, mounts, m)
		})
	}
}
