package hooks

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/stophook/session"
)

// TestAStopInARepositoryThatIsGone: the repository is removed or moved while a stop is counted. Nothing is made in its old place.
func TestAStopInARepositoryThatIsGone(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	for id, path := range map[string]string{"s": session.File(filepath.Join(top, "r", ".git"), "s"), "": filepath.Join(top, "p", ".loop", "session.json")} {
		err := changeSession(t.Context(), path, id, func(s session.Session, _ bool) (session.Session, error) {
			s.Blocks++
			return s, nil
		})
		require.ErrorIs(t, err, fs.ErrNotExist)
	}
	left, err := os.ReadDir(top)
	require.NoError(t, err)
	require.Empty(t, left)
}
