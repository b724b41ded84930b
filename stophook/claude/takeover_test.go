package claude_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/stophook/claude"
)

func TestChecks(t *testing.T) {
	t.Parallel()
	for script, want := range map[string][]string{
		"": nil,
		"#!/bin/sh\n# npm test\nREADY=$(bd ready --json | jq length)\n[ \"$READY\" -gt 0 ] && exit 1\ncat .claude/prompts/run-tasks.md\n": nil,
		"npm test || exit 1\n": {"npm test"},
		"if ! npm run lint >/dev/null 2>&1; then\n  echo '{\"decision\":\"block\"}'\nfi\n":  {"npm run lint"},
		"set -e\ngo vet ./... && go test -race ./... 2>&1 | tail -5\ngo test -race ./...\n": {"go vet ./...", "go test -race ./..."},
		"OUT=$(CI=1 pytest -q 2>&1) || { echo \"$OUT\" >&2; exit 2; }":                      {"CI=1 pytest -q"},
		"./scripts/check.sh\nmake\nmakeshift\ngolang\n":                                     {"./scripts/check.sh", "make"},
		"exec bash .ci/run-tests.sh </dev/null":                                             {"bash .ci/run-tests.sh"},
	} {
		require.Equal(t, want, claude.Checks(script), script)
	}
}

func FuzzChecks(f *testing.F) {
	f.Add("if ! npm test; then exit 1; fi")
	f.Fuzz(func(t *testing.T, script string) {
		for _, c := range claude.Checks(script) {
			require.NotEmpty(t, c)
			require.NotContains(t, c, "\n")
		}
	})
}
