// Package gemini adapts Gemini CLI, run without a terminal, to a harness.
//
// The client is started as `gemini --output-format stream-json`, the brief on stdin. What
// is said here was measured on Gemini CLI 0.61.0; its exit code after an error of the API
// is not 1 but another number (144, 145), and it ignores SIGINT while a request hangs, so
// that only its process group can be signalled.
package gemini

import (
	"github.com/beadsorch/orch/orchestrator/harness"
	"github.com/beadsorch/orch/orchestrator/harness/stream"
)

// Client is Gemini CLI.
func Client() harness.Client {
	return harness.Client{
		Name: "gemini", Title: "Gemini CLI", Env: []string{"GEMINI_*", "GOOGLE_*"},
		Modes: []string{"default", "auto_edit", "yolo", "plan"}, Mode: "auto_edit",
		Tools: []string{"run_shell_command(go)", "run_shell_command(git)"}, Toolless: "yolo",
		Files:   []string{".gemini/**"},
		Resumes: true, New: New,
		Needs: harness.Needs{
			Hosts:   []string{"generativelanguage.googleapis.com", "cloudcode-pa.googleapis.com", "oauth2.googleapis.com", "accounts.google.com"},
			Private: []string{".gemini"}, Keys: []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"},
			Login: []string{".gemini/oauth_creds.json", ".gemini/gemini-credentials.json", ".gemini/mcp-oauth-tokens.json", ".gemini/mcp-oauth-tokens-v2.json"},
			Fixed: []string{".gemini/settings.json", ".gemini/GEMINI.md", ".gemini/system.md", ".gemini/extensions", ".gemini/commands", ".gemini/policies", ".gemini/hooks", ".gemini/skills", ".gemini/agents", ".gemini/.env",
				".gemini/trustedFolders.json", ".agents"},
			Seed: []string{".gemini/google_accounts.json", ".gemini/installation_id", ".gemini/state.json"},
			Env:  []string{"SANDBOX=orch", "GEMINI_SANDBOX=false"},
		},
	}
}

type gemini struct{ options harness.Options }

// New is the harness for Gemini CLI. Its Launch fails with [harness.ErrOption]. Its Mode is the value of --approval-mode.
func New(o harness.Options) harness.Harness {
	if o.Program == "" {
		o.Program = "gemini"
	}
	return gemini{options: o}
}

// Launch implements harness.Harness. A new session's id has to be a UUID. The folder counts
// as trusted for this run: it is a worktree of the person's own repository.
func (g gemini) Launch(s harness.Spec) (harness.Launch, error) {
	o := g.options
	if err := s.Check(append([]string{o.Mode, o.Model}, o.Tools...)...); err != nil {
		return harness.Launch{}, err
	}
	argv := []string{o.Program, "--output-format", "stream-json", "--skip-trust"}
	option := func(name, value string) {
		if value != "" {
			argv = append(argv, name, value)
		}
	}
	option("--approval-mode", o.Mode)
	option("--model", o.Model)
	for _, tool := range o.Tools {
		option("--allowed-tools", tool)
	}
	if s.Resume {
		option("--resume", s.Session)
	} else {
		option("--session-id", s.Session)
	}
	return harness.Launch{Argv: argv, Stdin: []byte(s.Brief)}, nil
}

// Reader implements harness.Harness.
func (g gemini) Reader() harness.Reader { return stream.NewReader(parseLine) }
