package validation

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/beadsorch/orch/orchestrator/text"
)

// Why is the verdict in one clause: the first rule that did not pass, and the
// line of its output that says most.
func (v Verdict) Why() string {
	for _, c := range v.Checks {
		if !c.Passed {
			return fmt.Sprintf("%s: %s", c.Rule, c.Cause())
		}
	}
	return ""
}

// Cause is why the rule did not pass, in a clause: the line of its output that says most.
func (c Check) Cause() string {
	return cmp.Or(likelyCause(c.Output), text.FirstLine(c.Why, "failed"))
}

// likelyCause is the first line of a command's output that sounds like the reason
// of a failure, else its last line.
func likelyCause(output string) string {
	last := ""
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		lower := strings.ToLower(line)
		for _, word := range []string{"error", "fail", "panic", "want", "expect", "missing", "undefined"} {
			if strings.Contains(lower, word) {
				return text.FirstLine(line, "")
			}
		}
		if line != "" {
			last = line
		}
	}
	return text.FirstLine(last, "")
}
