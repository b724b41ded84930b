// Package codex is Codex CLI: its hooks in .codex/hooks.json, and the skill $run-tasks.
//
// What is said of the client was measured on Codex CLI 0.169.0. It takes nothing in an
// answer beside decision and reason, and it runs no hook that a person has not trusted: by
// its hash, so that a changed one has to be trusted again. Without that it says nothing.
package codex

import (
	"time"

	"github.com/beadsorch/orch/stophook/client"
	"github.com/beadsorch/orch/stophook/settings"
)

// Client is Codex CLI.
func Client() client.Client {
	return client.Client{
		Sandbox: "Codex's own sandbox stays as it is: in its mode workspace-write no session can commit in a linked worktree, and orch land commits what it leaves there",
		Name:    "codex", Title: "Codex CLI", Settings: ".codex/hooks.json",
		Hooks: []settings.Hook{
			{Event: "Stop", Command: "orch stop-hook --client codex", Timeout: 30 * time.Second},
			{Event: "SessionStart", Command: "orch session-start --client codex", Timeout: 30 * time.Second},
			{Event: "SessionEnd", Command: "orch session-end --client codex", Timeout: 3 * time.Second}, // no more is given
			{Event: "UserPromptSubmit", Command: "orch session-prompt --client codex", Timeout: 30 * time.Second},
		},
		Append: map[string]string{".codex/config.toml": tools},
		Files:  map[string]string{".agents/skills/run-tasks/SKILL.md": client.Skill}, Elsewhere: []string{"~/.codex/hooks.json"},
		Prompt: ".codex/prompts/run-tasks.md", Start: "$run-tasks EPIC", Trust: "in Codex type /hooks and trust the three: others it skips without a word",
		Block: client.Block, Context: client.Context,
	}
}

// tools lists orch's tools for a model.
const tools = `[mcp_servers.orch]
command = "orch"
args = ["mcp"]
`
