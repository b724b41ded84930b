package cmd

import (
	"path/filepath"
	"strings"

	"github.com/beadsorch/orch/cmd/cli"
	"github.com/beadsorch/orch/stophook/claude"
	"github.com/beadsorch/orch/stophook/client"
	"github.com/beadsorch/orch/stophook/codex"
	"github.com/beadsorch/orch/stophook/copilot"
	"github.com/beadsorch/orch/stophook/gemini"
)

// hookedClients are those whose sessions a hook can keep at work.
func hookedClients() []client.Client {
	return []client.Client{claude.Client(), codex.Client(), gemini.Client(), copilot.Client()}
}

func clientNames() string {
	var names []string
	for _, k := range hookedClients() {
		names = append(names, k.Name)
	}
	return strings.Join(names, ", ")
}

// hookedClient is the one of a name.
func hookedClient(name string) (client.Client, error) {
	for _, k := range hookedClients() {
		if k.Name == name {
			return k, nil
		}
	}
	u := &cli.Error{Code: "NO_HOOK", What: name + " is no client that orch has hooks for", Exit: cli.ExitUsage, Fix: []string{"one of " + clientNames()}}
	if c, ok := clientOf(name); ok {
		u.What, u.Why = c.title+" has no hook for the end of a turn", "orch can start it, not hold its sessions"
		u.Fix = []string{"orch run EPIC, with workflow.agent: {harness: " + name + "} in project.yaml"}
	}
	return client.Client{}, u
}

// caller is the client that a hook is called by: the one that the hook's command names.
// Copilot CLI runs the hooks of Claude Code as well; where it has orch's of its own, those
// are not its business, and ok is false.
func (a sessionCmd) caller(name, project string) (k client.Client, ok bool, err error) {
	if name == "claude" && a.Getenv(copilot.Variable) != "" {
		if cli.Exists(filepath.Join(project, copilot.HooksFile)) {
			return client.Client{}, false, nil
		}
		name = "copilot"
	}
	k, err = hookedClient(name)
	return k, err == nil, err
}
