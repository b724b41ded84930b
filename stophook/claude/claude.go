// Package claude is Claude Code: its hooks in settings.json, the command /run-tasks, and a
// plugin with both.
//
// What is said of the client was measured on Claude Code 2.1.329.
package claude

import (
	"time"

	"github.com/beadsorch/orch/stophook/client"
	"github.com/beadsorch/orch/stophook/settings"
)

// Client is Claude Code. It overrides a hook after eight blocks in a row without a call of a
// tool in between, which a prompt that asks for one never meets. Its own limit for a hook
// is 600 s; orch's answer within two.
func Client() client.Client {
	return client.Client{
		Sandbox: "Claude Code's own sandbox (its setting sandbox) is not proposed: in it no session can commit in a linked worktree, and these are where orch has it work",
		Name:    "claude", Title: "Claude Code", Settings: ".claude/settings.json", Servers: ".mcp.json",
		Hooks: []settings.Hook{{Event: "Stop", Command: "orch stop-hook", Timeout: 30 * time.Second}, {Event: "SessionStart", Command: "orch session-start", Timeout: 30 * time.Second},
			{Event: "SessionEnd", Command: "orch session-end", Timeout: 30 * time.Second}},
		Files: map[string]string{".claude/commands/run-tasks.md": Command}, Elsewhere: []string{".claude/settings.local.json", "~/.claude/settings.json"},
		Prompt: ".claude/prompts/run-tasks.md", Start: "/run-tasks EPIC", Block: client.Block, Context: client.Context,
		Tell: func(text string) map[string]any { return map[string]any{"systemMessage": text} },
	}
}

// Command is the file .claude/commands/run-tasks.md: typed as /run-tasks EPIC it binds the
// session and gives the model its prompt.
const Command = `---
description: Run all tasks of an epic with orch, to the end
argument-hint: EPIC
allowed-tools: Bash(orch:*)
---
!` + "`orch session bind $ARGUMENTS --session ${CLAUDE_SESSION_ID}`" + `
`
