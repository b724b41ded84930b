// Package client says what orch has to know of an agent client to keep its sessions at
// work. Each client is a value of [Client], made in a package of its own.
package client

import (
	"maps"
	"slices"
	"strings"

	"github.com/beadsorch/orch/stophook/settings"
)

// Client is one agent client, as its hooks and commands see it.
type Client struct {
	// Name is what orch init --client takes, and the client's program.
	Name string
	// Title is how people call it.
	Title string
	// Settings is the file of the repository that Hooks are merged into; "" for none.
	Settings string
	// Hooks are the commands that the client runs.
	Hooks []settings.Hook
	// Servers is the file of the repository that tools are listed in, under mcpServers: it
	// may be Settings; "" for none.
	Servers string
	// Append are texts at the end of files of the repository that others write too, by their
	// paths.
	Append map[string]string
	// Files are those of the repository that are orch's as a whole, by their paths.
	Files map[string]string
	// Elsewhere are other files that the client takes hooks from: in the repository, or
	// below ~/ of the person.
	Elsewhere []string
	// Prompt is the file of the repository that a team may have its own prompt in, for sessions that run an epic.
	Prompt string
	// Start is what a person types to run an epic.
	Start string
	// Trust is what a person has to do before the client runs the hooks; "" for nothing.
	Trust string
	// Sandbox is what the client's own sandbox means for a session that works in orch's worktrees, in a sentence; orch switches none on.
	Sandbox string
	// MaxBlocks is how often the client lets a stop be blocked for one prompt; 0 is
	// without such a bound.
	MaxBlocks int
	// Fresh says that the client can drop the conversation when it sends a session back.
	Fresh bool
	// Block is what sends a session back with a prompt, as JSON; fresh drops the
	// conversation before, where the client can.
	Block func(prompt string, fresh bool) any
	// Tell is what shows a text to the person as a session begins or ends, as JSON; nil where the
	// client shows them nothing of a hook.
	Tell func(text string) map[string]any
	// Context is what gives a session a text at an event, as JSON.
	Context func(event, text string) map[string]any
}

// QuickProgram answers as orch stop-hook does, and sooner; not everybody who has orch has it.
const QuickProgram = "orch-stop-hook"

// Quick is the client whose stops are asked of [QuickProgram]. What was installed without
// it counts as the same.
func (c Client) Quick() Client {
	const slow = "orch stop-hook"
	c.Hooks = slices.Clone(c.Hooks)
	for n, h := range c.Hooks {
		if rest, ok := strings.CutPrefix(h.Command, slow); ok {
			c.Hooks[n].Command, c.Hooks[n].Also = QuickProgram+rest, h.Command
		}
	}
	c.Files = maps.Clone(c.Files)
	for path, text := range c.Files {
		c.Files[path] = strings.ReplaceAll(text, `"`+slow, `"`+QuickProgram)
	}
	return c
}

// Block is the answer that all clients understand, and beside which Codex takes nothing.
func Block(prompt string, _ bool) any {
	return map[string]string{"decision": "block", "reason": prompt}
}

// Context is the answer of Claude Code, Codex and Gemini CLI to an event.
func Context(event, text string) map[string]any {
	return map[string]any{"hookSpecificOutput": map[string]string{"hookEventName": event, "additionalContext": text}}
}

// Skill is a SKILL.md, which several clients read from folders of their own: it has the
// model bind the session itself, where no hook has done so.
const Skill = `---
name: run-tasks
description: Run all tasks of an epic with orch, to the end. Use it when asked to run the tasks of an epic, as in "run-tasks EPIC".
---

Run this in a shell first, with the id of the epic that was named:

    orch session bind EPIC

It prints what to do. Do that, to the end.
`
