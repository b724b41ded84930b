// Package copilot is GitHub Copilot CLI: its hooks in .github/hooks/orch.json, and the
// skill /run-tasks.
//
// What is said of the client was measured on Copilot CLI 1.0.102. It sends a session back
// eight times for one prompt and no more, whatever tools were called; it does not tell a
// hook the agent's last message; and it runs hooks in folders that are trusted only. It
// runs the hooks of .claude/settings.json as well: there orch's leave the decision to those
// in .github/hooks.
package copilot

import (
	"encoding/json"
	"time"

	"github.com/beadsorch/orch/stophook/client"
	"github.com/beadsorch/orch/stophook/settings"
)

// HooksFile is where the hooks are; the whole file is orch's.
const HooksFile = ".github/hooks/orch.json"

// Variable is set in the environment of the client's hooks.
const Variable = "COPILOT_CLI"

const maxBlocks = 8

// Client is Copilot CLI.
func Client() client.Client {
	c := client.Client{
		Sandbox: "Copilot CLI's own sandbox (/sandbox) is not proposed: whether a session can commit in a linked worktree there is not known",
		Name:    "copilot", Title: "GitHub Copilot CLI", Servers: ".github/mcp.json",
		Hooks: []settings.Hook{
			{Event: "agentStop", Command: "orch stop-hook --client copilot", Timeout: 30 * time.Second},
			{Event: "sessionStart", Command: "orch session-start --client copilot", Timeout: 30 * time.Second},
			{Event: "userPromptSubmitted", Command: "orch session-prompt --client copilot", Timeout: 30 * time.Second},
		},
		Prompt: ".github/prompts/run-tasks.md", Start: "/run-tasks EPIC", Trust: "trust the folder in Copilot CLI (with -p: --trust-folder): elsewhere it skips hooks without a word",
		MaxBlocks: maxBlocks, Block: client.Block,
		Context: func(_, text string) map[string]any { return map[string]any{"additionalContext": text} },
	}
	c.Files = map[string]string{HooksFile: hooksFile(c.Hooks), ".github/skills/run-tasks/SKILL.md": client.Skill}
	return c
}

func hooksFile(hooks []settings.Hook) string {
	events := map[string]any{}
	for _, h := range hooks {
		events[h.Event] = []any{map[string]any{"type": "command", "bash": h.Command, "timeoutSec": h.Limit()}}
	}
	text, err := json.MarshalIndent(map[string]any{"version": 1, "hooks": events}, "", "  ")
	if err != nil {
		panic(err) // of maps of strings and numbers
	}
	return string(text) + "\n"
}
