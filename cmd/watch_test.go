package cmd

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWatchOfARunInTheForeground: who drives an epic is no matter to who looks on.
func TestWatchOfARunInTheForeground(t *testing.T) {
	t.Parallel()
	f := patientFixture(t)
	run := f.start("run", f.epic)
	run.until("start: first")
	watch := f.sit(nil, "watch")
	watch.until("start    e-1.1")
	f.letGo("e-1.1")
	f.letGo("e-1.2")
	out, code := run.end()
	require.Zero(t, code, out)
	shown, code := watch.end()
	require.Zero(t, code, shown)
	shown = strings.ReplaceAll(shown, "\r\n", "\n")
	_, summary, found := strings.Cut(out, "\n\n")
	require.True(t, found, out)
	require.Contains(t, shown, summary, "the same words")
}

// TestNextRunIsWatchedToo: a viewer that was late goes on with the run that goes on now.
func TestNextRunIsWatchedToo(t *testing.T) {
	t.Parallel()
	f := patientFixture(t)
	f.must("orch", "run", "-d", f.epic)
	watch := f.sit(nil, "watch", f.epic)
	watch.until("q leaves")
	require.NoError(t, watch.Process.Signal(syscall.SIGSTOP))
	f.waits("e-1.1")
	f.must("orch", "stop", f.epic)
	f.letGo("e-1.1")
	f.free()
	f.must("orch", "run", "-d", f.epic)
	require.NoError(t, watch.Process.Signal(syscall.SIGCONT))
	watch.until("start    e-1.2")
	require.NotContains(t, watch.seen(), "LOOP_CONTINUE")
	f.letGo("e-1.2")
	out, code := watch.end()
	require.Zero(t, code, out)
	require.Contains(t, out, "<promise>LOOP_DONE</promise>")
}

// TestWhatAgentsDo: status says it while the run goes on, and no file of orch's has a secret.
func TestWhatAgentsDo(t *testing.T) {
	t.Parallel()
	f := quickFixture(t, `echo "thinks of $API_TOKEN"`+"\n"+patientAgent, "true")
	f.settings("agent: {", "agent: {env: [API_TOKEN], ")
	f.task("first")
	f.env = append(f.env, "API_TOKEN=hunter2hunter2")
	run := f.sit(nil, "run", f.epic)
	run.until("thinks of [redacted API_TOKEN]")
	require.Contains(t, f.must("orch", "status"), "thinks of [redacted API_TOKEN]")
	clean := func() {
		t.Helper()
		require.NoError(t, filepath.WalkDir(filepath.Join(f.dir, ".git", "orch"), func(path string, d os.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return nil // it is gone again
			}
			text, err := os.ReadFile(path)
			require.True(t, err == nil || errors.Is(err, os.ErrNotExist))
			require.NotContains(t, string(text), "hunter2", path)
			return nil
		}))
	}
	require.FileExists(t, filepath.Join(f.epicDir(), "activity.json"))
	clean()
	f.letGo("e-1.1")
	out, code := run.end()
	require.Zero(t, code, out)
	require.NotContains(t, out, "hunter2")
	clean()
	require.NotContains(t, f.must("orch", "status"), "thinks of")
}
