// Package codex adapts Codex CLI, run as `codex exec --json`, to a harness.
//
// The brief is read from stdin. The client chooses the id of a new conversation itself and
// prints it in its first line; its token counts are of the conversation from its beginning,
// earlier processes included. What is said here was measured on Codex CLI
// 0.169.0; it exits 1 after an error of the API and after an interrupt.
package codex

import (
	"github.com/beadsorch/orch/orchestrator/harness"
	"github.com/beadsorch/orch/orchestrator/harness/stream"
)

// Client is Codex CLI. It has no list of tools, and is held in by its sandbox.
func Client() harness.Client {
	return harness.Client{
		Name: "codex", Title: "Codex CLI", Env: []string{"CODEX_*", "OPENAI_*"},
		Modes: []string{"read-only", "workspace-write", "danger-full-access"}, Mode: "workspace-write",
		Files:   []string{".codex/**", ".agents/**"},
		Resumes: true, New: New,
		Needs: harness.Needs{
			Hosts: []string{"chatgpt.com", "api.openai.com", "auth.openai.com"},
			Share: []string{".codex"}, Moved: "CODEX_HOME", Keys: []string{"CODEX_API_KEY", "CODEX_ACCESS_TOKEN"}, // it moves a new auth.json into place, under a lock beside it
			Fixed: []string{".codex/config.toml", ".codex/managed_config.toml", ".codex/requirements.toml", ".codex/hooks.json", ".codex/.env", ".codex/AGENTS.md", ".codex/AGENTS.override.md", ".codex/instructions.md",
				".codex/rules", ".codex/prompts", ".codex/skills", ".codex/plugins", ".codex/agents", ".codex/packages", ".codex/vendor_imports", ".agents"},
			Own: []string{".codex/sessions", ".codex/archived_sessions", ".codex/shell_snapshots", ".codex/thread-writer-locks", ".codex/memories", ".codex/log", ".codex/.tmp", ".codex/tmp"},
			Env: []string{"CODEX_SQLITE_HOME=$HOME/.codex-databases"},
		},
	}
}

type codex struct{ options harness.Options }

// New is the harness for Codex CLI. Its Launch fails with [harness.ErrOption]. Its Mode is the value of --sandbox:
// in a workspace-write sandbox an agent cannot write to .git, and what it leaves uncommitted is
// committed by whoever looks at its work.
func New(o harness.Options) harness.Harness {
	if o.Program == "" {
		o.Program = "codex"
	}
	return codex{options: o}
}

// Launch implements harness.Harness. The id of a new session cannot be chosen.
func (c codex) Launch(s harness.Spec) (harness.Launch, error) {
	o := c.options
	if err := s.Check(o.Mode, o.Model); err != nil {
		return harness.Launch{}, err
	}
	argv := []string{o.Program, "exec", "--json"}
	switch {
	case o.Bounded && o.Mode != "read-only": // who asks for less than the bounds gets that
		argv = append(argv, "--dangerously-bypass-approvals-and-sandbox")
	case o.Mode != "":
		argv = append(argv, "--sandbox", o.Mode)
	}
	if o.Model != "" {
		argv = append(argv, "--model", o.Model)
	}
	if s.Resume {
		argv = append(argv, "resume", s.Session)
	}
	return harness.Launch{Argv: append(argv, "-"), Stdin: []byte(s.Brief)}, nil
}

// Reader implements harness.Harness.
func (c codex) Reader() harness.Reader { return stream.NewReader(parseLine) }
