package workspace

import (
	"runtime"
	"slices"
	"strings"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/config"
	"github.com/beadsorch/orch/orchestrator/engine"
	"github.com/beadsorch/orch/orchestrator/harness"
	"github.com/beadsorch/orch/orchestrator/harness/all"
	"github.com/beadsorch/orch/orchestrator/harness/command"
	"github.com/beadsorch/orch/orchestrator/protect"
	"github.com/beadsorch/orch/stophook/claude"
	"github.com/beadsorch/orch/stophook/client"
	"github.com/beadsorch/orch/stophook/codex"
	"github.com/beadsorch/orch/stophook/copilot"
	"github.com/beadsorch/orch/stophook/gemini"
)

// ClientsWithHooks are the clients whose sessions a hook can keep at work.
func ClientsWithHooks() []client.Client {
	return []client.Client{claude.Client(), codex.Client(), gemini.Client(), copilot.Client()}
}

// HookedNames lists the names of [ClientsWithHooks] for a person.
func HookedNames() string {
	var names []string
	for _, c := range ClientsWithHooks() {
		names = append(names, c.Name)
	}
	return strings.Join(names, ", ")
}

// HookedClient is the one of [ClientsWithHooks] with a name. It fails for any other, and says
// what orch can do with that.
func HookedClient(name string) (client.Client, error) {
	hooked := ClientsWithHooks()
	if n := slices.IndexFunc(hooked, func(c client.Client) bool { return c.Name == name }); n >= 0 {
		return hooked[n], nil
	}
	e := &cli.Error{Code: "NO_HOOK", What: name + " is no client that orch has hooks for", Exit: cli.ExitUsage, Fix: []string{"one of " + HookedNames()}}
	if c, known := all.Client(name); known {
		e.What, e.Why = c.Title+" has no hook for the end of a turn", "orch can start it, not hold its sessions"
		e.Fix = []string{"orch run EPIC, with workflow.agent: {harness: " + name + "} in project.yaml"}
	}
	return client.Client{}, e
}

// client is the agent that the settings name.
func (w *Workspace) client() engine.Client {
	a := w.Project.Config.Agent
	return engine.Client{Harness: a.Harness, Command: a.Command, Model: a.Model, PermissionMode: a.PermissionMode, AllowedTools: a.AllowedTools}
}

// AlwaysProtected are the globs of paths that are protected whatever the settings say, but for a ! of
// the person's own.
func AlwaysProtected() []string { return append(protect.Defaults(), all.Protected()...) }

// resumes reports whether that agent can go on with a conversation.
func (w *Workspace) resumes() bool {
	c, known := all.Client(w.Project.Config.Agent.Harness)
	return known && c.Resumes
}

// CheckHarness fails when the agent that the settings name is not on PATH.
func (w *Workspace) CheckHarness() error {
	_, err := w.harness(w.client())
	return err
}

// harness is the adapter to an agent's client. It fails when that is not on PATH.
func (w *Workspace) harness(of engine.Client) (harness.Harness, error) {
	c, ok := all.Client(of.Harness)
	if !ok {
		return command.New(of.Command), nil
	}
	program := w.Project.Invocation.LookPath(c.Name)
	if program == "" {
		return nil, &cli.Error{Code: "NO_AGENT", What: c.Name + " is not on PATH", Exit: cli.ExitNotReady, Why: "workflow.agent.harness is " + c.Name,
			Fix: []string{"install " + c.Title + ", or name another agent in project.yaml: workflow.agent: {harness: command, command: [...]}"}}
	}
	bounded := w.Project.Config.Sandbox.Level != config.SandboxOff && runtime.GOOS == "linux"
	return c.New(harness.Options{Program: program, Mode: of.PermissionMode, Model: of.Model, Tools: of.AllowedTools, Bounded: bounded}), nil
}
