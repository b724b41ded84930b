package git_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/git/gittest"
)

// TestTwin: what decides how files and commits are made is kept as it was; what runs something or is a login is not.
func TestTwin(t *testing.T) {
	t.Parallel()
	w := gittest.New(t, os.Getenv("PATH"))
	w.Commit("a", "a\n")
	odd := "a \"b\" \\ c\t; # d"
	for _, s := range [][2]string{
		{"user.name", odd}, {"core.autocrlf", "input"}, {"core.fsmonitor", "touch x"}, {"core.hooksPath", "/x"}, {"alias.x", "!touch x"}, {"credential.helper", "store"},
		{"http.extraHeader", "Authorization: secret"}, {"filter.up.clean", "tr a-z A-Z"}, {"remote.o.url", "https://secret@example.com/r"}, {"remote.p.url", "ssh://git:secret@example.com/r"},
		{"remote.q.url", "git@example.com:r"}, {"remote.odd \"name\".url", "../r"}, {"branch.main.merge", "refs/heads/main"}, {"diff.external", "touch x"}, {"core.editor", "touch x"},
	} {
		w.Git("config", s[0], s[1])
	}
	for name, value := range map[string]string{"lg": `log --format="%h %s" --graph`, "sneaky": " !touch x", "set": "-c core.pager='touch x' log", "up": "push https://secret@example.com/r", "none": ""} {
		w.Git("config", "alias."+name, value)
	}
	w.Write(".git/info/exclude", "*.log")
	twin := w.Open().Twin()
	require.Equal(t, "*.log\n", string(twin.Exclude))
	require.NotContains(t, twin.Config, "secret")
	require.NotContains(t, twin.Config, "touch")
	w.Write("config", twin.Config)
	get := func(key string) string {
		out, err := w.Try("config", "-f", "config", "--get", key)
		if err != nil {
			return "none"
		}
		return out
	}
	for key, want := range map[string]string{
		"user.name": odd, "core.autocrlf": "input", "core.fsmonitor": "none", "core.hookspath": "none", "alias.x": "none", "alias.lg": `log --format="%h %s" --graph`, "alias.sneaky": "none", "alias.set": "none", "alias.up": "none", "alias.none": "none", "credential.helper": "none", "http.extraheader": "none",
		"filter.up.clean": "tr a-z A-Z", "remote.o.url": "https://example.com/r", "remote.p.url": "ssh://git@example.com/r", "remote.q.url": "git@example.com:r",
		"remote.odd \"name\".url": "../r", "branch.main.merge": "refs/heads/main", "diff.external": "none", "core.editor": "true", "gc.auto": "0", "core.bare": "false",
	} {
		require.Equal(t, want, get(key), key)
	}
}
