package iterate

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseRules(t *testing.T) {
	t.Parallel()
	rules, err := parseRules([]string{"tests = go test ./...", "x=a=b"})
	require.NoError(t, err)
	require.Equal(t, "tests", rules[0].Name)
	require.Equal(t, "go test ./...", rules[0].Command)
	require.Equal(t, "a=b", rules[1].Command)
	for _, bad := range []string{"", "tests", "=true", "tests=", "a\nb=true"} {
		_, err := parseRules([]string{bad})
		require.Error(t, err, "%q", bad)
	}
}

func FuzzParseRules(f *testing.F) {
	f.Add("tests=go test ./...")
	f.Fuzz(func(t *testing.T, text string) {
		rules, err := parseRules([]string{text})
		if err == nil && rules[0].Check() != nil {
			t.Fatal(rules)
		}
	})
}
