package cmd

import (
	"path/filepath"

	"github.com/beadsorch/orch/cmd/cli"
	"github.com/beadsorch/orch/cmd/workspace"
	"github.com/beadsorch/orch/stophook/client"
	"github.com/beadsorch/orch/stophook/copilot"
)

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
	k, err = workspace.HookedClient(name)
	return k, err == nil, err
}
