package config

// client is an agent client, as far as its settings go.
type client struct {
	name  string
	modes []string // the words of permission_mode; nil for those that are passed on unseen

	// What it may do unasked where nobody says otherwise: edit files, and run git and go.
	mode     string
	tools    []string
	toolless string // the mode in which such a list would deny the rest
}

// clients are all that an agent may be. Codex has no list of tools, and is held in by its
// sandbox; opencode asks for next to nothing by itself.
func clients() []client {
	return []client{
		{name: "claude", mode: "acceptEdits", tools: []string{"Bash(go *)", "Bash(git *)"}},
		{name: "codex", modes: []string{"read-only", "workspace-write", "danger-full-access"}, mode: "workspace-write"},
		{name: "gemini", modes: []string{"default", "auto_edit", "yolo", "plan"}, mode: "auto_edit",
			tools: []string{"run_shell_command(go)", "run_shell_command(git)"}, toolless: "yolo"},
		{name: "copilot", modes: []string{"allow-all-tools"}, tools: []string{"write", "shell(go:*)", "shell(git:*)"}},
		{name: "opencode", modes: []string{"auto"}},
	}
}

// clientOf is the client of a name; the zero client for any other program.
func clientOf(name string) client {
	for _, c := range clients() {
		if c.name == name {
			return c
		}
	}
	return client{}
}

// Harnesses are the clients that an agent may be, and any command.
func Harnesses() (names []string) {
	for _, c := range clients() {
		names = append(names, c.name)
	}
	return append(names, "command")
}

// unattended sets what a client may do unasked, where nobody says.
func (s settings) unattended(a *Agent) {
	c, agent := clientOf(a.Harness), s.named("agent").within
	if c.toolless != "" && c.toolless == a.PermissionMode {
		c.tools = nil
	}
	if agent.named("permission_mode").from == "" {
		a.PermissionMode = c.mode
	}
	if agent.named("allowed_tools").from == "" {
		a.AllowedTools = c.tools
	}
}
