package journal_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/journal"
)

// A journal that got no further than its header is as good as none; one that cannot be read is not.
func TestBegun(t *testing.T) {
	t.Parallel()
	require.False(t, journal.Begun(newDir(t)), "there is none")
	text, _ := written(t, 800)
	header := bytes.IndexByte(text, '\n') + 1
	first := header + bytes.IndexByte(text[header:], '\n') + 1
	dir := holding(t, nil)
	path := filepath.Join(dir, journal.File)
	for n := range text {
		require.NoError(t, os.WriteFile(path, text[:n], 0o600))
		require.Equal(t, n >= first, journal.Begun(dir), "%d bytes", n)
	}
	require.NoError(t, os.WriteFile(path, bytes.Repeat(text[:header], 2), 0o600))
	require.False(t, journal.Begun(dir), "the header twice")
	for name, bad := range map[string][]byte{"zeros": make([]byte, len(text)), "a zero": {0}, "a line": []byte("{}\n"), "no line": []byte("{}")} {
		require.NoError(t, os.WriteFile(path, bad, 0o600))
		require.True(t, journal.Begun(dir), name)
		_, err := journal.Read(dir)
		require.ErrorIs(t, err, journal.ErrCorrupt, name)
		_, _, err = journal.Open(dir, clock())
		require.ErrorIs(t, err, journal.ErrCorrupt, name)
		m, err := journal.Mend(dir, all, clock(), false)
		require.NoError(t, err)
		require.FileExists(t, m.Kept, name)
	}
	require.NoError(t, os.Mkdir(path, 0o700))
	require.True(t, journal.Begun(dir), "what is no file is for Read to refuse")
}
