package claude

import (
	"encoding/json"
	"fmt"
	"strings"
)

// ShimFile is where teams have a stop hook of their own.
const ShimFile = ".claude/hooks/stop.sh"

// Shim is .claude/hooks/stop.sh for teams that have that file as the configured hook: it
// hands the decision to orch, and lets the session end, saying so, where orch is not
// installed. An argument is the epic that its sessions are kept at work on.
const Shim = `#!/bin/sh
command -v orch >/dev/null || { echo "orch is not on PATH: nothing holds this session" >&2; exit 0; }
exec orch stop-hook "$@"
`

// IsShim reports whether a script is the [Shim], also as it was before it passed its arguments on.
func IsShim(script string) bool {
	return script == Shim || script == strings.Replace(Shim, ` "$@"`, "", 1)
}

// Plugin is orch as a plugin of the client: its files by their paths below the plugin's
// folder. version is orch's own, as a semantic version.
func Plugin(version string) (map[string]string, error) {
	events := map[string]any{}
	for _, h := range Client().Hooks {
		events[h.Event] = []any{map[string]any{"hooks": []any{map[string]any{"type": "command", "command": h.Command, "timeout": h.Limit()}}}}
	}
	files := map[string]string{
		"commands/run-tasks.md": Command,
		"README.md":             pluginReadme,
	}
	for path, doc := range map[string]any{
		".claude-plugin/plugin.json": map[string]any{
			"name": "orch", "version": version, "description": "Run an epic of tasks to the end: state decides when a session may stop.",
			"author": map[string]string{"name": "orch"}, "license": "Apache-2.0",
		},
		"hooks/hooks.json": map[string]any{"description": "orch decides by the tracker and by git whether a session may end", "hooks": events},
	} {
		text, err := json.MarshalIndent(doc, "", "  ")
		if err != nil {
			return nil, fmt.Errorf("writing %s: %w", path, err)
		}
		files[path] = string(text) + "\n"
	}
	return files, nil
}

const pluginReadme = `# orch for Claude Code

Type ` + "`/orch:run-tasks EPIC`" + ` to run an epic of tasks to the end. The plugin needs the
program orch on PATH; it adds hooks for Stop, SessionStart and SessionEnd, which affect only
sessions that run an epic or a loop.
`
