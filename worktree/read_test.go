package worktree_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func read(t testing.TB, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(content)
}

func lines(text string) []string {
	if text = strings.TrimSpace(text); text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}
