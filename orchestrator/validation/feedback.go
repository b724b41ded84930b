package validation

import (
	"fmt"
	"strings"

	"github.com/beadsorch/orch/orchestrator/text"
)

const (
	feedbackBytes = 8 << 10
	outputsBytes  = 6 << 10 // of it, for the outputs
)

// Feedback is the text for the next attempt: the rules that did not pass with their
// commands and the ends of their outputs, then the names of those that did. At most
// 8 KiB.
func (v Verdict) Feedback() string {
	var failed, passed []Check
	for _, c := range v.Checks {
		if c.Passed {
			passed = append(passed, c)
		} else {
			failed = append(failed, c)
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d of %d rules passed.\n", len(passed), len(v.Checks))
	for _, c := range failed {
		c.describe(&b, outputsBytes/len(failed))
	}
	if len(passed) > 0 {
		b.WriteString("\nPassed:")
		for _, c := range passed {
			b.WriteString(" " + c.Rule)
		}
		b.WriteString("\n")
	}
	return text.CutBytes(b.String(), feedbackBytes)
}

// describe writes a rule that did not pass, with at most outputBytes of its output's end.
func (c Check) describe(b *strings.Builder, outputBytes int) {
	word := "FAILED"
	if c.Errored {
		word = "COULD NOT BE CHECKED"
	}
	fmt.Fprintf(b, "\n%s %s: %s\n", word, c.Rule, c.Why)
	if c.Command != "" {
		fmt.Fprintf(b, "$ %s\n", text.CutBytes(c.Command, 500))
	}
	output := c.Output
	if len(output) > outputBytes {
		output = strings.ToValidUTF8(output[len(output)-outputBytes:], "")
		if _, whole, ok := strings.Cut(output, "\n"); ok {
			output = whole
		}
	}
	if output != "" {
		b.WriteString(output + "\n")
	}
}
