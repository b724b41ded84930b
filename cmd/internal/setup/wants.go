package setup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/beadsorch/orch/cmd/internal/config"
	"github.com/beadsorch/orch/cmd/internal/detect"
	"github.com/beadsorch/orch/cmd/internal/project"
	"github.com/beadsorch/orch/orchestrator/validation"
	"github.com/beadsorch/orch/stophook/claude"
	"github.com/beadsorch/orch/stophook/client"
	"github.com/beadsorch/orch/stophook/install"
	"github.com/beadsorch/orch/stophook/settings"
	"github.com/beadsorch/orch/templates"
)

// shimWants is the hook file of teams that have it configured, and the command. What the
// file did before is kept, and undo gives it back.
func shimWants(string) ([]install.Want, error) {
	shim := install.Whole(claude.ShimFile, claude.Shim)
	shim.Over, shim.Program = true, true
	wants := []install.Want{shim}
	for path, text := range claude.Client().Files {
		wants = append(wants, install.Whole(path, text))
	}
	return wants, nil
}

// clientWants is all that is installed for a client: its hooks and commands; for Claude
// Code also the agents' definitions, and what a hand-written stop hook is replaced by.
func clientWants(k client.Client, root string) ([]install.Want, error) {
	wants := install.Client(k)
	if k.Name != "claude" {
		return append(wants, gateWant(detect.Rules(os.DirFS(root)), detect.Setup(os.DirFS(root)))), nil
	}
	wants, checks := takeOver(wants, k, root)
	if len(checks) == 0 {
		checks = detect.Rules(os.DirFS(root))
	}
	gate := gateWant(checks, detect.Setup(os.DirFS(root)))
	rules, err := gateRules(root, gate)
	if err != nil {
		return nil, err
	}
	agents, err := definitions(rules)
	return append(append(wants, agents...), gate), err
}

// clientPaths is where all that may be of orch, for a client; what is in it no longer matters.
func clientPaths(k client.Client) ([]install.Want, error) {
	wants := append(install.Client(k), gateWant(nil, nil))
	if k.Name != "claude" {
		return wants, nil
	}
	agents, err := definitions(nil)
	return append(wants, agents...), err
}

// gateRules are the names of the rules that the gate will have.
func gateRules(root string, gate install.Want) (names []string, err error) {
	text, err := os.ReadFile(filepath.Join(root, gate.Path))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("reading the settings: %w", err)
	}
	if text, err = gate.Text(text); err != nil {
		return nil, err
	}
	c, _, err := config.Load(gate.Path, text, nil)
	for _, r := range c.Gate {
		names = append(names, r.Name)
	}
	return names, err
}

// definitions are the agents' files; each names the rules that judge it, of those of the gate.
func definitions(gate []string) (wants []install.Want, err error) {
	for _, agent := range templates.Agents() {
		text, err := templates.AgentFile(agent.At(gate))
		if err != nil {
			return nil, err
		}
		want := install.Whole(config.AgentsFolder+"/"+agent.Name+".md", text)
		want.Yields = true
		wants = append(wants, want)
	}
	return wants, nil
}

// gateWant gives the settings a gate, with the setup that it needs, where they have none.
func gateWant(rules []validation.Rule, setup []string) install.Want {
	return install.Want{Path: project.SettingsFile, Over: true, Text: func(before []byte) ([]byte, error) {
		after, _ := config.AddGate(project.SettingsFile, before, rules, setup)
		return after, nil
	}}
}

// takeOver replaces a stop hook that a team has written by hand, .claude/hooks/stop.sh: two
// would fight. The file stays; the checks in it are for the gate.
func takeOver(wants []install.Want, k client.Client, root string) ([]install.Want, []validation.Rule) {
	text, err := os.ReadFile(filepath.Join(root, k.Settings))
	script, scriptErr := os.ReadFile(filepath.Join(root, claude.ShimFile))
	commands, hooksErr := settings.Commands(text, k.Hooks[0].Event)
	if errors.Join(err, scriptErr, hooksErr) != nil || claude.IsShim(string(script)) {
		return wants, nil
	}
	var theirs []settings.Hook
	for _, c := range commands {
		if strings.Contains(c, claude.ShimFile) {
			theirs = append(theirs, settings.Hook{Event: k.Hooks[0].Event, Command: c})
		}
	}
	if len(theirs) == 0 {
		return wants, nil
	}
	add := wants[0].Text
	wants[0].Text = func(before []byte) ([]byte, error) {
		rest, err := settings.Remove(before, theirs)
		if err != nil {
			return nil, err
		}
		return add(rest)
	}
	var checks []validation.Rule
	for n, command := range claude.Checks(string(script)) {
		checks = append(checks, validation.Rule{Name: fmt.Sprintf("check_%d", n+1), Type: validation.Command, Command: command})
	}
	return wants, checks
}
