package iterate

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/trust"
	"github.com/beadsorch/orch/cmd/internal/trust/plan"
	"github.com/beadsorch/orch/orchestrator/validation"
)

// mayRun lets the commands of a loop's rules run: those of the gate, once a person has
// confirmed the settings. It fails with an error that says what would allow another.
func (p place) mayRun(ctx context.Context, rules []validation.Rule) error {
	commands := false
	for _, r := range rules {
		if !runs(r) {
			continue
		}
		if commands = true; !p.known(r) {
			return unknownCommand(r)
		}
	}
	if !commands {
		return nil
	}
	return trust.Check(ctx, p.workspace.Project, "", plan.Settings)
}

// knows lets only rules into a loop whose commands the settings have. A loop may be started
// by a model, and its commands run outside of what the model's client permits.
func (p place) knows(rules []validation.Rule) error {
	for _, r := range rules {
		if runs(r) && !p.known(r) {
			return unknownCommand(r)
		}
	}
	return nil
}

// runs reports whether a rule runs a command.
func runs(r validation.Rule) bool {
	return !r.Off && (r.Type == validation.Command || r.Type == validation.Custom)
}

// known reports whether a rule of the gate runs exactly the same.
func (p place) known(r validation.Rule) bool {
	return slices.ContainsFunc(p.workspace.Project.Config.Gate, func(g validation.Rule) bool {
		return runs(g) && g.Command == r.Command && g.Dir == r.Dir && g.Type == r.Type
	})
}

func unknownCommand(r validation.Rule) error {
	line := fmt.Sprintf("- {name: %s, type: %s, command: %s}", yamlText(r.Name), r.Type, yamlText(r.Command))
	if r.Dir != "" {
		line = fmt.Sprintf("- {name: %s, type: %s, command: %s, dir: %s}", yamlText(r.Name), r.Type, yamlText(r.Command), yamlText(r.Dir))
	}
	return &cli.Error{Code: "UNTRUSTED", What: fmt.Sprintf("the command of rule %s is none of workflow.gate, and does not run", strconv.Quote(r.Name)), Exit: cli.ExitNotReady,
		Why: "a loop runs no command but those of the settings, letter for letter; content_pattern, coverage and files_changed need no command",
		Fix: []string{"a person may add it to workflow.gate in project.yaml, and orch trust it:", "  " + line}}
}

// yamlText is text in double quotes, as YAML reads it.
func yamlText(s string) string { return strconv.QuoteToASCII(s) }
