package cmd

import (
	"slices"

	"github.com/beadsorch/orch/cmd/cli"
	"github.com/beadsorch/orch/cmd/config"
	"github.com/beadsorch/orch/orchestrator/harness"
	"github.com/beadsorch/orch/orchestrator/harness/claude"
	"github.com/beadsorch/orch/orchestrator/harness/codex"
	"github.com/beadsorch/orch/orchestrator/harness/command"
	"github.com/beadsorch/orch/orchestrator/harness/copilot"
	"github.com/beadsorch/orch/orchestrator/harness/gemini"
	"github.com/beadsorch/orch/orchestrator/harness/opencode"
)

// agentClient is an agent client: a program of this name, and how orch runs it.
type agentClient struct {
	name  string
	title string
	env   []string // what of the environment it needs, beside what every child is given
	make  func(binary string, a config.Agent) harness.Harness
}

// clients are all that orch knows.
func clients() []agentClient {
	return []agentClient{
		{"claude", "Claude Code", []string{"ANTHROPIC_*", "CLAUDE_CONFIG_DIR", "CLAUDE_CODE_TMPDIR", "CLAUDE_CODE_MAX_RETRIES", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_USE_*", "AWS_*", "DISABLE_*", "CLAUDE_CODE_DISABLE_*", "IS_SANDBOX"},
			func(binary string, a config.Agent) harness.Harness {
				return claude.New(claude.Options{Binary: binary, PermissionMode: a.PermissionMode, Model: a.Model, AllowedTools: a.AllowedTools})
			}},
		{"codex", "Codex CLI", []string{"CODEX_*", "OPENAI_*"},
			func(binary string, a config.Agent) harness.Harness {
				return codex.New(codex.Options{Binary: binary, Sandbox: a.PermissionMode, Model: a.Model})
			}},
		{"gemini", "Gemini CLI", []string{"GEMINI_*", "GOOGLE_*"},
			func(binary string, a config.Agent) harness.Harness {
				return gemini.New(gemini.Options{Binary: binary, ApprovalMode: a.PermissionMode, Model: a.Model, AllowedTools: a.AllowedTools})
			}},
		{"copilot", "GitHub Copilot CLI", []string{"COPILOT_*", "GH_TOKEN", "GITHUB_TOKEN", "GH_HOST"},
			func(binary string, a config.Agent) harness.Harness {
				return copilot.New(copilot.Options{Binary: binary, Permission: a.PermissionMode, Model: a.Model, AllowedTools: a.AllowedTools})
			}},
		{"opencode", "opencode", []string{"OPENCODE_*", "ANTHROPIC_*", "OPENAI_*", "GEMINI_*", "OPENROUTER_*"},
			func(binary string, a config.Agent) harness.Harness {
				return opencode.New(opencode.Options{Binary: binary, Permission: a.PermissionMode, Model: a.Model})
			}},
	}
}

// clientOf is the client of a name; ok is false for any other program.
func clientOf(name string) (c agentClient, ok bool) {
	all := clients()
	i := slices.IndexFunc(all, func(c agentClient) bool { return c.name == name })
	if i < 0 {
		return agentClient{}, false
	}
	return all[i], true
}

// harness is the adapter to the agent that the settings name.
func (w *workspace) harness() (harness.Harness, error) {
	agent := w.cfg.Agent
	c, ok := clientOf(agent.Harness)
	if !ok {
		return command.New(agent.Command), nil
	}
	binary := w.LookPath(c.name)
	if binary == "" {
		return nil, &cli.Error{Code: "NO_AGENT", What: c.name + " is not on PATH", Exit: cli.ExitNotReady, Why: "workflow.agent.harness is " + c.name,
			Fix: []string{"install " + c.title + ", or name another agent in project.yaml: workflow.agent: {harness: command, command: [...]}"}}
	}
	return c.make(binary, agent), nil
}
