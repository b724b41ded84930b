package drive_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/drive"
)

func folder(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "orch", "epics", "e")
	require.NoError(t, os.MkdirAll(dir, 0o700))
	return dir
}

// The outcome of a run is that of this run alone, and shows nothing to a terminal but text.
func TestOutcome(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	_, ok := drive.Kept(dir, 1)
	require.False(t, ok)
	require.NoError(t, drive.Keep(dir, drive.Outcome{Run: 1, Exit: 3, Text: "one\n\x1b[2Jtwo\n"}))
	o, ok := drive.Kept(dir, 1)
	require.True(t, ok)
	require.Equal(t, drive.Outcome{Run: 1, Exit: 3, Text: "one\ntwo\n"}, o)
	_, ok = drive.Kept(dir, 2)
	require.False(t, ok, "of another run")
	info, err := os.Lstat(filepath.Join(dir, "outcome.json"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode())

	require.NoError(t, os.Remove(filepath.Join(dir, "outcome.json")))
	require.NoError(t, os.Symlink("/dev/zero", filepath.Join(dir, "outcome.json")))
	_, ok = drive.Kept(dir, 1)
	require.False(t, ok, "what leads elsewhere is none")
}

// What kept a run from its end is told with all that a person was told, and the same code.
func TestFailed(t *testing.T) {
	t.Parallel()
	e := &cli.Error{Code: "RUN_FENCED", What: "taken", Why: "because", Fix: []string{"wait"}, Exit: cli.ExitHeld}
	dir := folder(t)
	require.NoError(t, drive.Keep(dir, drive.Failed(4, e)))
	o, ok := drive.Kept(dir, 4)
	require.True(t, ok)
	var said strings.Builder
	require.Equal(t, e, o.Say(&cli.Invocation{Process: cli.Process{Stdout: &said}}))
	require.Contains(t, said.String(), "LOOP_ERROR")
	require.Equal(t, drive.Outcome{Run: 4, Exit: 7}, drive.Failed(4, cli.ExitWith(7)), "all was said")
}

func FuzzKept(f *testing.F) {
	f.Add([]byte(`{"run":1,"exit":3,"text":"x","document":{"a":1},"error":{"code":"X","what":"y","exit":1}}`))
	f.Add([]byte(`{"run":1,"exit":999}`))
	dir := folder(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "outcome.json"), data, 0o600))
		o, ok := drive.Kept(dir, 1)
		if ok {
			require.True(t, o.Run == 1 && o.Exit >= 0 && o.Exit <= 255)
			require.NotContains(t, o.Text, "\x1b")
		}
	})
}
