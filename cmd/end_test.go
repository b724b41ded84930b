package cmd

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSignalsLeaveNothing ends a command that only reads in the middle of its work.
func TestSignalsLeaveNothing(t *testing.T) {
	t.Parallel()
	heard := make(chan os.Signal, 1) // what this process listens to no child ignores, also where nohup has started it
	signal.Notify(heard, syscall.SIGHUP)
	t.Cleanup(func() { signal.Stop(heard) })
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, "true", "true")
			f.settings("agent: {harness: command", "agent: {harness: claude} #")
			f.bin = t.TempDir()
			fifo := filepath.Join(f.bin, "asked")
			require.NoError(t, syscall.Mkfifo(fifo, 0o600))
			f.write(filepath.Join(f.bin, "claude"), "#!/bin/sh\necho asked >"+fifo+"\nread -r _ <"+fifo+"\n")
			require.NoError(t, os.Chmod(filepath.Join(f.bin, "claude"), 0o700))

			c := exec.CommandContext(t.Context(), filepath.Join(bin(t), "orch"), "doctor")
			c.Dir, c.Env = f.dir, append(f.env, "PATH="+f.bin+string(os.PathListSeparator)+os.Getenv("PATH"))
			unread, out, err := os.Pipe()
			require.NoError(t, err)
			c.Stdout = out
			require.NoError(t, c.Start())
			require.NoError(t, errors.Join(out.Close(), unread.Close()), "SIGPIPE counts where nobody reads")
			_, err = os.ReadFile(fifo) // the client is asked now
			require.NoError(t, err)
			scratch := filepath.Join(f.dir, ".git", "orch", "tmp")
			entries, err := os.ReadDir(scratch)
			require.NoError(t, err)
			require.NotEmpty(t, entries)

			require.NoError(t, c.Process.Signal(sig))
			var exit *exec.ExitError
			require.ErrorAs(t, c.Wait(), &exit)
			status, _ := exit.Sys().(syscall.WaitStatus)
			if sig == syscall.SIGPIPE {
				require.Equal(t, 128+int(sig), status.ExitStatus())
			} else {
				require.Equal(t, sig, status.Signal(), "it ends as if nobody had listened")
			}
			entries, err = os.ReadDir(scratch)
			require.True(t, errors.Is(err, os.ErrNotExist) || err == nil && len(entries) == 0, "%v", entries)
		})
	}
}
