package workspace_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/config"
	"github.com/beadsorch/orch/cmd/internal/workspace"
	"github.com/beadsorch/orch/orchestrator/harness/all"
	"github.com/beadsorch/orch/orchestrator/protect"
	"github.com/beadsorch/orch/stophook/claude"
)

// TestOneNameOneClient: a client with hooks is the one that orch starts by that name.
func TestOneNameOneClient(t *testing.T) {
	t.Parallel()
	for _, hooked := range workspace.ClientsWithHooks() {
		c, known := all.Client(hooked.Name)
		require.True(t, known, hooked.Name)
		require.Equal(t, c.Title, hooked.Title)
	}
}

// TestInstalledFilesAreAskedAbout: whatever file orch itself puts hooks, servers, commands or agents
// for a client into, that client takes such from, whoever wrote it. So it is in the question whether
// the repository is trusted, and protected.
func TestInstalledFilesAreAskedAbout(t *testing.T) {
	t.Parallel()
	set, err := protect.New(all.Protected(), nil, protect.Tree{Files: func([]string) (map[string][]byte, error) { return nil, nil }})
	require.NoError(t, err)
	for _, c := range workspace.ClientsWithHooks() {
		files := slices.Concat(c.Elsewhere, slices.Collect(maps.Keys(c.Append)), slices.Collect(maps.Keys(c.Files)), []string{c.Settings, c.Servers, config.AgentsFolder + "/me.md", claude.ShimFile})
		for _, file := range files {
			if file == "" || strings.HasPrefix(file, "~/") {
				continue
			}
			require.True(t, slices.ContainsFunc(all.Files(), func(f string) bool { return file == f || strings.HasPrefix(file, f+"/") }), "%s of %s", file, c.Name)
			touched, err := set.Touched([]protect.Change{{Path: file, OldMode: "000000", NewMode: "100644", New: "1"}}, nil)
			require.NoError(t, err)
			require.Equal(t, []string{file}, touched)
		}
	}
}

// TestHookedClient gives those that a hook can hold, and says of another what orch can do.
func TestHookedClient(t *testing.T) {
	t.Parallel()
	for _, c := range workspace.ClientsWithHooks() {
		same, err := workspace.HookedClient(c.Name)
		require.NoError(t, err)
		require.Equal(t, c.Title, same.Title)
	}
	var e *cli.Error
	_, err := workspace.HookedClient("opencode")
	require.ErrorAs(t, err, &e)
	require.Contains(t, e.Why, "not hold its sessions")
	_, err = workspace.HookedClient("vi")
	require.ErrorAs(t, err, &e)
	require.Equal(t, "one of claude, codex, gemini, copilot", e.Fix[0])
}
