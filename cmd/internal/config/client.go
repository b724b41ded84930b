package config

import "github.com/beadsorch/orch/orchestrator/harness/all"

// Harnesses are the clients that an agent may be, and any command.
func Harnesses() (names []string) {
	for _, c := range all.Clients() {
		names = append(names, c.Name)
	}
	return append(names, "command")
}

// unattended sets what a client may do unasked, where nobody says.
func (s settings) unattended(a *Agent) {
	c, _ := all.Client(a.Harness)
	agent := s.named("agent").within
	if c.Toolless != "" && c.Toolless == a.PermissionMode {
		c.Tools = nil
	}
	if agent.named("permission_mode").from == "" {
		a.PermissionMode = c.Mode
	}
	if agent.named("allowed_tools").from == "" {
		a.AllowedTools = c.Tools
	}
}
