package validation_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/validation"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	type rule = validation.Rule
	tests := []struct {
		name  string
		rule  rule
		field string // "" is well-formed
		why   string
	}{
		{"command", rule{Name: "n", Type: "command", Command: "go test ./..."}, "", ""},
		{"command with a time", rule{Name: "n", Type: "command", Command: "x", Timeout: time.Second}, "", ""},
		{"content", rule{Name: "n", Type: "content_pattern", Pattern: "x"}, "", ""},
		{"content of files", rule{Name: "n", Type: "content_pattern", Pattern: "x", Path: "**/*.go", Absent: true}, "", ""},
		{"content of changed files", rule{Name: "n", Type: "content_pattern", Pattern: "x", Target: "diff"}, "", ""},
		{"coverage", rule{Name: "n", Type: "coverage", Path: "out/[x]/cover.out", Min: 80, Format: "go"}, "", ""},
		{"files", rule{Name: "n", Type: "files_changed", Path: "CHANGELOG.md"}, "", ""},
		{"custom", rule{Name: "n", Type: "custom", Command: "./judge"}, "", ""},

		{"no name", rule{Type: "command", Command: "x"}, "name", "empty"},
		{"long name", rule{Name: strings.Repeat("n", 101), Type: "command", Command: "x"}, "name", "100"},
		{"name of two lines", rule{Name: "a\nb", Type: "command", Command: "x"}, "name", "control"},
		{"no type", rule{Name: "n"}, "type", "needed: one of command"},
		{"unknown type", rule{Name: "n", Type: "comand"}, "type", `"comand"`},
		{"no command", rule{Name: "n", Type: "command", Command: " "}, "command", "needed"},
		{"NUL", rule{Name: "n", Type: "command", Command: "a\x00"}, "command", "NUL"},
		{"negative time", rule{Name: "n", Type: "command", Command: "x", Timeout: -1}, "timeout", "negative"},
		{"field of another type", rule{Name: "n", Type: "command", Command: "x", Min: 3}, "min", "means nothing"},
		{"no pattern", rule{Name: "n", Type: "content_pattern"}, "pattern", "needed"},
		{"bad pattern", rule{Name: "n", Type: "content_pattern", Pattern: "("}, "pattern", "regular expression"},
		{"bad target", rule{Name: "n", Type: "content_pattern", Pattern: "x", Target: "web"}, "target", "none of"},
		{"output has no path", rule{Name: "n", Type: "content_pattern", Pattern: "x", Target: "output", Path: "a"}, "path", "output"},
		{"file without path", rule{Name: "n", Type: "content_pattern", Pattern: "x", Target: "file"}, "path", "needed"},
		{"outside", rule{Name: "n", Type: "files_changed", Path: "../x"}, "path", "relative"},
		{"absolute", rule{Name: "n", Type: "coverage", Path: "/etc/passwd", Min: 1}, "path", "relative"},
		{"open class", rule{Name: "n", Type: "files_changed", Path: "a[b"}, "path", "]"},
		{"bad class", rule{Name: "n", Type: "files_changed", Path: "a[z-a]"}, "path", "glob"},
		{"no min", rule{Name: "n", Type: "coverage", Path: "c"}, "min", "needed"},
		{"min over 100", rule{Name: "n", Type: "coverage", Path: "c", Min: 100.5}, "min", "between"},
		{"min is no number", rule{Name: "n", Type: "coverage", Path: "c", Min: math.NaN()}, "min", "between"},
		{"unknown format", rule{Name: "n", Type: "coverage", Path: "c", Min: 1, Format: "gcov"}, "format", "none of"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := tt.rule.Check()
			if tt.field == "" {
				require.NoError(t, err)
				return
			}
			var fault *validation.RuleError
			require.ErrorAs(t, err, &fault)
			require.Equal(t, tt.field, fault.Field)
			require.Contains(t, fault.Why, tt.why)
			require.Contains(t, err.Error(), tt.field)
		})
	}
}

// TestScope: what a rule has to know decides of what it can be asked.
func TestScope(t *testing.T) {
	t.Parallel()
	rules := []validation.Rule{
		{Name: "tests", Type: validation.Command, Command: "true"},
		{Name: "own", Type: validation.Custom, Command: "true"},
		{Name: "covered", Type: validation.Coverage, Path: "c.out", Min: 1},
		{Name: "in a file", Type: validation.ContentPattern, Pattern: "x", Path: "*.go"},
		{Name: "changed", Type: validation.FilesChanged, Path: "*.go"},
		{Name: "in the change", Type: validation.ContentPattern, Pattern: "x", Target: validation.TargetDiff, Path: "*.go"},
		{Name: "said", Type: validation.ContentPattern, Pattern: "x"},
		{Name: "said, by name", Type: validation.ContentPattern, Pattern: "x", Target: validation.TargetOutput},
		{Name: "stored", Type: validation.ContentPattern, Pattern: "x", Target: validation.TargetProduct},
	}
	for _, r := range rules {
		require.NoError(t, r.Check())
	}
	require.Equal(t, rules[:4], validation.Within(rules, validation.OfTree))
	require.Equal(t, rules[:6], validation.Within(rules, validation.OfChange))
	require.Equal(t, rules, validation.Within(rules, validation.OfAgent))
}
