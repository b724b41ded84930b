package config_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/cmd/internal/config"
	"github.com/beadsorch/orch/orchestrator/validation"
)

func TestAddGate(t *testing.T) {
	t.Parallel()
	const rule = "- {name: check_1, type: command, command: \"npm test\"}\n"
	for before, want := range map[string]string{
		"":                   "workflow:\n  gate:\n    " + rule,
		"# mine\nother: 1\n": "# mine\nother: 1\nworkflow:\n  gate:\n    " + rule,
		"other: 1":           "other: 1\nworkflow:\n  gate:\n    " + rule,
		"workflow: # all\n    run: {max_parallel: 2} # two\n\nother: x\n": "workflow: # all\n    gate:\n      " + rule + "    run: {max_parallel: 2} # two\n\nother: x\n",
		"workflow:\n  gate: []\n": "",
		"workflow: {run: {}}\n":   "",
		"workflow:\n":             "",
		"workflow:\n  runn: {}\n": "",
		"{\"workflow\": {}}":      "",
		"a: [":                    "",
		"workflow:\n\trun: {}\n":  "",
	} {
		got, ok := config.AddGate("project.yaml", []byte(before), []validation.Rule{{Name: "check_1", Command: "npm test"}}, nil)
		require.Equal(t, want != "", ok, before)
		if !ok {
			want = before
		}
		require.Equal(t, want, string(got), before)
	}
	_, ok := config.AddGate("project.yaml", nil, nil, []string{"npm ci"})
	require.False(t, ok)
	got, ok := config.AddGate("project.yaml", nil, []validation.Rule{{Name: "a", Command: `sh -c "x: #y"`}, {Name: "b", Command: "make"}}, []string{"npm ci", `a "b"`})
	require.True(t, ok)
	c, _, err := config.Load("project.yaml", got, nil)
	require.NoError(t, err)
	require.Equal(t, `sh -c "x: #y"`, c.Gate[0].Command)
	require.Equal(t, "make", c.Gate[1].Command)
	require.Equal(t, []string{"npm ci", `a "b"`}, c.Setup)
	got, ok = config.AddGate("project.yaml", []byte("workflow:\n  setup: [own]\n"), []validation.Rule{{Name: "a", Command: "b"}}, []string{"npm ci"})
	require.True(t, ok)
	c, _, err = config.Load("project.yaml", got, nil)
	require.NoError(t, err)
	require.Equal(t, []string{"own"}, c.Setup)
}
