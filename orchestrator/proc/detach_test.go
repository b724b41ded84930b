package proc_test

import (
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/command"
	"github.com/beadsorch/orch/orchestrator/proc"
)

// detach runs a script detached, with its output and what it writes to its line.
func detach(t *testing.T, script string) (d *proc.Detached, said func() string, line string) {
	t.Helper()
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	require.NoError(t, err)
	read, write, err := os.Pipe()
	require.NoError(t, err)
	d, err = proc.New(proc.Options{Marker: "M=1"}).Detach(command.Cmd{Argv: []string{"sh", "-c", script}, Env: []string{"PATH=" + os.Getenv("PATH"), "A=b"}}, out, write)
	require.NoError(t, err)
	require.NoError(t, write.Close())
	told, err := io.ReadAll(read) // to the end of the program
	require.NoError(t, err)
	return d, func() string {
		text, err := os.ReadFile(out.Name())
		require.NoError(t, err)
		return string(text)
	}, string(told)
}

func TestDetach(t *testing.T) {
	t.Parallel()
	d, said, line := detach(t, `echo "$A$M"; echo err >&2; read -r x || echo nothing; echo word >&3; ps -o pgid= -o tty= -p $$; exit 7`)
	code, signal := d.Exit()
	require.Equal(t, 7, code)
	require.Empty(t, signal)
	require.Equal(t, "word\n", line)
	fields := strings.Fields(said())
	require.Equal(t, []string{"b", "err", "nothing", strconv.Itoa(d.PID()), "?"}, fields, "its own session, no terminal, no marker")
}

func TestDetachedIsKilled(t *testing.T) {
	t.Parallel()
	d, _, _ := detach(t, `kill -KILL $$`)
	<-d.Done()
	code, signal := d.Exit()
	require.Equal(t, 137, code)
	require.Equal(t, "SIGKILL", signal)
	d.Signal(syscall.SIGTERM) // to nobody
}

func TestDetachFails(t *testing.T) {
	t.Parallel()
	for _, argv := range [][]string{nil, {"no-such-program"}, {"/no/such"}} {
		_, err := proc.New(proc.Options{}).Detach(command.Cmd{Argv: argv}, os.Stdout, os.Stdout)
		require.Error(t, err)
	}
}
