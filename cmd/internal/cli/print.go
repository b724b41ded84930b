package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/beadsorch/orch/orchestrator/text"
	"github.com/beadsorch/orch/orchestrator/validation"
)

// Print prints a document where JSON was asked for, else the text.
func (a *Invocation) Print(doc Document, body string) {
	if a.JSON {
		WriteJSON(a.Stdout, doc)
		return
	}
	fmt.Fprint(a.Stdout, body)
}

// PrintVerdict tells a person what each rule found.
func (a *Invocation) PrintVerdict(v validation.Verdict) {
	if len(v.Checks) == 0 {
		fmt.Fprintln(a.Stderr, "no gate is set: workflow.gate in project.yaml")
	}
	for _, c := range v.Checks {
		mark, why := "✓", ""
		if !c.Passed {
			mark, why = "✗", "  "+text.Clean(c.Why)
		}
		fmt.Fprintf(a.Stdout, " %s %s  %s%s\n", mark, c.Rule, c.Took.Round(10*time.Millisecond), why)
		if c.Passed {
			continue
		}
		for line := range strings.Lines(c.Output) {
			fmt.Fprintf(a.Stdout, "     %s\n", text.Clean(strings.TrimSuffix(line, "\n")))
		}
	}
}
