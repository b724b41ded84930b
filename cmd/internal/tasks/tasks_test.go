package tasks_test

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/tasks"
)

// repository is a new one with an embedded tracker.
type repository struct {
	t   *testing.T
	dir string
}

func newRepository(t *testing.T) repository {
	t.Helper()
	r := repository{t, t.TempDir()}
	git := exec.CommandContext(t.Context(), "git", "init", "-q", r.dir)
	git.Env = r.env()
	require.NoError(t, git.Run())
	return r
}

func (r repository) env() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "ORCH_TRACKER_KIND=file"}
}

// orch gives what a command prints for an input.
func (r repository) orch(stdin string, args ...string) (string, error) {
	r.t.Helper()
	var out bytes.Buffer
	a := &cli.Invocation{Process: cli.Process{Env: r.env(), Dir: r.dir, Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &out, Now: time.Now}}
	c := tasks.Tasks(a)
	c.SilenceErrors, c.SilenceUsage = true, true
	c.SetArgs(args)
	err := c.ExecuteContext(r.t.Context())
	return out.String(), err
}

// TestExportIsWhatImportReads, so that tasks can move to another repository.
func TestExportIsWhatImportReads(t *testing.T) {
	t.Parallel()
	from, to := newRepository(t), newRepository(t)
	for _, args := range [][]string{{"create", "E", "--type", "epic", "--id", "e"}, {"create", "one", "--parent", "e"}, {"create", "two", "--parent", "e", "--deps", "e.1"}} {
		_, err := from.orch("", args...)
		require.NoError(t, err)
	}
	text, err := from.orch("", "export")
	require.NoError(t, err)
	said, err := to.orch(text, "import", "-")
	require.NoError(t, err)
	require.Equal(t, "3 created, 0 updated\n", said)
	want, err := from.orch("", "list")
	require.NoError(t, err)
	got, err := to.orch("", "list")
	require.NoError(t, err)
	require.Equal(t, want, got)
	ready, err := to.orch("", "ready", "--parent", "e")
	require.NoError(t, err)
	require.Contains(t, ready, "e.1")
	require.NotContains(t, ready, "e.2")
}

// TestImportFails for what it cannot read, and takes in nothing.
func TestImportFails(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	for _, args := range [][]string{{"import", "no such file"}, {"import", r.dir}, {"import", "-"}} {
		_, err := r.orch("{{{", args...)
		var e *cli.Error
		require.ErrorAs(t, err, &e, "%v", args)
		require.Equal(t, "BAD_INPUT", e.Code)
		require.Equal(t, cli.ExitUsage, e.Exit)
	}
	said, err := r.orch("", "list", "--all")
	require.NoError(t, err)
	require.Empty(t, said)
}
