package workspace

import (
	"strings"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/config"
	"github.com/beadsorch/orch/orchestrator/engine"
	"github.com/beadsorch/orch/orchestrator/harness"
	"github.com/beadsorch/orch/orchestrator/harness/claude"
	"github.com/beadsorch/orch/orchestrator/harness/codex"
	"github.com/beadsorch/orch/orchestrator/harness/command"
	"github.com/beadsorch/orch/orchestrator/harness/copilot"
	"github.com/beadsorch/orch/orchestrator/harness/gemini"
	"github.com/beadsorch/orch/orchestrator/harness/opencode"
	claudehooks "github.com/beadsorch/orch/stophook/claude"
	"github.com/beadsorch/orch/stophook/client"
	codexhooks "github.com/beadsorch/orch/stophook/codex"
	copilothooks "github.com/beadsorch/orch/stophook/copilot"
	geminihooks "github.com/beadsorch/orch/stophook/gemini"
)

// Client is an agent client: a program of that name, how orch runs it, and its hooks where it
// has any.
type Client struct {
	client.Client
	// Env names what it needs of the environment, beside what every child is given.
	Env []string
	// New is the adapter to the program, as the settings have it.
	New func(program string, a config.Agent) harness.Harness
}

// Clients are all that orch knows.
func Clients() []Client {
	return []Client{
		{claudehooks.Client(), []string{"ANTHROPIC_*", "CLAUDE_CONFIG_DIR", "CLAUDE_CODE_TMPDIR", "CLAUDE_CODE_MAX_RETRIES", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_USE_*", "AWS_*", "DISABLE_*", "CLAUDE_CODE_DISABLE_*", "IS_SANDBOX"},
			func(program string, a config.Agent) harness.Harness {
				return claude.New(claude.Options{Binary: program, PermissionMode: a.PermissionMode, Model: a.Model, AllowedTools: a.AllowedTools})
			}},
		{codexhooks.Client(), []string{"CODEX_*", "OPENAI_*"},
			func(program string, a config.Agent) harness.Harness {
				return codex.New(codex.Options{Binary: program, Sandbox: a.PermissionMode, Model: a.Model})
			}},
		{geminihooks.Client(), []string{"GEMINI_*", "GOOGLE_*"},
			func(program string, a config.Agent) harness.Harness {
				return gemini.New(gemini.Options{Binary: program, ApprovalMode: a.PermissionMode, Model: a.Model, AllowedTools: a.AllowedTools})
			}},
		{copilothooks.Client(), []string{"COPILOT_*", "GH_TOKEN", "GITHUB_TOKEN", "GH_HOST"},
			func(program string, a config.Agent) harness.Harness {
				return copilot.New(copilot.Options{Binary: program, Permission: a.PermissionMode, Model: a.Model, AllowedTools: a.AllowedTools})
			}},
		{client.Client{Name: "opencode", Title: "opencode"}, []string{"OPENCODE_*", "ANTHROPIC_*", "OPENAI_*", "GEMINI_*", "OPENROUTER_*"},
			func(program string, a config.Agent) harness.Harness {
				return opencode.New(opencode.Options{Binary: program, Permission: a.PermissionMode, Model: a.Model})
			}},
	}
}

// ClientOf is the client of a name; ok is false for any other program.
func ClientOf(name string) (c Client, ok bool) {
	for _, c := range Clients() {
		if c.Name == name {
			return c, true
		}
	}
	return Client{}, false
}

// Hooked are the clients whose sessions a hook can keep at work.
func Hooked() (all []client.Client) {
	for _, c := range Clients() {
		if len(c.Hooks) > 0 {
			all = append(all, c.Client)
		}
	}
	return all
}

// HookedNames lists the names of [Hooked] for a person.
func HookedNames() string {
	var names []string
	for _, c := range Hooked() {
		names = append(names, c.Name)
	}
	return strings.Join(names, ", ")
}

// HookedClient is the one of [Hooked] with a name. It fails for any other, and says what orch
// can do with that.
func HookedClient(name string) (client.Client, error) {
	c, known := ClientOf(name)
	if len(c.Hooks) > 0 {
		return c.Client, nil
	}
	e := &cli.Error{Code: "NO_HOOK", What: name + " is no client that orch has hooks for", Exit: cli.ExitUsage, Fix: []string{"one of " + HookedNames()}}
	if known {
		e.What, e.Why = c.Title+" has no hook for the end of a turn", "orch can start it, not hold its sessions"
		e.Fix = []string{"orch run EPIC, with workflow.agent: {harness: " + name + "} in project.yaml"}
	}
	return client.Client{}, e
}

// client is the agent that the settings name.
func (w *Workspace) client() engine.Client {
	a := w.Config.Agent
	return engine.Client{Harness: a.Harness, Command: a.Command, Model: a.Model, PermissionMode: a.PermissionMode, AllowedTools: a.AllowedTools}
}

// CheckHarness fails when the agent that the settings name is not on PATH.
func (w *Workspace) CheckHarness() error {
	_, err := w.harness(w.client())
	return err
}

// harness is the adapter to an agent's client. It fails when that is not on PATH.
func (w *Workspace) harness(of engine.Client) (harness.Harness, error) {
	c, ok := ClientOf(of.Harness)
	if !ok {
		return command.New(of.Command), nil
	}
	program := w.LookPath(c.Name)
	if program == "" {
		return nil, &cli.Error{Code: "NO_AGENT", What: c.Name + " is not on PATH", Exit: cli.ExitNotReady, Why: "workflow.agent.harness is " + c.Name,
			Fix: []string{"install " + c.Title + ", or name another agent in project.yaml: workflow.agent: {harness: command, command: [...]}"}}
	}
	return c.New(program, config.Agent{Harness: of.Harness, Command: of.Command, Model: of.Model, PermissionMode: of.PermissionMode, AllowedTools: of.AllowedTools}), nil
}
