// Package copilot adapts GitHub Copilot CLI, run without a terminal, to a harness.
//
// The client is started as `copilot --output-format json`, the brief on stdin. What is said
// here was measured on Copilot CLI 1.0.102: it does not report how many tokens it used, and
// exits 0 after an interrupt.
package copilot

import (
	"github.com/beadsorch/orch/orchestrator/harness"
	"github.com/beadsorch/orch/orchestrator/harness/stream"
)

// AllowAllTools is the mode in which every tool may be used unasked.
const AllowAllTools = "allow-all-tools"

// Client is GitHub Copilot CLI.
func Client() harness.Client {
	return harness.Client{
		Name: "copilot", Title: "GitHub Copilot CLI", Env: []string{"COPILOT_*", "GH_TOKEN", "GITHUB_TOKEN", "GH_HOST"},
		Modes: []string{AllowAllTools}, Tools: []string{"write", "shell(go:*)", "shell(git:*)"},
		Files: []string{
			".github/hooks/**", ".github/copilot/**", ".github/agents/**", ".github/skills/**", ".github/extensions/**", ".github/plugin/**",
			".github/mcp.json", ".github/lsp.json", ".copilot/**", ".vscode/mcp.json", ".devcontainer/devcontainer.json",
		},
		Protect: []string{".github/**", ".vscode/**", ".devcontainer/**"},
		Resumes: true, New: New,
		Needs: harness.Needs{
			Hosts:   []string{"api.github.com", "api.githubcopilot.com", "api.individual.githubcopilot.com", "api.business.githubcopilot.com", "api.enterprise.githubcopilot.com"},
			Private: []string{".copilot"}, Moved: "COPILOT_HOME",
			Fixed: []string{".copilot/hooks", ".copilot/agents", ".copilot/mcp-config.json", ".copilot/lsp-config.json", ".copilot/skills", ".copilot/copilot-instructions.md", ".copilot/instructions",
				".copilot/installed-plugins", ".copilot/extensions", ".copilot/pkg"},
			Seed: []string{".copilot/config.json", ".copilot/settings.json", ".copilot/permissions-config.json"}, // which it writes as it starts; its token does not change
			Read: []string{".cache/copilot/pkg", ".config/gh"},
		},
	}
}

type copilot struct{ options harness.Options }

// New is the harness for Copilot CLI. Its Launch fails with [harness.ErrOption]. Its Mode is
// [AllowAllTools], or empty: then only the tools that are named may be used.
func New(o harness.Options) harness.Harness {
	if o.Program == "" {
		o.Program = "copilot"
	}
	return copilot{options: o}
}

// Launch implements harness.Harness. A new session's id has to be a UUID. The folder is
// not made a trusted one (the client has no way to, for a session whose id is chosen): hooks
// of the repository do not run, tools do.
func (c copilot) Launch(s harness.Spec) (harness.Launch, error) {
	o := c.options
	if err := s.Check(append([]string{o.Mode, o.Model}, o.Tools...)...); err != nil {
		return harness.Launch{}, err
	}
	argv := []string{o.Program, "--output-format", "json", "--no-ask-user", "--no-auto-update"}
	if o.Mode == AllowAllTools {
		argv = append(argv, "--allow-all-tools")
	}
	for _, tool := range o.Tools {
		argv = append(argv, "--allow-tool="+tool)
	}
	if o.Model != "" {
		argv = append(argv, "--model", o.Model)
	}
	switch {
	case s.Resume:
		argv = append(argv, "--resume="+s.Session)
	case s.Session != "":
		argv = append(argv, "--session-id="+s.Session)
	}
	return harness.Launch{Argv: argv, Stdin: []byte(s.Brief)}, nil
}

// Reader implements harness.Harness.
func (c copilot) Reader() harness.Reader { return stream.NewReader(parseLine) }
