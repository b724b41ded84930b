// Package gemini is Gemini CLI: its hooks in .gemini/settings.json, and the command
// /run-tasks.
//
// What is said of the client was measured on Gemini CLI 0.61.0. Its limits for hooks are in
// milliseconds. It is the one client that can drop the conversation when it sends a session
// back, so that each task begins with a context of its own; and the one whose last message
// counts all since the prompt.
package gemini

import (
	"time"

	"github.com/beadsorch/orch/stophook/client"
	"github.com/beadsorch/orch/stophook/settings"
)

// Client is Gemini CLI.
func Client() client.Client {
	return client.Client{
		Sandbox: "Gemini CLI's own sandbox (its setting tools.sandbox) is not proposed: whether a session can commit in a linked worktree there is not known",
		Name:    "gemini", Title: "Gemini CLI", Settings: ".gemini/settings.json", Servers: ".gemini/settings.json",
		Hooks: []settings.Hook{
			{Event: "AfterAgent", Command: "orch stop-hook --client gemini", Timeout: 30 * time.Second, Unit: time.Millisecond},
			{Event: "SessionStart", Command: "orch session-start --client gemini", Timeout: 30 * time.Second, Unit: time.Millisecond},
			{Event: "SessionEnd", Command: "orch session-end --client gemini", Timeout: 30 * time.Second, Unit: time.Millisecond},
			{Event: "BeforeAgent", Command: "orch session-prompt --client gemini", Timeout: 30 * time.Second, Unit: time.Millisecond},
		},
		Files: map[string]string{".gemini/commands/run-tasks.toml": command}, Elsewhere: []string{"~/.gemini/settings.json"},
		Prompt: ".gemini/prompts/run-tasks.md", Start: "/run-tasks EPIC", Fresh: true, Block: block, Context: client.Context,
	}
}

// command expands to what was typed: the hook at BeforeAgent binds the session by it, and
// adds what to do.
const command = `description = "Run all tasks of an epic with orch, to the end"
prompt = "/run-tasks {{args}}"
`

func block(prompt string, fresh bool) any {
	answer := map[string]any{"decision": "block", "reason": prompt}
	if fresh {
		answer["hookSpecificOutput"] = map[string]any{"hookEventName": "AfterAgent", "clearContext": true}
	}
	return answer
}
