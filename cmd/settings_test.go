package cmd

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/config"
	"github.com/beadsorch/orch/cmd/internal/project"
	"github.com/beadsorch/orch/cmd/internal/workspace"
	"github.com/beadsorch/orch/orchestrator"
	"github.com/beadsorch/orch/orchestrator/epic"
)

func TestSettingsEvent(t *testing.T) {
	t.Parallel()
	read := func(text string) func() (config.Origins, error) {
		return func() (config.Origins, error) {
			_, origins, err := config.Load("project.yaml", []byte(text), nil)
			return origins, err
		}
	}
	first, err := read("workflow: {run: {attempts: 2}, gate: [{name: a, type: command, command: strict}]}")()
	require.NoError(t, err)
	began := first.Values()
	e, known := settingsEvent(began, began, read("# new\nworkflow: {gate: [{name: a, type: command, command: strict}], run: {attempts: 2}}"))
	require.Nil(t, e, "it says the same")
	e, known = settingsEvent(began, known, read("workflow: {run: {attempts: 3}, gate: [{name: a, type: command, command: weak}]}"))
	difference := e.Fact.(epic.SettingsChanged).Difference
	require.Contains(t, e.Reason, "gate, run.attempts were edited")
	require.Contains(t, difference, `+ gate: [{"name":"a","type":"command","command":"weak"}]`)
	require.Contains(t, difference, "- run.attempts: 2\n+ run.attempts: 3")
	again, known := settingsEvent(began, known, read("workflow: {run: {attempts: 3}, gate: [{name: a, type: command, command: weak}]}"))
	require.Nil(t, again, "it is said once")
	e, known = settingsEvent(began, known, func() (config.Origins, error) { return nil, errors.New("broken") })
	require.Contains(t, e.Reason, "cannot be read")
	e, _ = settingsEvent(began, known, func() (config.Origins, error) { return first, nil })
	require.Contains(t, e.Reason, "again those")
}

// An edit of the settings while a run goes comes to the run.
func TestWatchSettings(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	file := filepath.Join(root, project.SettingsFile)
	require.NoError(t, os.WriteFile(file, []byte("workflow: {run: {attempts: 2}}\n"), 0o600))
	p := cli.Process{Now: time.Now}
	_, origins, err := project.Settings(p, root, config.Kinds{})
	require.NoError(t, err)
	w := driver{workspace: &workspace.Workspace{Project: &project.Project{Invocation: &cli.Invocation{Process: p}, Root: root, Origins: origins}}}
	ctx, cancel := context.WithCancel(t.Context())
	out, ended := make(chan orchestrator.Request), make(chan struct{})
	stamp := w.settingsStamp()
	go func() { defer close(ended); w.watchSettings(ctx, out, stamp) }()
	require.NoError(t, os.WriteFile(file, []byte("workflow: {run: {attempts: 12}}\n"), 0o600))
	r := <-out
	require.True(t, strings.HasPrefix(r.Event.Reason, "run.attempts was edited"), r.Event.Reason)
	cancel()
	<-ended
}
