package setup_test

import (
	"errors"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/command"
	"github.com/beadsorch/orch/orchestrator/proc"
	"github.com/beadsorch/orch/orchestrator/setup"
)

// TestRun: the commands run in order in the folder, what they print is kept, and the first that fails ends it and is named.
func TestRun(t *testing.T) {
	t.Parallel()
	run := proc.New(proc.Options{}).Run
	dir := t.TempDir()
	p := setup.Plan{Commands: []string{"echo one >file; echo said; echo loud >&2", "cat file && pwd"}, Env: []string{"PATH=" + os.Getenv("PATH")}}
	log, err := p.Run(t.Context(), run, dir)
	require.NoError(t, err)
	require.Equal(t, "$ echo one >file; echo said; echo loud >&2\nsaid\nloud\n$ cat file && pwd\none\n"+dir+"\n", string(log))

	p.Commands = []string{"echo error: no such package; exit 3", "touch never"}
	log, err = p.Run(t.Context(), run, dir)
	var failed *setup.Error
	require.ErrorAs(t, err, &failed)
	require.EqualError(t, err, "workflow.setup: echo error: no such package; exit 3: error: no such package")
	require.Contains(t, string(log), "no such package\n")
	require.NoFileExists(t, dir+"/never")

	p.Commands = []string{"sleep 1000"}
	p.Time = 1
	_, err = p.Run(t.Context(), run, dir)
	require.ErrorAs(t, err, &failed)
	require.Contains(t, failed.Why, "did not end within")

	_, err = setup.Plan{Commands: []string{"true"}}.Run(t.Context(), proc.New(proc.Options{}).Run, dir+"/gone")
	require.Error(t, err)
	require.False(t, errors.As(err, &failed), "nothing has run")
	_ = command.Result{}
}
