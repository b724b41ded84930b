package cmd

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/document"
)

// TestEachCommandHasADocument: the list of documents names every command but those that print
// none, and no command that is not there.
func TestEachCommandHasADocument(t *testing.T) {
	t.Parallel()
	none := map[string]string{
		"orch demo agent":     "is an agent",
		"orch mcp":            "speaks the Model Context Protocol",
		"orch sandbox try":    "prints what the command prints",
		"orch tasks export":   "prints beads' JSONL",
		"orch session-start":  "answers in the client's words",
		"orch session-prompt": "answers in the client's words",
		"orch session-end":    "says nothing to the client",
	}
	there := map[string]bool{}
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			walk(sub)
		}
		if !c.HasSubCommands() {
			there[c.CommandPath()] = true
		}
	}
	walk(newRoot(&app{App: &cli.Invocation{}}))
	listed := map[string]bool{}
	for _, k := range document.Kinds() {
		for _, line := range k.Commands {
			command, _, _ := strings.Cut(line, ",")
			command, _, _ = strings.Cut(command, " --")
			if strings.HasPrefix(command, "orch ") {
				listed[command] = true
				require.True(t, there[command], "%s is no command", command)
			}
		}
	}
	for _, command := range slices.Sorted(maps.Keys(there)) {
		if !listed[command] && none[command] == "" {
			t.Errorf("no document is that of %s", command)
		}
	}
	for command := range none {
		require.True(t, there[command], "%s is no command", command)
	}
}
