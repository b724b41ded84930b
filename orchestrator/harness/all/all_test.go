package all_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/harness"
	"github.com/beadsorch/orch/orchestrator/harness/all"
	"github.com/beadsorch/orch/orchestrator/protect"
)

// TestProtected: what a client runs programs by no task changes by itself.
func TestProtected(t *testing.T) {
	t.Parallel()
	set, err := protect.New(all.Protected(), nil, nil, func([]string) (map[string][]byte, error) { return nil, nil })
	require.NoError(t, err)
	require.Contains(t, all.Files(), ".claude/settings.json")
	for _, file := range all.Files() {
		touched, err := set.Touched([]protect.Change{{Path: file, OldMode: "000000", NewMode: "100644", New: "1"}}, nil)
		require.NoError(t, err)
		require.Equal(t, []string{file}, touched)
	}
}

// TestClients: each can be started in each of its modes, and is found by its name.
func TestClients(t *testing.T) {
	t.Parallel()
	for _, c := range all.Clients() {
		same, ok := all.Client(c.Name)
		require.True(t, ok)
		require.Equal(t, c.Title, same.Title)
		require.NotEmpty(t, c.Title)
		require.NotEmpty(t, c.Env, c.Name)
		for _, mode := range append(c.Modes, c.Mode) {
			l, err := c.New(harness.Options{Program: "/bin/" + c.Name, Mode: mode, Model: "m", Tools: c.Tools}).Launch(harness.Spec{Brief: "do"})
			require.NoError(t, err, c.Name)
			require.Equal(t, "/bin/"+c.Name, l.Argv[0])
			require.Contains(t, l.Argv, "m")
			again, err := c.New(harness.Options{Program: "/bin/" + c.Name, Mode: mode, Model: "m", Tools: c.Tools}).Launch(harness.Spec{Brief: "do", Session: "s-1", Resume: true})
			require.NoError(t, err, c.Name)
			require.Equal(t, c.Resumes, strings.Contains(strings.Join(again.Argv, " "), "s-1"), "%s is told which conversation to go on with", c.Name)
		}
	}
	_, ok := all.Client("vi")
	require.False(t, ok)
}
