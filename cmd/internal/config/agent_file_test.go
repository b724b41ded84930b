package config_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/cmd/internal/config"
)

func agentFile(name, text string) config.AgentFile {
	return config.AgentFile{Path: "/repo/.claude/agents/" + name + ".md", Text: []byte(text)}
}

const gate = "  gate: [{name: tests_pass, type: command, command: go test ./...}, {name: lint, type: command, command: lint}]\n"

// TestAgentFiles: an agent's own file says how it iterates; the settings override it; what
// is not orch's affair is passed over.
func TestAgentFiles(t *testing.T) {
	t.Parallel()
	load := func(settings string, files ...config.AgentFile) config.Config {
		c, _, err := config.Load("/repo/project.yaml", []byte(settings), nil, files...)
		require.NoError(t, err)
		return c
	}
	me := agentFile("me", "---\nname: me\ndescription: x: y\niteration:\n  enabled: true\n  maxIterations: 7\n  completionPromises:\n    - \"<promise>COMPLETE</promise>\"\n  validationRules:\n    - tests_pass\n    - compiles\n---\n# Me\n")
	c := load("workflow:\n"+gate, agentFile("me", "---\r\nname: me\r\niteration: {maxIterations: 7, validationRules: [tests_pass, compiles]}\r\n---\r\n# Me"))
	require.Equal(t, config.Definition{Enabled: true, MaxIterations: 7, ValidationRules: []string{"tests_pass"}}, c.Agents["me"], "rules that the gate has not are left out")
	require.Equal(t, []string{"me: compiles"}, c.Missing)
	require.Equal(t, map[string]string{"me": "# Me"}, c.Roles)
	require.Equal(t, 15, load("workflow:\n"+gate, me).Agents["me"].MaxIterations, "a head that is no YAML says nothing")

	reviewer := agentFile("reviewer", "---\nname: reviewer\ntools: [Read]\niteration:\n  enabled: false\n---\n")
	c = load("workflow:\n"+gate+"  agents: {me: {maxIterations: 3, validationRules: [lint]}}\n", reviewer, agentFile("me", "---\niteration: {maxIterations: 7, validationRules: [tests_pass]}\n---\n"))
	require.Equal(t, config.Definition{MaxIterations: 15}, c.Agents["reviewer"])
	require.Equal(t, config.Definition{Enabled: true, MaxIterations: 3, ValidationRules: []string{"lint"}}, c.Agents["me"])

	for _, text := range []string{"", "# No head", "---\nname: x\n", "---\n- a\n---\n", "---\nname: x\n---\n"} {
		require.NotContains(t, load("", agentFile("other", text)).Agents, "other", text)
	}
	for text, role := range map[string]string{"": "", "# No head\n": "# No head", "---\nname: x\n---\n\nYou review.\n\n---\nmore\n": "You review.\n\n---\nmore", "---\nname: x\n": "---\nname: x"} {
		require.Equal(t, role, load("", agentFile("other", text)).Roles["other"], text)
	}
	_, _, err := config.Load("/repo/project.yaml", nil, nil, agentFile("me", "---\nname: me\niteration:\n  maxIteration: 7\n---\n"))
	var bad *config.Error
	require.ErrorAs(t, err, &bad)
	require.Equal(t, "/repo/.claude/agents/me.md", bad.File)
	require.Equal(t, 4, bad.Line)
	require.Contains(t, bad.Fix, "maxIterations")
}

// FuzzRules: whatever is read as rules is well-formed, and everything else an error.
func FuzzRules(f *testing.F) {
	f.Add(`[{"name": "x", "command": "true"}]`)
	f.Add("- {name: x, type: coverage, path: c.out, min: 80}\n- name: y\n")
	f.Fuzz(func(t *testing.T, text string) {
		rules, err := config.Rules("rules", []byte(text))
		for _, r := range rules {
			if bad := r.Check(); err == nil && bad != nil {
				t.Fatal(bad)
			}
		}
	})
}

func FuzzAgentFile(f *testing.F) {
	f.Add("---\niteration: {maxIterations: 7}\n---\n")
	f.Fuzz(func(t *testing.T, text string) {
		c, _, err := config.Load("/repo/project.yaml", nil, nil, agentFile("me", text))
		if err == nil && c.Agents["me"].MaxIterations < 1 {
			t.Fatal(c.Agents["me"])
		}
	})
}
